"""Replays a CUDA graph of the forward and backward pass of the model of train.py; see turns.py."""

import argparse

import torch
import turns
from torch.nn import functional
from train import Model


def main():
    options = argparse.ArgumentParser()
    turns.add_options(options, steps=20, warm_up=10)
    options = options.parse_args()
    torch.manual_seed(0)
    model = Model().to("cuda", torch.bfloat16)
    tokens = torch.randint(8192, (4, 129), device="cuda")

    def step():
        logits = model(tokens[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            model.zero_grad()
            step()
    torch.cuda.synchronize()
    model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    turns.run(options, graph.replay, torch.cuda.synchronize)


if __name__ == "__main__":
    main()
