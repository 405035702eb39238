"""Attention kernels with a defect, in PyTorch, which the error rule of the checks must reject.

The faithful one has the arithmetic of error_bound.py: tiles of 64 keys, sums in fp32, P and dS rounded once.
"""
import math

import torch

import error_bound
import reference

FAITHFUL = "faithful"
DROPPED_TILE = "drops a tile of keys"
ROUNDED_TWICE = "rounds P twice"
BF16_SUMS = "accumulates in bf16"
TF32_PROBABILITIES = "rounds P to TF32"
SKIPPED_QUERIES = "drops a tile of queries in backward"
UNSCALED_QUERIES = "rounds scaled queries"
TILE = 64


def of(kind):
    """The defects of a precision: exact fp32 does not round P."""
    rounding = (TF32_PROBABILITIES,) if kind == "fp32" else (ROUNDED_TWICE, UNSCALED_QUERIES)
    return (FAITHFUL, DROPPED_TILE, SKIPPED_QUERIES, BF16_SUMS, *rounding)


def operand(kind, x):
    """The value of x in a product, in fp32."""
    if kind == "tf32" or kind == TF32_PROBABILITIES:
        return error_bound.round_tf32(x)
    return x.to({"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[kind]).float()


def attention(kind, mutation, q, k, v, grad_o, causal):
    """(o, lse, dq, dk, dv) of 4-D tensors with as many key heads as query heads."""
    q, k, v, g = (operand(kind, x.float()) for x in (q, k, v, grad_o))
    scale = 1 / math.sqrt(q.shape[-1])
    if mutation == UNSCALED_QUERIES:
        scaled, exponent = operand(kind, q * (scale * 1.2345)), 1 / 1.2345
    else:
        scaled, exponent = q, scale
    seen = reference.visible(q.shape[2], k.shape[2], causal, q.device)
    total = (lambda x: x.bfloat16().float()) if mutation == BF16_SUMS else (lambda x: x)
    out = (lambda x: x) if kind in ("fp32", "tf32") else (lambda x: operand(kind, x))
    weights = "tf32" if mutation == TF32_PROBABILITIES else kind

    # Forward, with a running maximum.
    largest = torch.full((*q.shape[:3], 1), -math.inf, device=q.device)
    sums, o = torch.zeros_like(largest), torch.zeros_like(q)
    tiles = range(0, k.shape[2], TILE)
    for tile in tiles:
        if mutation == DROPPED_TILE and tile == tiles[len(tiles) // 2]:
            continue
        keys = slice(tile, tile + TILE)
        scores = (scaled @ k[:, :, keys].transpose(-1, -2) * exponent).masked_fill(~seen[:, keys], -math.inf)
        most = torch.maximum(largest, scores.amax(-1, keepdim=True))
        base = most.masked_fill(most == -math.inf, 0)
        p, shrink = torch.exp(scores - base), torch.exp(largest - base)
        sums = sums * shrink + p.sum(-1, keepdim=True)
        p = operand(weights, p)
        if mutation == ROUNDED_TWICE:
            p = operand(kind, p * 0.7) / 0.7  # like probabilities that are rescaled after rounding
        o = total(o * shrink + p @ v[:, :, keys])
        largest = most
    divisor = sums.masked_fill(sums == 0, 1)
    o = out(o / divisor)
    lse = (largest + sums.log()).masked_fill(sums == 0, -math.inf)

    # Backward, a tile of queries at a time.
    delta = (o * g).sum(-1, keepdim=True)
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    tiles = range(0, q.shape[2], TILE)
    for tile in tiles:
        if mutation == SKIPPED_QUERIES and tile == tiles[-1]:
            continue
        rows = slice(tile, tile + TILE)
        offset = lse[:, :, rows].masked_fill(lse[:, :, rows] == -math.inf, math.inf)
        scores = scaled[:, :, rows] @ k.transpose(-1, -2) * exponent
        p = torch.exp(scores - offset).masked_fill(~seen[rows], 0)
        ds = p * (g[:, :, rows] @ v.transpose(-1, -2) - delta[:, :, rows])
        # A softmax over one key is constant.
        ds = ds.masked_fill(seen[rows].sum(-1, keepdim=True) == 1, 0)
        p, ds = operand(weights, p), operand(weights, ds)
        if mutation == ROUNDED_TWICE:
            p = operand(kind, p * 0.7) / 0.7
        dv = total(dv + p.transpose(-1, -2) @ g[:, :, rows])
        dk = total(dk + scale * (ds.transpose(-1, -2) @ q[:, :, rows]))
        dq[:, :, rows] = total(scale * (ds @ k))
    return o, lse[..., 0], out(dq), out(dk), out(dv)
