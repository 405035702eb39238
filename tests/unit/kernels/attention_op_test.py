"""What PyTorch asks of a custom op, of tilescope::attention loaded from Python. usage: attention_op_test.py LIBRARY"""
import itertools
import pathlib
import re
import sys
import unittest
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "gpu/attention"))
import error_bound

LIBRARY = sys.argv.pop()
torch.ops.load_library(LIBRARY)
attention = torch.ops.tilescope.attention


def inputs(queries, keys, d, heads=2, key_heads=2, dtype=torch.float64):
    return [torch.randn(1, h, n, d, dtype=dtype, requires_grad=True)
            for h, n in ((heads, queries), (key_heads, keys), (key_heads, keys))]


def defined(q, k, v, causal, scale=None):
    """(o, log-sum-exp) by definition, of 4-D tensors; rows without keys give 0 and -infinity."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * scale
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(scores.shape[-1] - scores.shape[-2])
        blind = ~seen.any(-1)[:, None]
        scores = scores.masked_fill(~seen & ~blind, -torch.inf)
        o = (scores.softmax(-1) @ v).masked_fill(blind, 0)
    else:
        o, blind = scores.softmax(-1) @ v, torch.zeros(1, 1, dtype=torch.bool)
    largest = scores.detach().amax(-1, keepdim=True)
    lse = ((scores - largest).exp().sum(-1, keepdim=True).log() + largest)[..., 0]  # logsumexp's tangents have no gradient
    return o, lse.masked_fill(blind[:, 0], -torch.inf)


class Recorder(TorchDispatchMode):
    """The names of the ops that run inside."""

    def __enter__(self):
        self.names = []
        return super().__enter__()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.names.append(str(op))
        return op(*args, **(kwargs or {}))


class AttentionOp(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def test_gradients_agree_with_finite_differences(self):
        for causal in (False, True):
            for queries, keys, heads in ((5, 5, 2), (3, 7, 2), (7, 3, 2), (4, 4, 6)):
                with self.subTest(causal=causal, queries=queries, keys=keys, heads=heads):
                    x = inputs(queries, keys, 4, heads)
                    self.assertTrue(torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, causal)[0], x))
                    self.assertTrue(torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, causal, -0.7)[0], x))

    def test_gradients_through_the_log_sum_exp_agree_with_finite_differences(self):
        for causal in (False, True):
            # A single key, alone or for one row, is a case of its own in the kernels.
            for queries, keys, heads in ((5, 5, 2), (3, 7, 2), (4, 4, 6), (3, 1, 2), (1, 1, 2)):
                for scale in (None, -0.7, 3000.0):
                    with self.subTest(causal=causal, queries=queries, keys=keys, heads=heads, scale=scale):
                        x = [y.detach() / (100 if scale == 3000 else 1) for y in inputs(queries, keys, 4, heads)]
                        x = [y.requires_grad_() for y in x]

                        def rows_with_keys(q, k, v):
                            o, lse = attention(q, k, v, causal, scale)
                            return o, lse[..., max(0, queries - keys):] if causal else lse
                        self.assertTrue(torch.autograd.gradcheck(rows_with_keys, x))

    def test_gradients_of_the_log_sum_exp_in_every_precision(self):
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 2e-3)):
            for causal, queries, keys in itertools.product((False, True), (1, 40, 300), (1, 33, 400)):
                with self.subTest(dtype=dtype, causal=causal, queries=queries, keys=keys):
                    x = [y.detach().to(dtype) for y in inputs(queries, keys, 32, 4)]
                    grad_o, grad_lse = torch.randn_like(x[0]), torch.randn(x[0].shape[:3])

                    def gradients(function, x, grad_o, grad_lse):
                        x = [y.clone().requires_grad_() for y in x]
                        o, lse = function(*x, causal)
                        return torch.autograd.grad((o, lse), x, (grad_o, grad_lse.masked_fill(lse == -torch.inf, 0)))
                    mine = gradients(attention, x, grad_o, grad_lse)
                    exact = gradients(defined, [y.double() for y in x], grad_o.double(), grad_lse.double())
                    for name, a, b in zip("qkv", mine, exact):
                        torch.testing.assert_close(a.double(), b, rtol=tolerance, atol=tolerance * b.abs().max().item(), msg=name)

    def test_the_log_sum_exp_alone_has_a_gradient(self):
        x = inputs(5, 6, 8)
        gradients = torch.autograd.grad(attention(*x, True)[1].sum(), x)
        exact = torch.autograd.grad(defined(*x, True)[1].sum(), x, allow_unused=True)
        torch.testing.assert_close(gradients[:2], exact[:2])
        self.assertTrue((gradients[2] == 0).all())

    def test_backward_is_one_op(self):
        for use_lse in (False, True):
            x = inputs(9, 12, 8, dtype=torch.float32)
            outputs = attention(*x, True)[:1 + use_lse]
            with Recorder() as recorder:
                torch.autograd.grad(outputs, x, [torch.ones_like(y) for y in outputs])
            ours = [name for name in recorder.names if "ones_like" not in name and "detach" not in name]
            self.assertEqual(ours, ["tilescope.attention_backward.default"])  # no gradient made up for the log-sum-exp

    def test_forward_mode_derivatives(self):
        for causal, scale, queries, keys, heads in itertools.product((False, True), (None, -0.7, 0.0), (3, 7), (5, 1), (2, 6)):
            with self.subTest(causal=causal, scale=scale, queries=queries, keys=keys, heads=heads):
                x = [y.detach() for y in inputs(queries, keys, 4, heads)]
                tangents = tuple(torch.randn_like(y) for y in x)
                mine = torch.func.jvp(lambda *y: attention(*y, causal, scale), tuple(x), tangents)
                exact = torch.func.jvp(lambda *y: defined(*y, causal, scale), tuple(x), tangents)
                blind = exact[0][1] == -torch.inf
                torch.testing.assert_close(mine[0], exact[0])
                torch.testing.assert_close(mine[1][0], exact[1][0])
                torch.testing.assert_close(mine[1][1], exact[1][1].masked_fill(blind, 0))

    def test_forward_mode_in_every_way_that_asks_for_it(self):
        x = [y.detach() for y in inputs(6, 7, 4)]
        tangent = torch.randn_like(x[1])
        want = torch.func.jvp(lambda k: defined(x[0], k, x[2], True)[0], (x[1],), (tangent,))[1]
        for grad_mode, requires_grad in itertools.product((True, False), (True, False)):
            with self.subTest(grad_mode=grad_mode, requires_grad=requires_grad), torch.set_grad_enabled(grad_mode):
                q = x[0].clone().requires_grad_(requires_grad)
                with torch.autograd.forward_ad.dual_level():
                    dual = torch.autograd.forward_ad.make_dual(x[1], tangent)
                    o, lse = attention(q, dual, x[2], True)
                    torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(o).tangent, want)
                    self.assertIsNotNone(torch.autograd.forward_ad.unpack_dual(lse).tangent)
        jacobian = torch.func.jacfwd(lambda k: attention(x[0], k, x[2], True)[0])(x[1])
        torch.testing.assert_close(jacobian, torch.func.jacrev(lambda k: defined(x[0], k, x[2], True)[0])(x[1]))
        duals = tuple(y.clone().requires_grad_() for y in x)
        self.assertTrue(torch.autograd.gradcheck(lambda *y: attention(*y, True)[0], duals, check_forward_ad=True))
        # A tangent has gradients of its own; a gradient has no tangent, and says so.
        k = x[1].clone().requires_grad_()
        with torch.autograd.forward_ad.dual_level():
            outputs = attention(x[0], torch.autograd.forward_ad.make_dual(k, tangent), x[2], True)
            mine = [torch.autograd.forward_ad.unpack_dual(y).tangent for y in outputs]
            second = torch.autograd.grad(sum(y.square().sum() for y in mine), k)
        exact = torch.autograd.functional.jvp(lambda k: defined(x[0], k, x[2], True), k, tangent, create_graph=True)[1]
        torch.testing.assert_close(mine, list(exact))
        torch.testing.assert_close(second, torch.autograd.grad(sum(y.square().sum() for y in exact), k))
        q = x[0].clone().requires_grad_()
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(torch.ones_like(q), torch.ones_like(q))
            with self.assertRaisesRegex(RuntimeError, "forward AD with tilescope::attention_backward"):
                torch.autograd.grad(attention(q, x[1], x[2], True)[0], q, dual)

    def test_forward_mode_takes_many_rows_a_block_at_a_time(self):
        q, k, v = (torch.randn(1, 2, 3000, 8) for _ in range(3))
        tangents = tuple(torch.randn_like(y) for y in (q, k, v))
        mine = torch.func.jvp(lambda *y: attention(*y, True), (q, k, v), tangents)
        exact = torch.func.jvp(lambda *y: defined(*y, True), (q, k, v), tangents)
        torch.testing.assert_close(mine[1], exact[1], rtol=1e-4, atol=1e-4)

    def test_scales_of_any_size(self):
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            for scale, causal in itertools.product((1e-300, 1e-30, 0.0, -3.0, 1e3, 1e9, 1e12, -1e12, 1e30, 1e300), (False, True)):
                with self.subTest(dtype=dtype, scale=scale, causal=causal):
                    x = [y.detach().to(dtype).requires_grad_() for y in inputs(9, 12, 8, dtype=torch.float32)]
                    o, lse = attention(*x, causal, scale)
                    exact = [y.detach().double().requires_grad_() for y in x]
                    ref, ref_lse = defined(*exact, causal, scale)
                    close = dict(rtol=1e-2, atol=1e-2) if dtype == torch.bfloat16 else dict(rtol=1e-4, atol=1e-4)
                    torch.testing.assert_close(o.double(), ref, **close)
                    torch.testing.assert_close(lse.double(), ref_lse.to(lse.dtype).double(), **close)
                    gradients = torch.autograd.grad(o.sum(), x)
                    self.assertTrue(all(y.isfinite().all() for y in gradients[2:]))
                    torch.testing.assert_close(gradients[2].double(), torch.autograd.grad(ref.sum(), exact)[2], **close)

    def test_large_scores_of_large_inputs(self):
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            with self.subTest(dtype=dtype):
                size = 1e2 if dtype == torch.float16 else 1e6
                q, k, v = (torch.randn(1, 2, 70, 16).mul(s).to(dtype).requires_grad_() for s in (size, size, 1))
                o, lse = attention(q, k, v, True)
                ref, _ = defined(q.double(), k.double(), v.double(), True)
                torch.testing.assert_close(o.double(), ref, rtol=1e-2, atol=1e-2)
                gradients = torch.autograd.grad(o.sum(), (q, k, v))
                self.assertTrue(all(x.isfinite().all() for x in gradients))

    def test_empty_inputs_give_what_scaled_dot_product_attention_gives(self):
        for device, (b, h, queries, keys), causal in itertools.product(
                ("cpu", "meta"), ((0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4), (2, 2, 3, 0), (2, 2, 0, 0)), (False, True)):
            with self.subTest(device=device, sizes=(b, h, queries, keys), causal=causal):
                x = [torch.randn(b, h, n, 8, device=device, requires_grad=True) for n in (queries, keys, keys)]
                o, lse = attention(*x, causal)
                gradients = torch.autograd.grad((o.sum() + lse.exp().sum()), x)
                self.assertEqual([y.shape for y in (o, lse, *gradients)],
                                 [x[0].shape, x[0].shape[:3], *(y.shape for y in x)])
                if device == "meta":
                    continue
                if h > 0:  # with no heads it ends in an integer division by zero
                    torch.testing.assert_close(o, torch.nn.functional.scaled_dot_product_attention(*x, is_causal=causal))
                self.assertTrue((lse == -torch.inf).all())
                self.assertTrue(all((y == 0).all() for y in gradients))
                tangents = torch.func.jvp(lambda *y: attention(*y, causal), tuple(y.detach() for y in x),
                                          tuple(torch.randn_like(y) for y in x))[1]
                self.assertTrue(all((y == 0).all() for y in tangents))
        no_heads = [torch.randn(2, h, 3, 8) for h in (0, 4, 4)]
        self.assertEqual(attention(*no_heads, True)[0].shape, (2, 0, 3, 8))
        flat = [torch.randn(2, n, 8) for n in (3, 0, 0)]
        self.assertTrue((attention(*flat, False)[0] == 0).all())

    def test_any_strides(self):
        for causal in (False, True):
            x = [torch.randn(2, 3, 8, n, requires_grad=True) for n in (20, 30, 30)]
            strided = [y.transpose(2, 3) for y in x]
            contiguous = [y.detach().contiguous().requires_grad_() for y in strided]
            o, lse = attention(*strided, causal)
            want, want_lse = attention(*contiguous, causal)
            self.assertTrue(torch.equal(o, want) and torch.equal(lse, want_lse))
            grad = torch.randn(2, 3, 8, 20).transpose(2, 3)
            for a, b in zip(torch.autograd.grad(o, x, grad), torch.autograd.grad(want, contiguous, grad)):
                self.assertTrue(torch.equal(a.transpose(2, 3), b))
            one = torch.randn(2, 3, 20, 1).expand(2, 3, 20, 8)
            torch.testing.assert_close(attention(one, one, one, causal), attention(*[one.contiguous()] * 3, causal))
            meta = [y.detach().to("meta") for y in strided]
            self.assertEqual(attention(*meta, causal)[0].stride(), o.stride())

    def test_transforms_of_torch_func_agree_with_scaled_dot_product_attention(self):
        func, sdpa = torch.func, torch.nn.functional.scaled_dot_product_attention
        for causal, (queries, keys, heads), dtype in itertools.product(
                (False, True), ((5, 5, 2), (6, 6, 4)), (torch.float64, torch.float32)):
            x = [y.detach() for y in inputs(queries, keys, 4, heads, dtype=dtype)]
            batched = [torch.stack([y, y.flip(-1), -y]) for y in x]
            weight = torch.randn(4, dtype=dtype)

            def mine(q, k, v):
                return attention(q, k, v, causal)[0]

            def theirs(q, k, v):
                return sdpa(q, k, v, is_causal=causal, enable_gqa=heads != 2)

            def loss(function):
                return lambda *y: (function(*y) * weight).square().sum()
            transforms = {
                "grad": lambda f: func.grad(loss(f), argnums=(0, 1, 2))(*x),
                "grad_and_value": lambda f: func.grad_and_value(loss(f), argnums=1)(*x),
                "grad of one of nested levels": lambda f: func.grad(
                    lambda s: func.grad(loss(f))(*x).mul(s).sum())(torch.ones((), dtype=dtype)),
                "vjp": lambda f: func.vjp(f, *x)[1](torch.ones_like(x[0])),
                "jacrev": lambda f: func.jacrev(f, argnums=(0, 1, 2))(*x),
                "jacrev in chunks": lambda f: func.jacrev(f, argnums=2, chunk_size=7)(*x),
                "vmap of grad": lambda f: func.vmap(func.grad(loss(f), argnums=(0, 1, 2)))(*batched),
                "vmap of grad by one argument": lambda f: func.vmap(
                    func.grad(loss(f), argnums=(0, 2)), in_dims=(0, None, None))(batched[0], *x[1:]),
                "vmap of grad along another dimension": lambda f: func.vmap(func.grad(loss(f)), in_dims=(2, 2, 2))(
                    *(y.movedim(0, 2) for y in batched)),
                "grad of vmap": lambda f: func.grad(lambda *y: loss(func.vmap(f))(*y))(*batched),
                "vmap of vmap of grad": lambda f: func.vmap(func.vmap(func.grad(loss(f))))(
                    *(torch.stack([y, 2 * y]) for y in batched)),
                "vmap of jacrev": lambda f: func.vmap(func.jacrev(f))(*batched),
                "functionalize": lambda f: func.grad(func.functionalize(loss(f)))(*x),
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a loop over the batch, and PyTorch says so
                for name, transform in transforms.items():
                    with self.subTest(transform=name, causal=causal, heads=heads, dtype=dtype):
                        torch.testing.assert_close(transform(mine), transform(theirs), rtol=1e-4, atol=1e-5)
                # The fused kernels of SDPA have no forward mode; its plain implementation does.
                with self.subTest(transform="jvp"), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                    tangents = tuple(torch.randn_like(y) for y in x)
                    for transform in (lambda f: func.jvp(f, tuple(x), tangents), lambda f: func.jacfwd(f, argnums=1)(*x),
                                      lambda f: func.vmap(lambda *y: func.jvp(f, y, tangents))(*batched)):
                        torch.testing.assert_close(transform(mine), transform(theirs), rtol=1e-4, atol=1e-5)

    def test_gradients_of_each_sample_of_a_module(self):
        class Attention(torch.nn.Module):
            def __init__(self, op):
                super().__init__()
                self.projection, self.op = torch.nn.Linear(8, 24), op

            def forward(self, x):
                return self.op(*self.projection(x).unflatten(-1, (3, 2, 4)).permute(1, 2, 0, 3).unsqueeze(1)).sum()
        samples, gradients = torch.randn(3, 7, 8), []
        state = Attention(None).state_dict()
        for op in (lambda *y: attention(*y, True)[0],
                   lambda *y: torch.nn.functional.scaled_dot_product_attention(*y, is_causal=True)):
            module = Attention(op)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gradients.append(torch.func.vmap(torch.func.grad(
                    lambda p, x: torch.func.functional_call(module, p, (x,))), in_dims=(None, 0))(state, samples))
        torch.testing.assert_close(*gradients)

    def test_vmap(self):
        x = [torch.randn(3, 1, 2, n, 8, dtype=torch.float64) for n in (5, 6, 6)]
        x = [y.requires_grad_() for y in x]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a loop over the batch, and PyTorch says so
            mine = torch.func.vmap(lambda *y: attention(*y, True))(*x)
        one_by_one = [torch.stack(y) for y in zip(*(attention(*y, True) for y in zip(*x)))]
        torch.testing.assert_close(list(mine), one_by_one)
        grads = [torch.randn_like(y) for y in mine]
        torch.testing.assert_close(torch.autograd.grad(mine, x, grads), torch.autograd.grad(one_by_one, x, grads))

    def test_opcheck(self):
        for dtype in (torch.float32, torch.bfloat16):
            torch.library.opcheck(attention, (*inputs(9, 12, 8, dtype=dtype), True), {"deterministic": True})
        strided = [x.detach().transpose(2, 3).contiguous().transpose(2, 3).requires_grad_() for x in inputs(9, 12, 8)]
        for x in (strided, inputs(9, 0, 8), inputs(0, 9, 8)):
            torch.library.opcheck(attention, (*x, True))

    def test_compiles_with_dynamic_shapes(self):
        def f(q, k, v):
            o, lse = attention(q, k, v, True)
            return o * 2 + lse[..., None]
        compiled = torch.compile(f, backend="aot_eager", dynamic=True, fullgraph=True)
        for n in (5, 9):
            x = inputs(n, n, 8, dtype=torch.float32)
            torch.testing.assert_close(compiled(*x), f(*x))
            torch.testing.assert_close(torch.autograd.grad(compiled(*x).square().sum(), x),
                                       torch.autograd.grad(f(*x).square().sum(), x))

    def test_exports(self):
        class Attention(torch.nn.Module):
            def forward(self, q, k, v):
                return attention(q, k, v, True)
        x = tuple(y.detach() for y in inputs(9, 9, 8, dtype=torch.float32))
        rows = torch.export.Dim("rows", min=2)
        program = torch.export.export(Attention(), x, dynamic_shapes=({2: rows},) * 3)
        more = tuple(y.detach() for y in inputs(13, 13, 8, dtype=torch.float32))
        torch.testing.assert_close(program.module()(*more), attention(*more, True))

    def test_the_error_bound_is_the_one_of_the_tests_in_cpp(self):
        def wave(heads, rows, start):
            return torch.sin(torch.arange(heads * rows * 4, dtype=torch.double) * 0.7 + start).reshape(1, heads, rows, 4)
        inputs = wave(2, 5, 0), wave(1, 7, 1), wave(1, 7, 2), wave(2, 5, 3)
        bound = error_bound.Bound("fp16", inputs, True, 0.5, torch.arange(10, dtype=torch.double).sin().reshape(1, 2, 5))
        want = (0.0201966069864, 0.000125229284913, 0.0354002289549, 0.0331339039588, 0.020114739751)  # error_bound_test.cpp
        for part, sum in zip(error_bound.PARTS, want):
            self.assertAlmostEqual(bound.worst[part].sum().item() / sum, 1, places=7, msg=part)

    def test_errors_are_value_errors(self):
        q, k, v = inputs(4, 4, 8)
        with self.assertRaisesRegex(ValueError, "k is torch.float32|k is Float and q is Double"):
            attention(q, k.float(), v, True)

    def test_readme_example(self):
        readme = (pathlib.Path(__file__).parents[3] / "README.md").read_text()
        example, = re.findall(r"```python\n(import torch\n.*?)```", readme, re.S)
        names = {}
        exec(example.replace("build/lib/libtilescope_ops.so", LIBRARY), names)
        self.assertEqual(names["o"].shape, names["q"].shape)
        self.assertTrue(all(names[x].grad.isfinite().all() for x in "qkv"))

    def test_second_derivatives_are_refused(self):
        x = inputs(4, 4, 8)
        gradient, = torch.autograd.grad(attention(*x, True)[0].sum(), x[:1], create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "not implemented"):
            gradient.sum().backward()


unittest.main()
