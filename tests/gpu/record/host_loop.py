"""Computes in Python, with one launch a step, and knows nothing of a recorder. Prints JSON lines; see turns.py."""

import argparse

import torch
import turns


def add(a, b):
    return a + b


def nested(depth, count):
    """Sums numbers by calls, `depth` calls below the caller."""
    if depth:
        return nested(depth - 1, count)
    total = 0
    for i in range(count):
        total = add(total, i)
    return total


def main():
    options = argparse.ArgumentParser()
    turns.add_options(options, steps=12, warm_up=5)
    options = options.parse_args()
    numbers = torch.zeros(64, device="cuda")

    def step():
        numbers.add_(nested(18, 100_000) % 2)

    turns.run(options, step, torch.cuda.synchronize)


if __name__ == "__main__":
    main()
