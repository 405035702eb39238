"""Runs the examples of resources/help/python.md as they are written, with and without pandas."""
import contextlib
import importlib.util
import io
import os
import re
import shutil
import sys
import unittest

import recordings

PAGE = recordings.SOURCE / "resources/help/python.md"
NEEDS_PANDAS = "With pandas"  # the section whose examples do
NEEDS_RECORDER = "Recording"  # once in a process


def examples():
    """(section, first line, code) of each example."""
    section, code, start = "", None, 0
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            section = line[3:]
        elif line == "```python":
            code, start = [], number + 1
        elif line == "```":
            yield section, start, "\n".join(code) + "\n"
            code = None
        elif code is not None:
            code.append(line)


@unittest.skipUnless(recordings.command_line(), "needs a build: TILESCOPE_PROGRAM names no program")
class Examples(unittest.TestCase):
    def setUp(self):
        folder = recordings.folder() / "page"
        folder.mkdir(exist_ok=True)
        shutil.copy(str(recordings.imported()), str(folder / "a.tscope"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(str(folder))

    def follow(self, wanted):
        """Runs examples one after the other. A comment behind a print() is what it prints."""
        names, ran = {}, 0
        for section, line, code in examples():
            if not wanted(section):
                continue
            with self.subTest(line=line):
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile("\n" * (line - 1) + code, str(PAGE), "exec"), names)
                ran += 1
                for expected in re.findall(r"^print\(.*\)  # (.*)$", code, re.M):
                    self.assertIn(expected, printed.getvalue().splitlines())
                if "print(" in code:
                    self.assertTrue(printed.getvalue().strip(), "prints nothing")
        return ran

    def test_without_pandas(self):
        loaded = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "pandas"}
        self.addCleanup(sys.modules.update, loaded)
        self.addCleanup(sys.modules.pop, "pandas", None)
        sys.modules["pandas"] = None  # importing it fails
        self.assertEqual(self.follow(lambda section: section != NEEDS_PANDAS), 4)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_with_pandas(self):
        self.assertEqual(self.follow(lambda section: section != NEEDS_RECORDER), 7)


if __name__ == "__main__":
    unittest.main()
