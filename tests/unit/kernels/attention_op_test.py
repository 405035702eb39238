"""What PyTorch asks of a custom op, of tilescope::attention loaded from Python. usage: attention_op_test.py LIBRARY"""
import pathlib
import re
import sys
import unittest

import torch
from torch.utils._python_dispatch import TorchDispatchMode

LIBRARY = sys.argv.pop()
torch.ops.load_library(LIBRARY)
attention = torch.ops.tilescope.attention


def inputs(queries, keys, d, heads=2, key_heads=2, dtype=torch.float64):
    return [torch.randn(1, h, n, d, dtype=dtype, requires_grad=True)
            for h, n in ((heads, queries), (key_heads, keys), (key_heads, keys))]


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

    def test_backward_is_one_op(self):
        x = inputs(9, 12, 8, dtype=torch.float32)
        o, _ = attention(*x, True)
        with Recorder() as recorder:
            torch.autograd.grad(o, x, torch.ones_like(o))
        ours = [name for name in recorder.names if "ones_like" not in name and "detach" not in name]
        self.assertEqual(ours, ["tilescope.attention_backward.default"])  # no gradient made up for the log-sum-exp

    def test_opcheck(self):
        for dtype in (torch.float32, torch.bfloat16):
            torch.library.opcheck(attention, (*inputs(9, 12, 8, dtype=dtype), True), {"deterministic": True})

    def test_compiles_with_dynamic_shapes(self):
        def f(q, k, v):
            return attention(q, k, v, True)[0] * 2
        compiled = torch.compile(f, backend="aot_eager", dynamic=True, fullgraph=True)
        for n in (5, 9):
            x = inputs(n, n, 8, dtype=torch.float32)
            torch.testing.assert_close(compiled(*x), f(*x))

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
