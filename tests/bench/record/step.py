"""Prints what a training step of a small language model takes this thread, in us of processor time, and its operators. The model is that of
tests/gpu/record/train.py with small tensors, so that PyTorch's own work outweighs that of the kernels, as on a GPU that waits for launches."""

import json
import pathlib
import sys
import time

import torch
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gpu/record"))
from train import Model  # noqa: E402


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Model(layers=12, width=64, heads=4, words=128)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(128, (1, 17))

    def step():
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    times = []
    for _ in range(120):
        start = time.thread_time_ns()
        step()
        times.append((time.thread_time_ns() - start) / 1000)
    times = sorted(times[20:])
    # The first quartile: less than half of the steps are disturbed by others.
    print(json.dumps({"step_us": round(times[len(times) // 4])}))


main()
