"""Records the process itself: tilescope.record, range and step."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import recordings
import tilescope
from tilescope import _record

HAS_ENGINE = os.environ.get("TILESCOPE_HAS_ENGINE", "").upper() in ("1", "ON", "TRUE")


@unittest.skipUnless(recordings.command_line() and HAS_ENGINE, "needs a build with the recorder")
class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_program(self, text, command=()):
        path = os.path.join(self.folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("import tilescope\n" + text)
        ran = subprocess.run([*command, sys.executable, path], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def open(self, name="x.tscope"):
        return tilescope.open(os.path.join(self.folder, name), pandas=False)

    STEPS = ("    for i in range(3):\n"
             "        with tilescope.range('load'):\n"
             "            pass\n"
             "        tilescope.step()\n")

    def test_ranges_and_steps(self):
        ran = self.run_program("with tilescope.record('x.tscope'):\n" + self.STEPS +
                               "with tilescope.range('after'):\n    pass\n"
                               "print(sorted(name for name in __import__('os').listdir('.')))\n")
        self.assertEqual(len(self.open().steps()), 3)
        names = self.open().ranges()["name"]
        self.assertEqual(names.count("load"), 3)
        self.assertNotIn("after", names)
        self.assertIn("['program.py', 'x.tscope']", ran.stdout)

    def test_decorator_passes_results_and_exceptions_on(self):
        self.run_program("@tilescope.range('half')\n"
                         "def half(x):\n"
                         "    return 8 // x\n"
                         "with tilescope.record('x.tscope'):\n"
                         "    assert half(2) == 4\n"
                         "    try:\n"
                         "        half(0)\n"
                         "    except ZeroDivisionError:\n"
                         "        pass\n")
        self.assertEqual(self.open().ranges()["name"].count("half"), 2)

    def test_an_exception_keeps_the_recording(self):
        self.run_program("try:\n    with tilescope.record('x.tscope'):\n" + "".join("    " + line for line in self.STEPS.splitlines(True)) +
                         "        raise KeyError\nexcept KeyError:\n    pass\n")
        self.assertEqual(len(self.open().steps()), 3)

    def test_a_process_is_recorded_once(self):
        ran = self.run_program("with tilescope.record('x.tscope'):\n" + self.STEPS +
                               "try:\n    with tilescope.record('y.tscope'):\n        pass\n"
                               "except tilescope.Error as error:\n    print(error)\n")
        self.assertIn("this process was recorded before", ran.stdout)

    def test_another_tool_is_refused(self):
        ran = self.run_program("import os\nos.environ['NVTX_INJECTION64_PATH'] = '/opt/other.so'\n"
                               "try:\n    with tilescope.record('x.tscope'):\n        pass\n"
                               "except tilescope.Error as error:\n    print(error)\n")
        self.assertIn("/opt/other.so; unset it", ran.stdout)

    def test_within_tilescope_record(self):
        ran = self.run_program("with tilescope.record('x.tscope'):\n" + self.STEPS,
                               [recordings.command_line(), "record", "-o", "outer.tscope", "--"])
        self.assertIn("is being recorded already", ran.stderr)
        self.assertEqual(len(self.open("outer.tscope").steps()), 3)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_modules_of_pytorch_that_was_imported_before(self):
        self.run_program("import torch\n"
                         "model = torch.nn.Sequential(torch.nn.Linear(4, 4))\n"
                         "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                         "with tilescope.record('x.tscope'):\n"
                         "    for i in range(2):\n"
                         "        model(torch.ones(1, 4)).sum().backward()\n"
                         "        optimizer.step()\n"
                         "model(torch.ones(1, 4))\n")
        self.assertEqual(len(self.open().steps()), 2)
        names = self.open().ranges()["name"]
        self.assertEqual(names.count("Sequential"), 2)
        self.assertEqual(names.count("optimizer"), 2)


class Cuda(unittest.TestCase):
    def test_cuda_may_be_used_for_the_first_time_in_the_block(self):
        def of(version, initialized, driver):
            cuda = types.SimpleNamespace(is_initialized=lambda: initialized)  # has no is_available: CUDA must not be asked
            torch = types.SimpleNamespace(cuda=cuda, version=types.SimpleNamespace(cuda=version))
            with mock.patch.dict(sys.modules, torch=torch), mock.patch.object(_record, "_DRIVERS", (driver,)):
                return _record._has_cuda()

        self.assertTrue(of("13.0", False, os.devnull))
        self.assertTrue(of("13.0", True, "/no/driver"))
        self.assertFalse(of("13.0", False, "/no/driver"))
        self.assertFalse(of(None, False, os.devnull), "a build for other processors")


class Outside(unittest.TestCase):
    def test_nothing_happens(self):
        with tilescope.range("x") as same:
            self.assertIsNotNone(same)
        self.assertIsNone(tilescope.step())


if __name__ == "__main__":
    unittest.main()
