"""Programs whose step takes about half a millisecond on a CPU, where the recorder's share is largest: `small_steps.py NAME`.

Runs a block of steps for each line of standard input and prints the block's wall and processor time per step, in µs. The
processor time is that of all threads, the recorder's included; "own" is that of the thread that makes the steps.
"""

import json
import sys
import time

import torch
from torch import nn


def layers():
    model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(16)])
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(8, 32)

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return step


def loader():
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    data = torch.utils.data.TensorDataset(torch.randn(1 << 12, 32))

    def batches():
        while True:
            yield from torch.utils.data.DataLoader(data, batch_size=8)

    source = batches()

    def step():
        (x,) = next(source)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return step


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = {"layers": layers, "loader": loader}[sys.argv[1]]()
    steps = int(sys.argv[2])
    for _ in range(200):
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter(), time.process_time(), time.thread_time()
        for _ in range(steps):
            step()
        end = time.perf_counter(), time.process_time(), time.thread_time()
        wall, process, own = (1e6 * (b - a) / steps for a, b in zip(start, end))
        print(json.dumps({"wall": wall, "process": process, "own": own}), flush=True)


main()
