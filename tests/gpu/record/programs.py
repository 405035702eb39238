"""Small programs of several frameworks, each run as `programs.py NAME`; run.py records them."""

import sys


def jax():
    import jax
    import jax.numpy as jnp

    step = jax.jit(lambda w, x: w - 0.01 * jax.grad(lambda v: jnp.sum(jnp.tanh(x @ v) ** 2))(w))
    w = jnp.ones((512, 512))
    for _ in range(10):
        w = step(w, jnp.ones((256, 512)))
    w.block_until_ready()


def cupy():
    import cupy

    x = cupy.ones((512, 512), dtype=cupy.float32)
    for _ in range(10):
        with cupy.cuda.profiler.time_range("iteration") if hasattr(cupy.cuda.profiler, "time_range") else _nothing():
            x = cupy.tanh(x @ x)
    cupy.cuda.Device().synchronize()


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def double(source, target, count, BLOCK: tl.constexpr):
        place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(target + place, 2 * tl.load(source + place, mask=place < count), mask=place < count)

    x = torch.ones(1 << 16, device="cuda")
    for _ in range(10):
        y = torch.empty_like(x)
        double[(64,)](x, y, x.numel(), BLOCK=1024)
    torch.cuda.synchronize()


def transformers():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(1024, (2, 64), device="cuda")
    for _ in range(10):
        optimizer.zero_grad()
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
    torch.cuda.synchronize()


def ddp():
    import os

    import torch

    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4))).cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        optimizer.zero_grad()
        model(torch.ones(64, 512, device="cuda")).sum().backward()
        optimizer.step()
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
