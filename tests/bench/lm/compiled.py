"""The lm workload as compiled PyTorch: the peers of compile: fused.

A peer is NAME = WEIGHTS-MODE[-graph][-blocks]. WEIGHTS: autocast (fp32 weights), bf16 (bf16 weights; in training beside
fp32 masters that AdamW updates), or fp32 or tf32 (fp32 weights, products in that precision). MODE: eager, or default,
reduce-overhead, max-autotune or, with graph, max-autotune-no-cudagraphs of torch.compile. graph: the step, with backward
and optimizer, is one CUDA graph. blocks: each transformer block is compiled by itself, which takes seconds instead of
minutes; otherwise the model and the loss are compiled as a whole.
"""
import contextlib
import time

import torch
import torch.nn.functional as F

import model as plain


def sdpa(q, k, v, _mask):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@contextlib.contextmanager
def sdpa_model():
    """Inside, the model's attention is scaled_dot_product_attention."""
    naive, plain.causal_attention = plain.causal_attention, sdpa
    try:
        yield
    finally:
        plain.causal_attention = naive


class CopiedBlock(torch.nn.Module):
    """A block with its own CUDA graph. Without a backward pass, the next graph overwrites its output, so it is copied."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        output = self.block(x)
        return output if torch.is_grad_enabled() else output.clone()


class Peer:
    """One model in one variant; step(mode) runs a step."""

    def __init__(self, name, size, batch, context, vocab=10_000):
        words = name.split("-")
        self.is_graph, by_block = "graph" in words, "blocks" in words
        self.autocast, self.is_lower, self.is_tf32 = (words[0] == word for word in ("autocast", "bf16", "tf32"))
        compile_mode = "-".join(w for w in words[1:] if w not in ("graph", "blocks"))
        torch.manual_seed(0)
        with torch.device("cuda"):
            self.model = plain.LanguageModel(size, context, vocab)
            if self.is_lower:
                self.model.bfloat16()
                for block in self.model.blocks:  # tables of the rotary embedding stay exact
                    block.cos, block.sin = block.cos.bfloat16(), block.sin.bfloat16()
            self.tokens = torch.randint(0, vocab, (batch, context))
            self.targets = torch.randint(0, vocab, (batch * context,))
        self.parameters = list(self.model.parameters())
        self.graphs, self.masters, self.optimizer = {}, None, None
        self.forward, self.loss = self.model, self.cross_entropy
        if compile_mode != "eager":
            options = {} if compile_mode == "default" else dict(mode=compile_mode)
            if by_block:
                for block in self.model.blocks:
                    block.compile(**options)
                if compile_mode == "reduce-overhead":
                    self.model.blocks = torch.nn.ModuleList(map(CopiedBlock, self.model.blocks))
            else:
                self.forward = torch.compile(self.model, **options)
                self.loss = torch.compile(self.cross_entropy, **options)

    def cross_entropy(self):
        logits = self.model(self.tokens)
        return F.cross_entropy(logits.flatten(0, 1).float(), self.targets)

    def precision(self):
        return torch.autocast("cuda", torch.bfloat16, cache_enabled=not self.is_graph) if self.autocast else (
            contextlib.nullcontext())

    def prepare(self, mode):
        if mode == "train" and not self.optimizer:
            self.masters = [torch.nn.Parameter(p.detach().float()) for p in self.parameters] if self.is_lower else (
                self.parameters)
            self.optimizer = torch.optim.AdamW(self.masters, fused=True, capturable=self.is_graph)
        if not self.is_graph:
            return
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.drop_gradients()
                self.run(mode)
            self.drop_gradients()
        torch.cuda.current_stream().wait_stream(stream)
        self.graphs = {}  # frees the memory of the last one
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            self.run(mode)
        self.graphs[mode] = graph

    def drop_gradients(self):
        for parameter in self.parameters:
            parameter.grad = None

    def run(self, mode):
        if mode == "forward":
            with torch.no_grad(), self.precision():
                self.forward(self.tokens)
            return
        with self.precision():
            loss = self.loss()
        loss.backward()
        if mode != "train":
            return
        if self.is_lower:
            for master, parameter in zip(self.masters, self.parameters):
                master.grad = parameter.grad.float()
        self.optimizer.step()
        if self.is_lower:
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, self.masters)

    def measure(self, mode, warmup, steps):
        """Milliseconds of each step, from one synchronization to the next, and those of compiling and capturing."""
        torch.backends.cuda.matmul.allow_tf32 = self.is_tf32
        started = time.perf_counter()
        self.prepare(mode)
        times = []
        for i in range(warmup + steps):
            if not self.is_graph:
                self.drop_gradients()
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            if self.is_graph:
                self.graphs[mode].replay()
            else:
                self.run(mode)
            torch.cuda.synchronize()
            if i == 0:
                prepared = 1e3 * (time.perf_counter() - started)
            if i >= warmup:
                times.append((time.perf_counter_ns() - start) / 1e6)
        self.graphs = {}
        self.drop_gradients()
        return times, prepared
