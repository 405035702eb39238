"""An attention kernel in Triton, whose lines and stall reasons run.py checks."""
import sys, time, torch, triton, triton.language as tl
@triton.jit
def flash_fwd(Q, K, V, O, sqb, sqm, N, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0); b = tl.program_id(1)
    rm = m * BM + tl.arange(0, BM); rd = tl.arange(0, D)
    q = tl.load(Q + b * sqb + rm[:, None] * sqm + rd[None, :])
    mi = tl.full((BM,), float("-inf"), tl.float32); li = tl.zeros((BM,), tl.float32); acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, N, BN):
        rn = n + tl.arange(0, BN)
        k = tl.load(K + b * sqb + rn[:, None] * sqm + rd[None, :])
        s = tl.dot(q, tl.trans(k)) * scale
        mn = tl.maximum(mi, tl.max(s, 1))
        p = tl.exp(s - mn[:, None])
        a = tl.exp(mi - mn)
        li = li * a + tl.sum(p, 1)
        v = tl.load(V + b * sqb + rn[:, None] * sqm + rd[None, :])
        acc = acc * a[:, None] + tl.dot(p.to(tl.bfloat16), v)
        mi = mn
    tl.store(O + b * sqb + rm[:, None] * sqm + rd[None, :], (acc / li[:, None]).to(tl.bfloat16))


n, repeats = 4096, int(sys.argv[1]) if len(sys.argv) > 1 else 400
q, k, v = (torch.randn(16, n, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
out = torch.empty_like(q)
block = int(sys.argv[2]) if len(sys.argv) > 2 else 64


def attend():
    flash_fwd[(n // 128, 16)](q, k, v, out, q.stride(0), q.stride(1), n, 0.125, D=64, BM=128, BN=block)


for _ in range(20):
    attend()
torch.cuda.synchronize()
start = time.time()
for _ in range(repeats):
    attend()
torch.cuda.synchronize()
print(f"flash_fwd_ms: {(time.time() - start) / repeats * 1e3:.5f}", flush=True)
