"""Prints what the call of a module that returns its input takes this thread, in ns of processor time."""

import json
import time

import torch


class Identity(torch.nn.Module):
    def forward(self, x):
        return x


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Identity()

    def forward(self, x):
        for _ in range(100):
            self.inner(x)
        return x


def main():
    module = Outer()
    x = torch.ones(1)
    least = float("inf")
    for _ in range(200):
        start = time.thread_time_ns()
        module(x)
        least = min(least, (time.thread_time_ns() - start) / 100)
    print(json.dumps({"module_ns": round(least)}))


main()
