"""Classify sequences of different lengths, packed: a script as one finds them everywhere, with one line changed.

Each sequence is noise; somewhere in its first ten steps a single mark says which class it is. The network has to keep
that to the end, up to 100 steps later.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from slowfade import PowerLawLSTM


class Classifier(nn.Module):
    def __init__(self, inputs: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.rnn = PowerLawLSTM(inputs, hidden, batch_first=True)  # was: nn.LSTM(inputs, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, state = self.rnn(packed)
        return self.head(state[0][-1])


def sequences(count: int, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    lengths = torch.randint(30, 101, (count,))
    labels = torch.randint(classes, (count,))
    x = 0.1 * torch.randn(count, 100, classes)
    x[torch.arange(count), torch.randint(10, (count,)), labels] += 3.0
    return x, lengths, labels


def main(steps: int = 300) -> float:
    torch.manual_seed(0)
    model = Classifier(inputs=4, hidden=64, classes=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(1, steps + 1):
        x, lengths, labels = sequences(64)
        logits = model(x, lengths)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            accuracy = (logits.argmax(-1) == labels).float().mean().item()
            print(f"step {step:4}  loss {loss.item():.3f}  accuracy {accuracy:.2f}")
    with torch.no_grad():
        x, lengths, labels = sequences(512)
        return (model(x, lengths).argmax(-1) == labels).float().mean().item()


if __name__ == "__main__":
    print(f"accuracy on new sequences: {main():.2f}")
