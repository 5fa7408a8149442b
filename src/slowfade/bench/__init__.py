"""Speed, side by side in one process: the engines on the shapes of the paper's tasks, beside PyTorch's own networks."""
