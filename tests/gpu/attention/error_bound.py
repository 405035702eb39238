"""Bounds of the difference between an attention kernel's results and attention in fp64, for all checks of the op.

The arithmetic: operands are multiplied unchanged (bf16, fp16, fp32) or rounded to TF32, sums are in fp32, P and dS are
rounded once to the type of the operands, and results once to the type of the output. Unit roundoffs:

    u  of an operand: bf16 2^-8, fp16 and TF32 2^-11, exact fp32 none      w  of the output: bf16 2^-8, fp16 2^-11, fp32 2^-24
    e  of a sum: 2^-24                                                      t  of the exponential: 2^-18 (fp32 2^-21)
    s  quantum of subnormal numbers: fp16 2^-24, others none
    x  of a product: fp16 2^-18, exact fp32 2^-23, if a processor multiplies them as sums of bf16 numbers and omits the
       smallest products; bf16 and TF32 none

With a_ij = scale sum_c |q_ic k_jc| and d terms a score, n keys a row, m queries a key:

    score, as exponent         E_ij = (2 (d + 1) e + x) a_ij + 4 e |s_ij| + t     an addition loses at most 2 e, as tensor cores truncate
    log-sum-exp                sum_j P_ij E_ij + e (n / 2 + 4 |lse_i| + 4) + t =: L_i
    o                          sum_j P_ij E_ij (|v_jc| + |o_ic|) + (u + x + (2 n + 4) e) sum_j P_ij |v_jc| + w |o_ic|
    P, recomputed in backward  relative R_ij = E_ij + L_i
    dv                         sum_i P_ij (R_ij + u + x + (2 m + 4) e) |g_ic| + w |dv_jc|                       g: gradient of o
    delta_i = sum_c o g        sum_c |error of o_ic| |g_ic| + sum_j P_ij (D_ij + R_ij |dP_ij|),    D_ij = (2 (d + 1) e + x) sum_c |g_ic v_jc|
    dS = P (dP - delta)        |dS_ij| (R_ij + 2 u + 8 e) + (P_ij + s / 2) (D_ij + error of delta_i + 4 e (|dP_ij| + |delta_i|))
                               + s / 2 |dP_ij - delta_i|
    dq, dk                     scale sum |error of dS| |k| + (x + (2 n + 4) e) scale sum |dS| |k| + w |dq|; dk with q, m

dS is rounded at most twice, because a kernel may make it from the P that it rounded for dv: Hopper's does, at head dims up to
64 and above 128. Below 2^-14 fp16 has only subnormal numbers, and rounding changes P by up to s / 2 instead of u P. dP - delta
multiplies this change, and the error of dP - delta multiplies the rounded P, which is at most P + s / 2.

Half a quantum is added for each number that is rounded to fp16, and 2^-100 for exponentials that vanish in fp32; all bounds
are multiplied by 1 + 2 (u + w) for the products of roundings. Every element must keep this *worst-case bound*, whatever the
inputs.

This bound adds the magnitudes of n rounding errors, but n independent errors add up to about sqrt(n) times less: a kernel
that rounds P twice keeps the bound. So if inputs are random, and rounding errors independent, results must also satisfy a
statistical bound. The rounding error of a number of unknown magnitude (logarithmically uniform significand) has the variance
K u^2 x^2, K = (1 / 3) (3 / (8 ln 2)) = 0.18. Replacing each |error| above by its variance and each sum of errors by the sum
of their variances gives the variance V of each element; sums in fp32, whose order is arbitrary, count with K = 1 and
as if each of n additions rounded the whole sum. *Statistical bound*: the mean of error^2 / V over a tensor is at most
(1.1 + 3 / sqrt(rows))^2, and no element differs by more than 8 sqrt(V). Rounding P twice doubles its part of V.

tests/unit/kernels/error_bound.h is the same worst-case bound for the tests in C++.
"""
import math

import torch

SUM = 2.0 ** -24
OPERAND = {"bf16": 2.0 ** -8, "fp16": 2.0 ** -11, "tf32": 2.0 ** -11, "fp32": 0.0}
OUTPUT = {"bf16": 2.0 ** -8, "fp16": 2.0 ** -11, "tf32": 2.0 ** -24, "fp32": 2.0 ** -24}
EXPONENTIAL = {"bf16": 2.0 ** -18, "fp16": 2.0 ** -18, "tf32": 2.0 ** -18, "fp32": 2.0 ** -21}
QUANTUM = {"bf16": 0.0, "fp16": 2.0 ** -24, "tf32": 0.0, "fp32": 0.0}
PRODUCT = {"bf16": 0.0, "fp16": 2.0 ** -18, "tf32": 0.0, "fp32": 2.0 ** -23}
ROUNDING = 3 / (8 * math.log(2)) / 3  # variance of a relative rounding error, in units of its bound squared
PARTS = ("o", "lse", "dq", "dk", "dv")
SCORES_AT_ONCE = 1 << 25


def round_tf32(x):
    """fp32 with 10 bits of mantissa."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1fff).view(torch.float32)


def without_ties(x):
    """Changes values half-way between two TF32 numbers, which TMA and cvt.rna round differently."""
    bits = x.contiguous().view(torch.int32)
    return torch.where((bits & 0x1fff) == 0x1000, bits + 1, bits).view(torch.float32)


class Bound:
    """The exact results of a problem, with the worst-case bound and the variance of each element.

    exact, worst, variance: dictionaries by part. inputs: q, k, v, the gradient of o; grad_lse: of the log-sum-exp."""

    def __init__(self, kind, inputs, causal, scale=None, grad_lse=None):
        self.kind = kind
        inputs = [(round_tf32(x) if kind == "tf32" else x).double() for x in inputs]
        q, k, v, g = inputs
        self.scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
        self.causal, self.group = causal, q.shape[1] // k.shape[1]
        grad_lse = torch.zeros(q.shape[:3], dtype=torch.double, device=q.device) if grad_lse is None else grad_lse.double()
        per_head = max(1, self.group * q.shape[2] * k.shape[2])
        step = max(1, SCORES_AT_ONCE // per_head)
        heads = lambda x: x.reshape(x.shape[0] * k.shape[1], -1, *x.shape[2:]) if x.shape[0] * k.shape[1] else x
        pieces = []
        all_heads = [heads(x) for x in (q, k, v, g, grad_lse)]
        for first in range(0, all_heads[1].shape[0], step):
            pieces.append(self.of_heads(*(x[first:first + step] for x in all_heads)))
        likes = {"o": q, "lse": grad_lse, "dq": q, "dk": k, "dv": v}
        self.exact, self.worst, self.variance = (
            {part: torch.cat([piece[part][i] for piece in pieces]).reshape(likes[part].shape) for part in PARTS}
            for i in range(3))

    def of_heads(self, q, k, v, g, grad_lse):
        """For (heads, group, rows, d) queries and (heads, 1, rows, d) keys: (exact, worst, variance) of each part."""
        u, w, e, t, s = (OPERAND[self.kind], OUTPUT[self.kind], SUM, EXPONENTIAL[self.kind], QUANTUM[self.kind])
        x, half = PRODUCT[self.kind], QUANTUM[self.kind] / 2
        z = half + 2.0 ** -100
        scale, (n, d) = self.scale, k.shape[-2:]
        m = self.group * q.shape[-2]
        T = lambda x: x.transpose(-1, -2)
        of_keys = lambda x: x.sum(1, keepdim=True)  # over the query heads of a key head
        seen = torch.ones(q.shape[-2], n, dtype=torch.bool, device=q.device)
        seen = seen.tril(n - q.shape[-2]) if self.causal else seen
        blind = ~seen.any(-1)[:, None]

        scores = (q @ T(k) * scale).masked_fill(~seen, -math.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        P = torch.exp(scores - lse.masked_fill(blind, 0)).masked_fill(~seen, 0)
        scores = scores.masked_fill(~seen, 0)
        largest = scores.masked_fill(~seen, -math.inf).amax(-1, keepdim=True).masked_fill(blind, 0)
        finite = lse.masked_fill(blind, 0)
        sums = torch.exp(finite - largest)  # of the exponentials, the largest of which is 1
        o = P @ v
        dP = g @ T(v)
        delta = (P * dP).sum(-1, keepdim=True) - grad_lse[..., None]
        dS = P * (dP - delta)
        dq, dk, dv = scale * (dS @ k), scale * of_keys(T(dS) @ q), of_keys(T(P) @ g)
        c = abs(scale)

        # The worst case.
        E = (2 * (d + 1) * e + x) * c * (q.abs() @ T(k.abs())) + 4 * e * scores.abs() + t
        PE = P * E
        L = PE.sum(-1, keepdim=True) + e * (n / 2 + 4 * finite.abs() + 4) + t
        o_worst = (PE @ v.abs() + PE.sum(-1, keepdim=True) * o.abs() + (u + x + (2 * n + 4) * e) * (P @ v.abs()) + w * o.abs()
                   + z / sums * (seen.double() @ v.abs()) + z)
        R = E + L
        dv_worst = of_keys(T(P * (R + u + x + (2 * m + 4) * e)) @ g.abs() + z * (T(seen.double()) @ g.abs())) + w * dv.abs() + z
        D = (2 * (d + 1) * e + x) * (g.abs() @ T(v.abs()))
        delta_worst = (o_worst * g.abs()).sum(-1, keepdim=True) + (P * (D + R * dP.abs())).sum(-1, keepdim=True)
        dS_worst = (dS.abs() * (R + 2 * u + 8 * e) + (P + half) * (D + delta_worst + 4 * e * (dP.abs() + delta.abs()))
                    + half * (dP - delta).abs() + z * max(1, 1 / c if c else 1)) * seen
        dq_worst = c * (dS_worst @ k.abs() + (x + (2 * n + 4) * e) * (dS.abs() @ k.abs())) + w * dq.abs() + z
        dk_worst = c * of_keys(T(dS_worst) @ q.abs() + (x + (2 * m + 4) * e) * (T(dS.abs()) @ q.abs())) + w * dk.abs() + z
        more = 1 + 2 * (u + w)
        hide = lambda x: x.masked_fill(blind, 0)  # rows without keys are exact
        worst = {"o": hide(more * o_worst), "lse": hide(L)[..., 0], "dq": hide(more * dq_worst), "dk": more * dk_worst,
                 "dv": more * dv_worst}

        # The variance of independent roundings.
        U, W, S = ROUNDING * (u * u + x * x), ROUNDING * w * w, s * s / 12
        E2 = (d * e * e + x * x) * scale * scale * (q.square() @ T(k.square())) + 4 * e * e * (scores.square() + 1)
        P2 = P.square()
        row = e * e * 4 * (finite.square() + 1)
        o_var = ((P2 * (U + E2 + n * e * e)) @ v.square() + (row + (P2 * E2).sum(-1, keepdim=True) + W) * o.square()
                 + S / sums.square() * (seen.double() @ v.square()) + S)
        dv_var = of_keys(T(P2 * (U + E2 + row + m * e * e)) @ g.square() + S * (T(seen.double()) @ g.square())) + W * dv.square() + S
        D2 = (d * e * e + x * x) * (g.square() @ T(v.square()))
        delta_var = ((P2 * (U + E2 + row) * dP.square() + P2 * D2).sum(-1, keepdim=True)
                     + ((W * o.square() + S + d * e * e * o.square()) * g.square()).sum(-1, keepdim=True)
                     + S / sums.square() * dP.square().sum(-1, keepdim=True))
        dS_var = (dS.square() * (2 * U + E2 + row + 4 * e * e) + P2 * (D2 + e * e * (dP.square() + delta.square()))
                  + S * ((dP - delta).square() + max(1, 1 / scale ** 2 if scale else 1)) * seen)
        dS2, s2 = dS.square(), scale * scale
        dq_var = (s2 * ((dS_var + n * e * e * dS2) @ k.square() + delta_var * (P @ k).square()) + (W + row) * dq.square() + S)
        dk_var = s2 * of_keys(T(dS_var + delta_var * P2 + m * e * e * dS2) @ q.square()) + W * dk.square() + S
        variance = {"o": hide(o_var), "lse": hide(row)[..., 0], "dq": hide(dq_var), "dk": dk_var, "dv": dv_var}
        exact = {"o": o, "lse": lse[..., 0], "dq": dq, "dk": dk, "dv": dv}
        return {part: (exact[part], worst[part], variance[part]) for part in PARTS}

    def judge(self, part, x, drawn):
        """(verdict, ratios): an empty verdict if x satisfies the rule, else a sentence; the ratios to both bounds.

        drawn: the inputs are independent and random, so that the statistical bound applies, too."""
        exact, worst, variance = self.exact[part], self.worst[part], self.variance[part]
        infinite = torch.isinf(exact)
        if not torch.equal(torch.isinf(x) & (x.sign() == exact.sign()), infinite) or torch.isnan(x).any():
            return (f"{int(torch.isnan(x).sum())} NaN, {int(torch.isinf(x).sum())} infinities where fp64 has "
                    f"{int(infinite.sum())}"), {}
        if x.numel() == 0:
            return "", {}
        error = (x.double().masked_fill(infinite, 0) - exact.masked_fill(infinite, 0)).abs()
        share = torch.where(error > 0, error / worst, 0.0)  # infinite where an exact 0 is missed
        at = int(share.argmax())
        ratios = {"worst": share.flatten()[at].item()}
        verdict = ""
        where = lambda at: f"row {at // x.shape[-1]}, column {at % x.shape[-1]} (fp64 {exact.flatten()[at].item():.6g})"
        if ratios["worst"] > 1:
            verdict = f"{where(at)}: error {error.flatten()[at].item():.3g} > {worst.flatten()[at].item():.3g}"
        if drawn and part != "lse":
            z2 = torch.where(error > 0, error.square() / variance, 0.0)
            rows = x.numel() / x.shape[-1]
            at = int(z2.argmax())
            ratios["mean"] = math.sqrt(z2.mean().item()) / (1.1 + 3 / math.sqrt(rows))
            ratios["largest"] = math.sqrt(z2.flatten()[at].item()) / 8
            if not verdict and ratios["mean"] > 1:
                verdict = f"errors are {ratios['mean']:.2f} times as large as roundings allow on average"
            if not verdict and ratios["largest"] > 1:
                verdict = f"{where(at)}: error {error.flatten()[at].item():.3g} is {8 * ratios['largest']:.1f} standard deviations"
        return verdict, ratios
