#!/usr/bin/env python3
"""Runs kernels one after the other, again and again, as a program to record with --inside and --metrics.

    kernels.py CASE [CASE…] [--library OPS] [--version NAME=LIBRARY …] [--fa3 LIBRARY] [--seconds 9] [--turn 0.4]

CASE: backward/WHO/HEAD DIM/full|causal/ROWS (16k tokens, hidden size 2048; WHO: ours, fa3, cudnn, flash) or
decode/WHO/HEAD DIM/BATCH/KEY HEADS/KEYS (one query a sequence, 32 heads; WHO: ours, cudnn, flash). bf16. WHO can also be the NAME
of a library that tests/bench/attention/points has built. Each turn runs a case for --turn seconds. Prints the milliseconds of a call of each case, by CUDA events around a turn; inputs are not flushed from
the caches. OPS: libtilescope_ops.so.
"""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attention"))
import fa3

aten = torch.ops.aten
versions = {}  # by name


def load_versions(named):
    """Those of NAME=LIBRARY."""
    loader = importlib.machinery.SourceFileLoader("points", str(pathlib.Path(fa3.__file__).with_name("points")))
    points = importlib.util.module_from_spec(importlib.util.spec_from_loader("points", loader))
    loader.exec_module(points)
    for text in named:
        name, _, library = text.partition("=")
        versions[name] = points.Version(library)


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def backward(who, head_dim, mask, rows):
    """A function that runs the backward pass once."""
    causal, n, d = mask == "causal", int(rows), int(head_dim)
    q, k, v, grad_o = (random(16384 // n, 2048 // d, n, d) for _ in range(4))
    if who == "fa3":
        return fa3_backward(q, k, v, grad_o, causal)
    if who in versions:
        o, log_sum_exp = (t.contiguous() for t in aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)[:2])
        return versions[who].backward(q, k, v, o, log_sum_exp, grad_o, causal)[0]
    x = [t.requires_grad_() for t in (q, k, v)]
    if who == "ours":
        output = torch.ops.tilescope.attention(*x, causal)[0]
    elif who == "cudnn":
        output = aten._scaled_dot_product_cudnn_attention(*x, None, True, 0.0, causal)[0]
    else:
        output = aten._scaled_dot_product_flash_attention(*x, 0.0, causal)[0]
    return lambda: torch.autograd.grad(output, x, grad_o, retain_graph=True)


def fa3_backward(q, k, v, grad_o, causal):
    """Without FlashAttention-3's forward pass, which a library of backward kernels alone lacks."""
    o, log_sum_exp = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal)[:2]
    inputs = [t.transpose(1, 2).contiguous() for t in (grad_o, q, k, v, o)]
    log_sum_exp = log_sum_exp.contiguous()
    return lambda: torch.ops.flash_attn_3.bwd(*inputs, log_sum_exp, is_causal=causal)


def decode(who, head_dim, batch, key_heads, keys):
    """A function that runs attention of one query a sequence."""
    d, b, heads, n = int(head_dim), int(batch), int(key_heads), int(keys)
    q, k, v = random(b, 32, 1, d), random(b, heads, n, d), random(b, heads, n, d)
    if who in versions:
        return versions[who].decode(q, k, v)[0]
    if who == "ours":
        return lambda: torch.ops.tilescope.attention(q, k, v, False)
    folded = q.view(b, heads, 32 // heads, d)
    if who == "cudnn":
        return lambda: aten._scaled_dot_product_cudnn_attention(folded, k, v, None, False, 0.0, False)
    return lambda: aten._scaled_dot_product_flash_attention(folded, k, v, 0.0, False)


def run_for(function, seconds):
    """Milliseconds of a call. The host queues at most 16 calls ahead."""
    events = [torch.cuda.Event(enable_timing=True)]
    events[0].record()
    end = time.monotonic() + seconds
    calls = 0
    while time.monotonic() < end:
        for _ in range(4):
            function()
        calls += 4
        events.append(torch.cuda.Event(enable_timing=True))
        events[-1].record()
        if len(events) > 4:
            events[-4].synchronize()
    torch.cuda.synchronize()
    return events[0].elapsed_time(events[-1]) / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="CASE")
    parser.add_argument("--library", default=str(pathlib.Path(__file__).resolve().parents[3] / "build/lib/libtilescope_ops.so"))
    parser.add_argument("--version", action="append", default=[], metavar="NAME=LIBRARY")
    parser.add_argument("--fa3")
    parser.add_argument("--seconds", type=float, default=9, help="of all turns together")
    parser.add_argument("--turn", type=float, default=0.4)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU here: nothing to run")
    torch.manual_seed(0)
    if options.version:
        load_versions(options.version)
    if any("/ours/" in case for case in options.cases):
        torch.ops.load_library(options.library)
    if options.fa3:
        fa3.load(options.fa3)
    functions = {}
    for case in options.cases:
        what, *words = case.split("/")
        functions[case] = {"backward": backward, "decode": decode}[what](*words)
    times = {case: [] for case in functions}
    with torch.set_grad_enabled(True):
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            for case, function in functions.items():
                times[case].append(run_for(function, options.turn))
    for case, milliseconds in times.items():
        print(f"{case} {statistics.median(milliseconds):.5f}", flush=True)


main()
