"""Attention by its definition, with gradients: the reference of the checks, in any precision."""
import math

import torch


def visible(queries, keys, causal, device):
    """(queries, keys) mask of the keys that each query sees; causal is aligned bottom right."""
    mask = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return mask.tril(keys - queries) if causal else mask


def attention(q, k, v, causal, scale=None):
    """o and log-sum-exp of 4-D tensors in their own type; 0 and -infinity for rows that see no key."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    group = q.shape[1] // k.shape[1]
    if group > 1:
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = torch.matmul(q, k.transpose(-1, -2)) * scale
    if causal:
        seen = visible(q.shape[-2], k.shape[-2], True, q.device)
        scores = scores.masked_fill(~seen, -math.inf)
        blind = ~seen.any(-1)[:, None]
        probabilities = torch.softmax(scores.masked_fill(blind, 0), -1).masked_fill(blind, 0)
    else:
        probabilities = torch.softmax(scores, -1)
    kind = torch.promote_types(scores.dtype, torch.float32)
    return torch.matmul(probabilities, v), torch.logsumexp(scores.detach().to(kind), -1)


def with_gradients(function, q, k, v, grad_o):
    """(o, lse, dq, dk, dv) of function(q, k, v), which returns (o, lse)."""
    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    o, lse = function(*inputs)
    gradients = torch.autograd.grad(o, inputs, grad_o)
    return (o.detach(), lse.detach(), *gradients)


def rounding_floor(reference, dtype):
    """Twice the error of rounding such values to `dtype`."""
    there = reference.to(dtype)
    back = (there + 0.3) - 0.3
    return 2 * (back - there).abs().max().double().item() if there.numel() else 0.0
