"""The CPU's part of tests/bench/attention/run: tilescope::attention beside the naive form and PyTorch's SDPA.

Batch 8, one head, as the backend `naive` of the engine computes it. The candidates take turns in one
process. The result is the median of the ratios of the turns: if other programs use the core, they slow all candidates of a turn alike.
"""
import datetime
import os
import platform
import statistics
import time

import torch

KINDS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
BATCH = 8
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16")


def naive(q, k, v, hidden):
    unread = q.new_empty(1).expand(1, 1, 1)
    scores = torch.baddbmm(unread, q, k.transpose(1, 2), beta=0, alpha=q.shape[-1] ** -0.5)
    if hidden is not None:
        with torch.no_grad():
            scores.masked_fill_(hidden, float("-inf"))
    return torch.bmm(torch.softmax(scores, -1), v)


def candidates_of(causal, n):
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if causal else None

    def sdpa(q, k, v):
        x = (t.unsqueeze(1) for t in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(*x, is_causal=causal).squeeze(1)

    return {"ours": lambda q, k, v: torch.ops.tilescope.attention(q, k, v, causal)[0],
            "naive": lambda q, k, v: naive(q, k, v, hidden), "sdpa": sdpa}


def turns(functions, repeats, seconds):
    """Milliseconds of each function, in `repeats` turns, or fewer (at least 5) if those would take too long."""
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    begin = time.perf_counter()
    while len(times["ours"]) < repeats and (len(times["ours"]) < 5 or time.perf_counter() - begin < seconds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append((time.perf_counter() - start) * 1e3)
    return times


def figures(times):
    row = {f"{name}_ms": round(statistics.median(t), 3) for name, t in times.items()}
    row["turns"] = len(times["ours"])
    for peer in ("naive", "sdpa"):
        row[f"vs_{peer}"] = round(statistics.median(b / a for a, b in zip(times["ours"], times[peer])), 2)
    return row


def point(kind, d, n, causal, options):
    q, k, v, grad_o = (torch.randn(BATCH, n, d).to(KINDS[kind]) for _ in range(4))
    candidates = candidates_of(causal, n)
    with torch.no_grad():
        forward = turns({name: (lambda f=f: f(q, k, v)) for name, f in candidates.items()}, options.repeats,
                        options.seconds)
    x = [t.requires_grad_() for t in (q, k, v)]
    outputs = {name: f(*x) for name, f in candidates.items()}
    backward = turns({name: (lambda o=o: torch.autograd.grad(o, x, grad_o, retain_graph=True))
                      for name, o in outputs.items()}, options.repeats, options.seconds)
    return {"point": f"{kind} {d} {n} {'causal' if causal else 'full'}", "forward": figures(forward),
            "backward": figures(backward)}


def machine():
    with open("/proc/cpuinfo") as text:
        info = dict(line.split(":", 1) for line in text.read().split("\n\n")[0].splitlines() if ":" in line)
    info = {key.strip(): value.strip() for key, value in info.items()}
    flags = info.get("flags", "").split()
    return {"processor": info.get("model name", platform.processor()), "cores": os.cpu_count(),
            "threads": torch.get_num_threads(), "instructions": [name for name in INSTRUCTIONS if name in flags]}


def measure(options, check, result, save):
    """Adds the rows to `result`, and calls `save` after each of them."""
    torch.manual_seed(0)
    result |= {"machine": machine(), "torch": torch.__version__, "load_before": round(os.getloadavg()[0], 1),
               "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "points": []}
    print(f"{'batch 8, one head':24} {'ms / times faster than naive / SDPA; forward':48} backward")
    for kind in options.kinds:
        for d in options.head_dims:
            x = [torch.randn(1, 1, 300, d).to(KINDS[kind]) for _ in range(4)]
            check(*x[:3], True, x[3])
            for n in options.rows:
                for causal in (False, True):
                    row = point(kind, d, n, causal, options)
                    result["points"].append(row)
                    print(f"{row['point']:24}", *(f"{row[p]['ours_ms']:10.3f} {row[p]['vs_naive']:8.2f} {row[p]['vs_sdpa']:8.2f}"
                                                  for p in ("forward", "backward")), flush=True)
                    result["load_after"] = round(os.getloadavg()[0], 1)
                    save()
    return result


def summary(result):
    phases = [(row["point"], row[phase]) for row in result["points"] for phase in ("forward", "backward")]
    summary = {"points": len(phases)}
    for peer in ("naive", "sdpa"):
        for kind in KINDS:
            ratios = [row[f"vs_{peer}"] for name, row in phases if name.startswith(kind)]
            if ratios:
                summary[f"{kind}_worst_vs_{peer}"] = min(ratios)
                summary[f"{kind}_median_vs_{peer}"] = round(statistics.median(ratios), 2)
    summary["behind_naive"] = sum(row["vs_naive"] < 1 for _, row in phases)
    return summary
