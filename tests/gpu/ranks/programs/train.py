"""Trains on every rank of torchrun, by DDP or FSDP2, on a GPU for each or, without GPUs, on the processor.

usage: train.py ddp|fsdp [kill]
DELAY_MS: how long rank 1 does nothing in each step; asleep, it would be slower afterwards, too. STEPS, WIDTH, ROWS: how many steps, and the size of the 8 layers and of the batch. SYNC: after
how many steps the host waits for the GPU. With `kill`, rank 1 is killed at the end.
"""
import os
import sys
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
steps, width, rows, sync = (int(os.environ.get(name, usual)) for name, usual in
                            (("STEPS", "40"), ("WIDTH", "2048"), ("ROWS", "2048"), ("SYNC", "4")))
onGpu = torch.cuda.is_available()
if onGpu:
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
else:
    device = torch.device("cpu")
    dist.init_process_group("gloo")
delay = float(os.environ.get("DELAY_MS", "0")) / 1e3 if rank == 1 else 0
torch.manual_seed(0)
net = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(8)]).to(device, torch.bfloat16)
if sys.argv[1] == "ddp":
    net = torch.nn.parallel.DistributedDataParallel(net)
else:
    from torch.distributed.fsdp import fully_shard

    for layer in net:
        fully_shard(layer)
    fully_shard(net)
optimizer = torch.optim.AdamW(net.parameters())
batch = torch.randn(rows, width, device=device, dtype=torch.bfloat16)
for step in range(steps):
    until = time.perf_counter() + delay
    while delay and time.perf_counter() < until:
        pass
    net(batch).float().pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if onGpu and step % sync == sync - 1:
        torch.cuda.synchronize()
if onGpu:
    torch.cuda.synchronize()
if sys.argv[2:] == ["kill"] and rank == 1:
    os.kill(os.getpid(), 9)
dist.barrier()
dist.destroy_process_group()
