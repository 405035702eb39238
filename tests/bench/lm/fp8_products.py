"""Times the products of a layer in bf16 and in E4M3 with scales by row and by matrix, and the quantisation of their factors.

    fp8_products.py --library libtilescope_ops.so [--size 2.7B] [--tokens 512,4096]

Each figure is the median of replays of a CUDA graph of many calls. Factors rotate, so that weights are read from memory.
"""
import argparse
import statistics

import torch
from model import SIZES

E4M3 = torch.float8_e4m3fn


def milliseconds(calls, device, replays=7):
    """The median time of one of `calls`, replayed together."""
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        for call in calls:
            call()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            kept = [call() for call in calls]
        times = []
        for _ in range(replays + 2):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            stream.synchronize()
            times.append(start.elapsed_time(end) / len(calls))
    del kept
    return statistics.median(times[2:])


def shapes(size):
    d, ff = SIZES[size][:2]
    for name, wide, narrow in (("qkv", 3 * d, d), ("projection", d, d), ("gate_up", 2 * ff, d), ("down", d, ff)):
        yield f"{name} forward", narrow, wide
        yield f"{name} backward", wide, narrow


def measure(size, tokens, device, copies=6):
    ops = torch.ops.tilescope
    rows = []
    for name, inner, columns in shapes(size):
        x = [torch.randn(tokens, inner, device=device).bfloat16() for _ in range(copies)]
        w = [(torch.randn(columns, inner, device=device) / inner**0.5).bfloat16() for _ in range(copies)]
        quantized = [ops.quantize_rows(each) for each in x]
        weights = [each.to(E4M3) for each in w]
        by_column = torch.ones(1, columns, device=device)
        one = torch.ones((), device=device)
        fast = "forward" in name
        kinds = {
            "bf16": [lambda a=a, b=b: a @ b.t() for a, b in zip(x, w)],
            "by_row": [lambda a=a, b=b: torch._scaled_mm(a[0], b.t(), a[1], by_column, out_dtype=torch.bfloat16, use_fast_accum=fast)
                       for a, b in zip(quantized, weights)],
            "by_matrix": [lambda a=a, b=b: torch._scaled_mm(a[0], b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)
                          for a, b in zip(quantized, weights)],
            "quantize": [lambda a=a: ops.quantize_rows(a) for a in x],
        }
        row = dict(size=size, tokens=tokens, product=name)
        for kind, calls in kinds.items():
            ms = milliseconds(calls, device)
            row[f"{kind}_us"] = round(1000 * ms, 2)
            if kind != "quantize":
                row[f"{kind}_tflops"] = round(2 * tokens * inner * columns / ms / 1e9)
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--size", default="2.7B")
    parser.add_argument("--tokens", default="512,4096")
    args = parser.parse_args()
    torch.ops.load_library(args.library)
    for tokens in map(int, args.tokens.split(",")):
        for row in measure(args.size, tokens, "cuda"):
            print(" ".join(f"{key}={value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
