"""The power-law forget gate in another network: a GRU whose memory fades along a power law.

A GRU's update gate ``z`` mixes the old state with the candidate, ``h = z h + (1 - z) n``. Here the power-law gate makes
that ``z``. All it needs from the network is the reset gate's pre-activation, and someone to carry the age on.
"""

import torch
from torch import nn

from slowfade import PowerLawForgetGate


class PowerLawGRU(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.from_input = nn.Linear(inputs, 3 * hidden)
        self.from_state = nn.Linear(hidden, 3 * hidden)
        self.gate = PowerLawForgetGate(hidden)

    def forward(self, x: torch.Tensor, dt: torch.Tensor | None = None) -> torch.Tensor:
        """``(T, B, inputs)`` and, for irregular samples, the time since the previous one ``(T, B)``."""
        age = None
        h = x.new_zeros(x.shape[1], self.gate.size)
        outputs = []
        for t, projected in enumerate(self.from_input(x)):
            x_reset, x_filter, x_new = projected.chunk(3, -1)
            h_reset, h_filter, h_new = self.from_state(h).chunk(3, -1)
            forget, admit, age = self.gate(x_reset + h_reset, age, None if dt is None else dt[t])[1:]
            candidate = torch.tanh(x_new + torch.sigmoid(x_filter + h_filter) * h_new)
            h = forget * h + admit * candidate
            outputs.append(h)
        return torch.stack(outputs)


def main(steps: int = 200, delay: int = 60) -> float:
    """Say at the end which of four marks stood at the beginning."""
    torch.manual_seed(0)
    network, head = PowerLawGRU(4, 32), nn.Linear(32, 4)
    optimizer = torch.optim.Adam([*network.parameters(), *head.parameters()], lr=1e-2)
    accuracy = 0.0
    for step in range(1, steps + 1):
        labels = torch.randint(4, (64,))
        x = 0.1 * torch.randn(delay, 64, 4)
        x[0, torch.arange(64), labels] += 3.0
        logits = head(network(x)[-1])
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()
        accuracy = (logits.argmax(-1) == labels).float().mean().item()
        if step % 50 == 0:
            print(f"step {step:4}  accuracy {accuracy:.2f}")
    return accuracy


if __name__ == "__main__":
    main()
