"""Small programs of several frameworks, each run as `programs.py NAME`; run.py records them. See turns.py."""

import argparse

import turns


def jax():
    import jax
    import jax.numpy as jnp

    update = jax.jit(lambda w, x: w - 0.01 * jax.grad(lambda v: jnp.sum(jnp.tanh(x @ v) ** 2))(w))
    x = jnp.ones((256, 512))
    w = [jnp.ones((512, 512))]

    def step():
        w[0] = update(w[0], x)

    return step, lambda: w[0].block_until_ready()


def cupy():
    import cupy

    x = [cupy.ones((512, 512), dtype=cupy.float32)]

    def step():
        with cupy.cuda.profiler.time_range("iteration") if hasattr(cupy.cuda.profiler, "time_range") else _nothing():
            x[0] = cupy.tanh(x[0] @ x[0])

    return step, cupy.cuda.Device().synchronize


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
    y = torch.empty_like(x)
    return lambda: double[(64,)](x, y, x.numel(), BLOCK=1024), torch.cuda.synchronize


def transformers():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(1024, (2, 64), device="cuda")

    def step():
        optimizer.zero_grad()
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()

    return step, torch.cuda.synchronize


def ddp():
    """For torchrun: the model of train.py, its gradients averaged over the ranks."""
    import os

    import torch
    from torch.nn import functional
    from train import Model

    # NCCL refuses two ranks on one GPU; gloo copies their gradients to the CPU.
    alone = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl" if alone else "gloo")
    model = torch.nn.parallel.DistributedDataParallel(Model().to("cuda", torch.bfloat16 if alone else torch.float32),
                                                      device_ids=[device])
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(8192, (4, 129), device="cuda")

    def step():
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    return step, torch.cuda.synchronize


def main():
    options = argparse.ArgumentParser()
    options.add_argument("name", choices=["jax", "cupy", "triton", "transformers", "ddp"])
    turns.add_options(options, steps=20, warm_up=10)
    options = options.parse_args()
    turns.run(options, *globals()[options.name]())
    if options.name == "ddp":
        import torch

        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
