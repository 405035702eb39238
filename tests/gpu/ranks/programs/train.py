"""Trains on every rank of torchrun, by DDP or FSDP2. DELAY_MS: how long rank 1 sleeps in each step. With `kill`, rank 1 is killed at the end."""
import os
import sys
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
device = torch.device("cuda", rank % torch.cuda.device_count())
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
delay = float(os.environ.get("DELAY_MS", "0")) / 1e3 if rank == 1 else 0
torch.manual_seed(0)
net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda().bfloat16()
if sys.argv[1] == "ddp":
    net = torch.nn.parallel.DistributedDataParallel(net)
else:
    from torch.distributed.fsdp import fully_shard

    for layer in net:
        fully_shard(layer)
    fully_shard(net)
optimizer = torch.optim.AdamW(net.parameters())
batch = torch.randn(2048, 2048, device=device, dtype=torch.bfloat16)
for step in range(40):
    time.sleep(delay)
    net(batch).float().pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 4 == 3:
        torch.cuda.synchronize()
torch.cuda.synchronize()
if sys.argv[2:] == ["kill"] and rank == 1:
    os.kill(os.getpid(), 9)
dist.barrier()
dist.destroy_process_group()
