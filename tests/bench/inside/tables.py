#!/usr/bin/env python3
"""Prints the tables of the help page "Making a kernel faster" from a file of results.

    tests/bench/inside/tables.py [tests/bench/results/inside-h200.json]

tests/pages/figures.py compares the page with them.
"""
import json
import pathlib
import statistics
import sys

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results/inside-h200.json"
STATES = {
    "long_scoreboard": "device memory or L2", "barrier": "a barrier", "wait": "the instruction before", "selected": "issues",
    "short_scoreboard": "shared memory", "mio_throttle": "the shared-memory queue", "warpgroup_arrive": "tensor cores",
    "gmma": "tensor cores",
}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def metric(kernel, key):
    return next((row["mean"] for row in kernel["metrics"] if row["metric"] == key and row.get("mean") is not None), None)


def share(kernel, state):
    return next((row["percent"] for row in kernel["reason"] if row["reason"] == state), 0)


def kernels_table(kernels, states):
    """One row for each {shows, kernel}: metrics, and the states of the warps."""
    head = ["kernel", "ms", "DRAM read, %", "tensor pipe, %", "clock, MHz", "issue slots used, %"] + [STATES[s] + ", %" for s in states]
    rows = []
    for each in kernels:
        kernel = each["kernel"]
        rows.append([each["shows"], f"{each['ms']:.3g}", f"{metric(kernel, 'dram_read'):.1f}", f"{metric(kernel, 'tensor_active'):.1f}",
                     f"{metric(kernel, 'gpc_clock') / 1e6:,.0f}", f"{kernel['samples']['issued_percent']:.1f}"] +
                    [f"{share(kernel, s):.1f}" for s in states])
    return table(head, rows)


def decode(results):
    return kernels_table(results["decode"]["seen"], ["long_scoreboard", "barrier", "wait"])


def decode_points(results):
    """The points that were behind PyTorch's best before, its time over ours, in two runs."""
    rows = []
    for row in results["decode"]["points"]:
        if row["to_best_peer"]["before"] < 1:
            words = row["point"].split()  # 128 batch 1 heads 32/32 keys 4096
            other = results["decode"]["another_run"][row["point"]]
            rows.append([words[0], words[2], words[4], f"{int(words[6]):,}", f"{row['ms'][row['best_peer']]:.4f}",
                         f"{row['to_best_peer']['before']:.3f}", f"{row['to_best_peer']['now']:.3f}", f"{other['before']:.3f}",
                         f"{other['now']:.3f}"])
    return table(["head dim", "batch", "heads", "keys", "cuDNN, ms", "before", "after", "another run: before", "after"], rows)


def decode_attempts(results):
    """Each attempt beside the kernel before it, measured by turns in the same run."""
    rows = []
    for attempt in results["decode"]["attempts"]:
        before = results["decode"]["before_attempts"][attempt["run"]]
        ratios = [before[point] / ms for point, ms in attempt["ms"].items()]
        rows.append([attempt["shows"], *(f"{ratio:.3f}" for ratio in (statistics.geometric_mean(ratios), min(ratios), max(ratios)))])
    return table(["attempt", "time before over its time, geometric mean", "least", "most"], rows)


def algorithms(results):
    """Products for which the algorithm that is fastest for a moment is not the fastest under load."""
    rows = []
    for product in results["algorithms"]["products"]:
        moment = max(product["algorithms"], key=lambda a: a["moment"])
        load = max(product["algorithms"], key=lambda a: a["load"])
        if moment is not load:
            rows.append([product["product"], f"{moment['moment']:.0f}, {moment['load']:.0f}", f"{load['moment']:.0f}, {load['load']:.0f}",
                         f"{100 * (load['load'] / moment['load'] - 1):.1f}"])
    return table(["product", "fastest for a moment: then, under load", "fastest under load: for a moment, then", "gain, %"], rows)


def steps(results):
    return table(["step", "before, ms", "after, ms", "after to before"],
                 [[each["shows"], f"{each['before']:.2f}", f"{each['now']:.2f}", f"{each['now'] / each['before']:.3f}"]
                  for each in results["steps"]["turns"]])


def products(results):
    """The most expensive products of a step: tensor pipe and clock, from metrics."""
    rows = []
    for who, seen in results["steps"]["seen"].items():
        some = [k for k in seen["kernels"] if k["family"] == "matmul" and "gpc_clock" in k["metrics"]][:4]
        rows += [["ours, after" if who == "after" else who, k["kernel"], f"{k['percent']:.1f}", f"{k['metrics']['tensor_active']:.1f}",
                  f"{k['metrics']['gpc_clock'] / 1e6:,.0f}"] for k in some]
    return table(["step", "kernel", "of the GPU's time, %", "tensor pipe, %", "clock, MHz"], rows)


def backward(results):
    return kernels_table(results["backward"]["seen"], ["long_scoreboard", "barrier", "short_scoreboard", "wait"])


def backward_points(results):
    rows = {}
    for row in results["backward"]["points"]:
        d, mask, n = row["point"].split()
        rows.setdefault(f"{d} {mask}", {})[int(n)] = row["to_best_peer"]["now"]
    sizes = sorted(next(iter(rows.values())))
    return table(["head dim, mask \\ rows", *map(str, sizes)], [[name, *(f"{line[n]:.3f}" for n in sizes)] for name, line in rows.items()])


def backward_early(results):
    """FlashAttention-3's time over ours, before and after the log-sum-exp and delta are read early."""
    rows = {}
    for row in results["backward"]["early"]["points"]:
        d, mask, n = row["point"].split()
        rows.setdefault(f"{d} {mask}", {})[int(n)] = ", ".join(f"{row['to_best_peer'][k]:.3f}" for k in ("before", "now"))
    sizes = sorted(next(iter(rows.values())))
    return table(["head dim, mask \\ rows", *map(str, sizes)], [[name, *(line[n] for n in sizes)] for name, line in rows.items()])


TABLES = [decode, decode_points, decode_attempts, algorithms, steps, products, backward, backward_points, backward_early]


def main():
    results = json.loads(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else RESULTS).read_text())
    for each in TABLES:
        print(f"{each.__name__}\n\n{each(results)}\n")


if __name__ == "__main__":
    main()
