"""The lm workload in eager PyTorch, as users write it: the baseline for the engine."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZES = {  # d_model, d_ff, layers, heads
    "tiny": (128, 512, 2, 4),
    "small": (768, 3072, 12, 12),
    "medium": (1024, 4096, 24, 16),
    "large": (1280, 5120, 36, 20),
    "xl": (1600, 6400, 48, 25),
    "2.7B": (2560, 10240, 32, 32),  # in the handout of 2026: xl
}


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        return (self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))).to(dtype)


def causal_attention(q, k, v, mask):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    weights = torch.softmax(torch.where(mask, scores, float("-inf")), -1)
    return torch.einsum("...qk,...kd->...qd", weights.to(v.dtype), v)


class Block(nn.Module):
    def __init__(self, width, hidden, heads, context, theta=1e4):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.ffn_norm = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.o = [nn.Linear(width, width, bias=False) for _ in range(4)]
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        d = width // heads
        angle = torch.outer(torch.arange(context), theta ** (-torch.arange(0, d, 2) / d))
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def rotate(self, x):
        a, b = x[..., 0::2], x[..., 1::2]
        cos, sin = self.cos[: x.shape[-2]], self.sin[: x.shape[-2]]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    def forward(self, x):
        batch, length, width = x.shape
        y = self.attention_norm(x)
        q, k, v = [m(y).view(batch, length, self.heads, -1).transpose(1, 2) for m in (self.q, self.k, self.v)]
        q, k = self.rotate(q), self.rotate(k)
        mask = torch.ones(length, length, device=x.device, dtype=torch.bool).tril()
        o = causal_attention(q, k, v, mask).transpose(1, 2).reshape(batch, length, width)
        x = x + self.o(o)
        y = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class LanguageModel(nn.Module):
    def __init__(self, size, context, vocab=10_000):
        super().__init__()
        width, hidden, layers, heads = SIZES[size]
        self.embedding = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(Block(width, hidden, heads, context) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
