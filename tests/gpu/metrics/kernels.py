"""Kernels whose use of the GPU is known, each longer than a millisecond: a product in bf16, a copy in device memory, and
multiplications and additions in registers. Prints the time of each."""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def multiply_add(into, rounds, size: tl.constexpr):
    at = tl.program_id(0) * size + tl.arange(0, size)
    a = at.to(tl.float32) * 1e-6
    b = a + 1
    for _ in range(rounds):
        a = a * b + 0.5
        b = b * a + 0.25
    tl.store(into + at, a + b)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    size = 8192
    left = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    right = torch.randn_like(left)
    product = torch.empty_like(left)
    source = torch.randn(1 << 30, device="cuda")
    copied = torch.empty_like(source)
    sums = torch.empty(132 * 32 * 256, device="cuda")
    work = {
        "product": lambda: torch.mm(left, right, out=product),
        "copy": lambda: copied.copy_(source),
        "multiply_add": lambda: multiply_add[(132 * 32,)](sums, 20000, size=256),
    }
    for name, call in work.items():
        call()
        torch.cuda.synchronize()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.nvtx.range_push(name)
        start.record()
        for _ in range(rounds):
            call()
        end.record()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        print(f"{name} {start.elapsed_time(end) / rounds:.4f} ms", flush=True)


main()
