"""Trains a small language model eagerly in bf16 and knows nothing of a recorder. Prints JSON lines; see turns.py."""

import argparse
import collections
import contextlib
import json

import torch
import turns
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


class Texts(torch.utils.data.Dataset):
    """Random texts, as many as a measurement may need."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return torch.randint(8192, (129,))


@contextlib.contextmanager
def counted_kernels(wanted):
    """Counts the kernels of its block with torch.profiler and prints them; does nothing unless they are wanted."""
    if not wanted:
        yield
        return
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        yield
        torch.cuda.synchronize()
    counts = collections.Counter()
    total = 0
    for event in profiler.profiler.kineto_results.events():
        if event.device_type() == torch.autograd.DeviceType.CUDA and not event.name().startswith(("Mem", "[")):
            counts[event.name()] += 1
            total += event.duration_ns()
    print(json.dumps({"kernels": counts, "kernel_ns": total}))


def make_step(options):
    """A function that makes one step."""
    torch.manual_seed(0)
    model = Model().to("cuda", torch.float32 if options.autocast else torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters())
    if options.workers:
        batches = iter(torch.utils.data.DataLoader(Texts(), batch_size=options.batch, num_workers=options.workers, pin_memory=True))
    else:
        tokens = torch.randint(8192, (options.batch, 129), device="cuda")

    def step():
        text = next(batches).to("cuda", non_blocking=True) if options.workers else tokens
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=options.autocast):
            logits = model(text[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return step


def main():
    options = argparse.ArgumentParser()
    turns.add_options(options, steps=100, warm_up=20)
    options.add_argument("--batch", type=int, default=4)
    options.add_argument("--autocast", action="store_true", help="parameters in fp32, their products in bf16")
    options.add_argument("--workers", type=int, default=0, help="data-loader workers; 0: one batch for all steps")
    options.add_argument("--profiler", action="store_true", help="count the kernels with torch.profiler")
    options = options.parse_args()
    torch.cuda.init()
    with counted_kernels(options.profiler):
        turns.run(options, make_step(options), torch.cuda.synchronize)


if __name__ == "__main__":
    main()
