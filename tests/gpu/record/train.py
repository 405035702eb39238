"""Trains a small language model eagerly in bf16 and knows nothing of a recorder. Prints one JSON line."""

import argparse
import collections
import json
import statistics
import time

import torch
from torch.nn import functional


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.norm2 = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attention = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, layers=12, width=768, heads=12, words=8192):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, width)
        self.layers = torch.nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, words)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--warm-up", type=int, default=20)
    options.add_argument("--profiler", action="store_true", help="count the kernels with torch.profiler")
    options = options.parse_args()
    torch.manual_seed(0)
    model = Model().to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(8192, (4, 129), device="cuda")

    def step():
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    times = []

    def steps():
        for i in range(options.warm_up + options.steps):
            torch.cuda.synchronize()
            start = time.perf_counter()
            step()
            torch.cuda.synchronize()
            if i >= options.warm_up:
                times.append(time.perf_counter() - start)

    report = {}
    if options.profiler:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            steps()
            torch.cuda.synchronize()
        counts = collections.Counter()
        total = 0
        for event in profiler.profiler.kineto_results.events():
            if event.device_type() == torch.autograd.DeviceType.CUDA and not event.name().startswith(("Mem", "[")):
                counts[event.name()] += 1
                total += event.duration_ns()
        report = {"kernels": counts, "kernel_ns": total}
    else:
        steps()
    report["step_ms"] = 1000 * statistics.median(times)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
