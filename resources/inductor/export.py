"""Compiles the language model with TorchInductor into a package of AOTInductor.

usage: export.py SPEC OUT.pt2     SPEC: one JSON object, see core/engine/lm/compiled_model.cpp

The package has the model `forward`. With "backward": true this returns the loss and the tensors that the model `backward` needs;
otherwise it returns the logits. Inputs of forward: the parameters in the order of the engine, tokens, targets (unused without backward) and
the rotation (2, context, d_head / 2, 2): cosines and sines for q, scaled, and for k. Inputs of backward: see `backward_inputs` in its
metadata: pN, the input N of forward; sN, the output N of forward; g, the gradient of the loss. Outputs: the gradients of the parameters.

The last line of the output says what failed. Exit status 77: the model cannot be compiled here; the line then names the remedy.
"""
import ctypes
import json
import os
import sys
import traceback

CANNOT = 77
KILL_WITH_PARENT = (1, 9)  # PR_SET_PDEATHSIG, SIGKILL


def leave(text, code=CANNOT):
    print(text, file=sys.stderr)
    sys.exit(code)


def import_torch(version, device):
    """The torch of the engine, since packages link to its libraries, if it can compile for the device."""
    other = f"name a Python with torch {version} in TILESCOPE_PYTHON"
    try:
        import torch
    except ImportError as error:
        leave(f"{sys.executable} has no torch ({error}); {other}")
    if torch.__version__.partition("+")[0] != version:
        leave(f"{sys.executable} has torch {torch.__version__} and the engine {version}; {other}")
    require_compiler(torch)
    if device == "cuda":
        if not torch.cuda.is_available():
            leave(f"torch {torch.__version__} of {sys.executable} finds no GPU; {other} for CUDA")
        try:
            import triton  # noqa: F401
        except ImportError as error:
            leave(f"{sys.executable} has no Triton ({error}); install it with {sys.executable} -m pip install triton")
    return torch


def require_compiler(torch):
    """The C++ compiler of TorchInductor: that of CXX, or g++."""
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except (InvalidCxxCompiler, OSError):
        leave(f"no C++ compiler answers to {torch._inductor.config.cpp.cxx[1]} --version; install g++, or name a compiler in CXX")


def parameters(torch, spec, device):
    """Parameters of the shapes and strides of core/model/language_model.h."""
    width, hidden = spec["d_model"], spec["d_ff"]

    def linear(inner, outer):  # stored transposed
        return torch.empty_strided((inner, outer), (1, inner), device=device)

    def norm():
        return torch.empty(width, device=device)

    made = [torch.empty(spec["vocab"], width, device=device)]
    for _ in range(spec["layers"]):
        made += [norm(), linear(width, 3 * width), linear(width, width), norm(), linear(width, 2 * hidden), linear(hidden, width)]
    return made + [norm(), linear(width, spec["vocab"])]


def rotate(torch, x, table):
    """x (…, N, d) by the cosines and sines of table (N, d / 2, 2)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = table.unbind(-1)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def attention(torch, q, k, v, backend):
    """Causal; q is scaled."""
    if backend == "sdpa":
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
    length = q.shape[-2]
    seen = torch.ones(length, length, dtype=torch.bool, device=q.device).tril()
    return (q @ k.transpose(-1, -2)).masked_fill(~seen, float("-inf")).softmax(-1) @ v


def logits(torch, spec, weights, tokens, rotation):
    """The model of core/model/language_model.h."""
    weights = iter(weights)
    batch, length, heads = spec["batch"], spec["context"], spec["heads"]

    def norm(x):
        weight = next(weights)
        return torch.ops.aten._fused_rms_norm(x, weight.shape, weight, spec["norm_epsilon"])[0]

    x = torch.nn.functional.embedding(tokens, next(weights))
    for _ in range(spec["layers"]):
        packed = norm(x) @ next(weights)
        q, k, v = packed.view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        q = rotate(torch, q.float(), rotation[0]).to(packed.dtype)
        k = rotate(torch, k.float(), rotation[1]).to(packed.dtype)
        attended = attention(torch, q, k, v, spec["backend"]).transpose(1, 2).reshape(batch * length, -1)
        x = x + attended @ next(weights)
        gate, up = (norm(x) @ next(weights)).chunk(2, -1)
        x = x + (torch.nn.functional.silu(gate) * up) @ next(weights)
    return norm(x) @ next(weights)


def traced(torch, spec):
    """The graphs by name, each with its inputs, and the sources of the inputs of backward."""
    from torch._functorch.aot_autograd import aot_function
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch._inductor.decomposition import select_decomp_table
    from torch._subclasses import FakeTensorMode

    device, has_backward, graphs = spec["device"], spec["backward"], {}
    lower = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(spec["precision"])

    def forward(*inputs):
        *weights, tokens, targets, rotation = inputs
        with torch.autocast(device, lower, enabled=lower is not None):
            out = logits(torch, spec, weights, tokens, rotation)
            if not has_backward:
                return out
            if spec["loss"] == "sum":
                return out.sum()
            return torch.nn.functional.cross_entropy(out, targets)

    def keep(name):
        def compiler(graph, inputs):
            graphs[name] = (graph, list(inputs))
            return graph
        return compiler

    with FakeTensorMode():
        weights = [p.requires_grad_(has_backward) for p in parameters(torch, spec, device)]
        tokens, targets = (torch.empty(spec["batch"] * spec["context"], dtype=torch.int64, device=device) for _ in range(2))
        rotation = torch.empty(2, spec["context"], spec["d_model"] // spec["heads"] // 2, 2, device=device)
        loss = aot_function(forward, fw_compiler=keep("forward"), bw_compiler=keep("backward"),
                            partition_fn=min_cut_rematerialization_partition,
                            decompositions=select_decomp_table())(*weights, tokens, targets, rotation)
        if has_backward:
            loss.sum().backward()
    if not has_backward:
        return graphs, []
    without_none(graphs["backward"][0])
    return graphs, without_inputs(graphs["forward"][0])


def without_none(backward):
    """Removes the outputs for inputs that have no gradient: tokens, targets and the rotation."""
    output = backward.graph.output_node()
    output.args = (tuple(gradient for gradient in output.args[0] if gradient is not None),)
    backward.recompile()


def without_inputs(forward):
    """Removes inputs from the outputs of forward, which would copy them; returns the sources of the inputs of backward."""
    place = {node: i for i, node in enumerate(node for node in forward.graph.nodes if node.op == "placeholder")}
    output = forward.graph.output_node()
    kept, sources = [output.args[0][0]], []
    for node in output.args[0][1:]:
        if node in place:
            sources.append(f"p{place[node]}")
            continue
        if node not in kept:
            kept.append(node)
        sources.append(f"s{kept.index(node)}")
    output.args = (tuple(kept),)
    forward.recompile()
    return [*sources, "g"]


def main(spec, out):
    torch = import_torch(spec["torch"], spec["device"])
    from torch._inductor import aot_compile
    from torch._inductor.package import package_aoti

    torch.set_num_threads(spec["threads"])
    torch.backends.cuda.matmul.allow_tf32 = spec["precision"] == "tf32"
    torch.use_deterministic_algorithms(spec["deterministic"])
    graphs, sources = traced(torch, spec)
    files = {}
    for name, (graph, inputs) in graphs.items():
        # Compiling each header ahead takes longer than it saves for two wrappers.
        options = {"aot_inductor.package": True, "aot_inductor.precompile_headers": False}
        if name == "backward":
            options["aot_inductor.metadata"] = {"backward_inputs": " ".join(sources)}
        files[name] = aot_compile(graph, tuple(inputs), options=options)
    package_aoti(out, files)


def sentence(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(*KILL_WITH_PARENT)
    os.umask(0o077)
    try:
        main(json.loads(sys.argv[1]), sys.argv[2])
    except Exception as error:
        traceback.print_exc()
        leave(sentence(error), 1)
