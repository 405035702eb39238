"""For torchrun: a training step of the lm of tests/bench/lm in PyTorch, alone or with DDP or FSDP2, as users write it: bf16 by
autocast or by the policy of FSDP, SDPA, RMSNorm and AdamW by PyTorch's fused kernels. Rank 0 prints one JSON object.

usage: torchrun --nproc-per-node N peer.py none|ddp|fsdp2 SIZE CONTEXT BATCH STEPS
"""
import json
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "lm"))
import model as lm  # noqa: E402

lm.RmsNorm = nn.RMSNorm
# The rotation of q and k is in fp32.
lm.causal_attention = lambda q, k, v, mask: F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)


def parallel(model, kind, rank):
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    if kind == "fsdp2":
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in model.blocks:
            fully_shard(block, mp_policy=policy)
        fully_shard(model, mp_policy=policy)
    return model


def main():
    kind, size, context, batch, steps = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = parallel(lm.LanguageModel(size, context), kind, rank)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    times = []
    for step in range(3 + steps):
        tokens = torch.randint(10_000, (batch, context + 1), device="cuda")
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        if step == 3:
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, enabled=kind != "fsdp2"):
            loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    if rank == 0:
        print(json.dumps({"peer": kind, "ranks": dist.get_world_size(), "step_ms": statistics.median(times[3:]),
                          "peak_mib": torch.cuda.max_memory_allocated() / 2**20, "loss": loss.item()}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
