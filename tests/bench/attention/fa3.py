"""FlashAttention-3 from a library of its ops that the user has, such as flash_attn_3/_C.so of a wheel. Nothing here builds it."""
import os

import torch


def load(path):
    """Makes the ops flash_attn_3::fwd and ::bwd available. Its CUDA runtime must be loadable: see LD_LIBRARY_PATH."""
    torch.ops.load_library(os.path.abspath(path))


class Problem:
    """One problem in FlashAttention-3's own layout, (batch, rows, heads, head dim), so that no call copies an input."""

    def __init__(self, q, k, v, causal, grad_o):
        self.q, self.k, self.v, self.grad_o = (t.detach().transpose(1, 2).contiguous() for t in (q, k, v, grad_o))
        self.causal = causal
        self.o, self.log_sum_exp = self.forward()[:2]

    def forward(self):
        return torch.ops.flash_attn_3.fwd(self.q, self.k, self.v, is_causal=self.causal)

    def backward(self):
        return torch.ops.flash_attn_3.bwd(self.grad_o, self.q, self.k, self.v, self.o, self.log_sum_exp, is_causal=self.causal)

    def results(self):
        """o, dq, dk, dv as (batch, heads, rows, head dim)."""
        return [t.transpose(1, 2) for t in (self.o, *self.backward()[:3])]
