"""All-reduces of BYTES (1 GiB) on every rank of torchrun, COUNT (60) times: each of two ranks sends and receives BYTES in each."""
import os

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
count, size = int(os.environ.get("COUNT", "60")), int(os.environ.get("BYTES", str(2**30)))
device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")
if device.type == "cuda":
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if device.type == "cuda" else "gloo", device_id=device if device.type == "cuda" else None)
data = torch.zeros(size // 2, dtype=torch.bfloat16, device=device)
for _ in range(count):
    dist.all_reduce(data)
if device.type == "cuda":
    torch.cuda.synchronize()
dist.barrier()
dist.destroy_process_group()
