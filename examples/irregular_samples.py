"""Samples at irregular times: tell the layer how much time went by, and it forgets accordingly."""

import torch

from slowfade import PowerLawLSTM, elapsed

torch.manual_seed(0)
layer = PowerLawLSTM(1, 8, batch_first=True)

timestamps = torch.rand(2, 50).mul(100).sort(dim=1).values
x = torch.sin(timestamps).unsqueeze(-1)
output, state = layer(x, dt=elapsed(timestamps, batch_first=True))
print("output", tuple(output.shape), "| oldest memory", f"{state.age.max().item():.1f}")

# A stream: one sample at a time, the state carried on. The result is the same.
layer.eval()
state, before = None, timestamps[:, 0]
for t in range(50):
    y, state = layer.step(x[:, t], state, dt_t=timestamps[:, t] - before)
    before = timestamps[:, t]
print("largest difference", f"{(y - output[:, -1]).abs().max().item():.1e}")
