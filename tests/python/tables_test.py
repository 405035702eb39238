"""The tables of the package: their columns, types and units, with pandas and without."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import recordings
import tilescope

METHODS = ("runs kernels copies ranges ops api_calls memory samples counters steps losses environment collectives processes "
           "threads devices streams frames waits").split()
LONG = 2**62 + 1  # a double has no such number


def small(folder):
    """A run of two processes with a kernel, a collective, a step and what it does not know."""
    made = recordings.Made(pathlib.Path(folder) / "a.tscope")
    made.add("run", name="first", spec='{"batch": 4}', flags='["noisy: \\"why\\""]', peak_allocated=2**40, loss=1.5, status="ok",
             started=LONG)
    made.add("run", name="second", spec="no JSON", status="ok")
    for process in (0, 1):
        made.add("process", run=1, process=process, pid=100 + process, host="h", name="python", command_line="python train.py",
                 rank=process, world_size=2, clock=0, first_correlation=1000 * process)
        made.add("thread", run=1, thread=10 + process, name=made.text("main"), process=process, native=7)
        made.add("stream", run=1, device=process, stream=7, process=process, native=7, name="")
    launches = [made.add("launch", grid_x=3, grid_y=1, grid_z=1, block_x=128, block_y=1, block_z=1, cluster_x=1, cluster_y=1,
                         cluster_z=1, registers=registers, static_shared=16, dynamic_shared=1024, local=0) for registers in (40, 0)]
    name, short, path, step = (made.text(text) for text in ("void gemm<float>(int)", "gemm", "step/forward", "step"))
    made.add("kernel_name", id=name, short=short)
    for process, start in ((0, 100), (1, 120)):
        made.add("range", run=1, step=0, start=start, duration=100, name=step, path=step, thread=10 + process)
    for start, device, at_step in ((LONG, 0, None), (130, 1, 0), (110, 0, 0)):
        made.add("kernel", run=1, step=at_step, start=start, duration=20, name=name, path=path, launch=launches[device], device=device,
                 stream=7, queued=5 if at_step == 0 else None)
    made.add("copy", run=1, step=0, start=130, duration=10, name=made.text("memory"), kind=made.text("memcpy"),
             direction=made.text("host_to_device"), bytes=LONG, device=0, stream=7)
    made.add("collective", run=1, process=1, step=0, start=125, duration=30, op=made.text("all_reduce"), sequence=3)
    made.add("sample", run=1, step=0, kind="measure", phase="step", wall_ns=100)
    made.add("sample", run=1, step=1, kind="measure", phase="step", wall_ns=110, gpu_ns=90)
    return made.close()


class Tables(unittest.TestCase):
    pandas = False

    @classmethod
    def setUpClass(cls):
        # The file has no checksums, so the program would refuse to judge its steps.
        without_program = unittest.mock.patch("tilescope._recording.has_program", return_value=False)
        without_program.start()
        cls.addClassCleanup(without_program.stop)
        cls.folder = tempfile.TemporaryDirectory()
        cls.recording = tilescope.open(small(cls.folder.name), pandas=cls.pandas)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows(self, table):
        return list(table)

    def test_every_quantity_has_a_unit(self):
        for method in METHODS:
            table = getattr(self.recording, method)()
            units = table.attrs["units"]
            self.assertLessEqual(set(units), set(table.columns))
            for name in table.columns:
                expected = ("ns" if re.search(r"_ns$|^(start|end|duration|launched|started)$", name)
                            else "B" if re.search(r"^bytes$|^(peak|oom)_(?!phase)|_shared$|^(local|memory|allocated|reserved|before_backward)$",
                                                  name) else None)
                self.assertEqual(units.get(name), expected, "{}.{}".format(method, name))
        self.assertEqual(self.recording.kernels(by="name").attrs["units"]["percent"], "%")

    def test_kernels(self):
        first, second, last = self.rows(self.recording.kernels())
        self.assertEqual([first["start"], second["start"], last["start"]], [110, 130, LONG])
        self.assertEqual(last["end"], LONG + 20)
        self.assertEqual([first["step"], last["step"], first["launched"], last["launched"]], [0, None, 105, None])
        self.assertEqual([first[name] for name in ("name", "short_name", "path", "grid_x", "block_x", "dynamic_shared")],
                         ["void gemm<float>(int)", "gemm", "step/forward", 3, 128, 1024])
        self.assertEqual([first["registers"], second["registers"]], [40, None])

    def test_kernels_by_name(self):
        rows = self.rows(self.recording.kernels(by="name"))
        self.assertEqual([(row["name"], row["instances"], row["total_ns"], row["percent"]) for row in rows],
                         [("void gemm<float>(int)", 2, 40, 80), ("memory", 1, 10, 20)])

    def test_exact_integers_of_any_size(self):
        self.assertEqual([row["bytes"] for row in self.rows(self.recording.copies())], [LONG])

    def test_runs(self):
        first, second = self.rows(self.recording.runs())
        self.assertEqual([first[name] for name in ("spec", "flags", "peak_allocated", "loss")],
                         [{"batch": 4}, ['noisy: "why"'], 2**40, [1.5]])
        self.assertEqual([second[name] for name in ("spec", "peak_allocated", "loss")], [None, None, None])
        self.assertEqual([first["started"], second["started"]], [LONG, None])

    def test_a_step_is_about_its_own_process(self):
        rows = self.rows(self.recording.steps())
        # 20 ns of a kernel, and 10 ns of a copy behind it; the launch of the kernel began 5 ns before it. Then the host launches nothing.
        self.assertEqual([[row[name] for name in ("rank", "wall_ns", "gpu_busy_ns", "idle_launch_ns", "unexplained_ns")]
                          for row in rows], [[0, 100, 30, 65, 5], [1, 100, 20, 75, 5]])

    def test_processes(self):
        rows = self.rows(self.recording.processes())
        self.assertEqual([(row["run"], row["process"], row["rank"], row["name"]) for row in rows],
                         [(1, 0, 0, "python"), (1, 1, 1, "python"), (2, None, None, "Tilescope 0.1.0")])
        self.assertEqual([(row["op"], row["bytes"], row["sequence"]) for row in self.rows(self.recording.collectives())],
                         [("all_reduce", None, 3)])

    def test_a_run_without_rows_gives_an_empty_table_with_all_columns(self):
        for method in METHODS:
            if method not in ("runs", "processes"):
                whole, empty = (getattr(self.recording, method)(run) for run in (None, 2))
                self.assertEqual((len(empty), list(empty.columns)), (0, list(whole.columns)))


class WithoutPandas(unittest.TestCase):
    def test_a_table_gives_rows_and_columns(self):
        with tempfile.TemporaryDirectory() as folder:
            samples = tilescope.open(small(folder), pandas=False).samples()
        self.assertIsInstance(samples, tilescope.Table)
        self.assertEqual(samples["wall_ns"], [100, 110])
        self.assertEqual(samples["gpu_ns"], [None, 90])
        self.assertEqual([row["phase"] for row in samples], ["step", "step"])
        with self.assertRaises(KeyError):
            samples["colour"]

    def test_pandas_is_not_imported_until_it_is_needed(self):
        done = subprocess.run([sys.executable, "-c", "import sys, tilescope; sys.exit('pandas' in sys.modules)"])
        self.assertEqual(done.returncode, 0)

    def test_without_the_wheel_there_is_no_operator_library(self):
        with self.assertRaisesRegex(tilescope.Error, "has no programs; install the wheel"):
            tilescope.operator_library()

    def test_the_versions_agree(self):
        cmake = (recordings.SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertEqual(tilescope.__version__, re.search(r"project\(tilescope VERSION ([\d.]+)", cmake)[1])


@unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
class WithPandas(Tables):
    pandas = None

    def rows(self, table):
        import pandas

        return [{name: None if pandas.api.types.is_scalar(value) and pandas.isna(value) else value
                 for name, value in row.items()} for row in table.astype("object").to_dict("records")]

    def test_types(self):
        types = self.recording.kernels().dtypes.astype(str)
        self.assertEqual([types[name] for name in ("start", "duration", "step", "launched", "name")],
                         ["int64", "int64", "Int64", "Int64", "object"])
        empty = self.recording.kernels(2).dtypes.astype(str)
        self.assertEqual(dict(empty), dict(types))
        self.assertEqual(str(self.recording.runs()["trace_overhead"].dtype), "float64")

    def test_the_figures_are_those_without_pandas(self):
        files = [*recordings.STORED, *([recordings.imported()] if recordings.command_line() else [])]
        for file in files:
            for method in METHODS:
                with self.subTest(file=file.name, method=method):
                    plain = list(getattr(tilescope.open(file, pandas=False), method)())
                    self.assertEqual(self.rows(getattr(tilescope.open(file, pandas=True), method)()), plain)


if __name__ == "__main__":
    unittest.main()
