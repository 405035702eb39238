"""A recorded program is what it is without the recorder: each of these programs prints what it sees of its process, once bare
and once recorded. Output, exit status and files must be the same.

With TILESCOPE_STRESS=1 each program with PyTorch has a process of its own; otherwise they share a few.
"""
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import programs
import recordings
import system_programs

HAS_ENGINE = os.environ.get("TILESCOPE_HAS_ENGINE", "").upper() in ("1", "ON", "TRUE")
SINGLE = os.environ.get("TILESCOPE_STRESS") == "1"
GROUPS = 3

# What differs between two bare runs as well.
NOISE = [(re.compile(pattern), by) for pattern, by in (
    (r"0x[0-9a-f]+", "0x"), (r"\b(pid|Process|Thread)[- ]?\d+", r"\1"), (r"psm_\w+|pymp-\w+|tmp\w{8}", "TEMPORARY"),
    (r"\[W?[\w ]*\d\d:\d\d:\d\d[^]]*\]", "[TIME]"), (r"(?m)^[WE]\d{4} [\d:.]+ +\d+ ", "TIME "),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+", "TIME"),
    # The recorder's own modules are among them.
    (r"(?m)^import time: .*\n?", ""))]

# Runs programs one after the other as if each were alone.
SHARED = r'''
import contextlib, os, sys, traceback, warnings
for name in sys.argv[1:]:
    print("===", name)
    here = dict(__name__="__main__", __file__=name)
    try:
        with warnings.catch_warnings(), open(name) as file:
            exec(compile(file.read(), name, "exec"), here)
    except BaseException:
        text = traceback.format_exc()
        print(text)
    sys.stdout.flush()
'''


def without_noise(text):
    lines = [line for line in text.splitlines() if not line.startswith("tilescope record: ")]
    text = "\n".join(lines)
    for pattern, by in NOISE:
        text = pattern.sub(by, text)
    return text


@unittest.skipUnless(recordings.command_line() and HAS_ENGINE, "needs a build with the recorder")
class Programs(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name) / "work"

    def _ran(self, words, variables, recorded):
        """(standard output, standard error, exit status, files) of a program in a new folder with the same name."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "tmp").mkdir(parents=True)
        texts = {"seen.py": programs.SEEN, "shared.py": SHARED, **programs.FILES, **system_programs.FILES,
                 **{"system_%s.py" % name: text for name, text in system_programs.PROGRAMS.items()},
                 **{"alone_%s.py" % name: text for name, text in programs.ALONE.items()},
                 **{"torch_%s.py" % name: text for name, text in programs.TORCH.items()}}
        for name, text in texts.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        given = set(self.folder.rglob("*"))
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("TILESCOPE_") and name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
        environment.update(variables, TMPDIR=str(self.folder / "tmp"), XDG_CACHE_HOME=str(self.folder / "cache"), LC_ALL="C.UTF-8")
        output = pathlib.Path(self._folder.name) / "t.tscope"
        command = [recordings.command_line(), "record", "-o", str(output), "--counter-interval", "0", "--"] if recorded else []
        ran = subprocess.run(command + words, cwd=self.folder, env=environment, input="typed\n", capture_output=True, text=True,
                             timeout=300, check=False)
        output.unlink(missing_ok=True)
        files = {}
        for path in sorted(set(self.folder.rglob("*")) - given):
            name = str(path.relative_to(self.folder))
            if name.startswith("tmp/pymp-"):
                continue  # of a data loader whose worker fails: left, or not, in bare runs as well
            if path.is_file() and not path.is_symlink():
                # Bytecode holds times.
                files[name] = (oct(path.stat().st_mode), path.read_bytes() if "__pycache__" not in name else b"")
            elif "cache/" not in name:
                files[name] = (oct(path.lstat().st_mode), b"")
        files = {re.sub(r"\.\d+$", "", name): value for name, value in files.items()}
        return without_noise(ran.stdout), without_noise(ran.stderr), ran.returncode, files

    def _compare(self, name, words, variables=()):
        with self.subTest(program=name):
            bare = self._ran(words, dict(variables), False)
            recorded = self._ran(words, dict(variables), True)
            for what, one, other in zip(("standard output", "standard error", "exit status", "files"), bare, recorded):
                self.assertEqual(one, other, "%s of %s: bare, recorded" % (what, name))

    def _compare_each(self, prefix, texts):
        """Each in a process of its own. The first line of a program may be `#! ` and options of Python, or a PYTHONPATH."""
        for name, text in texts.items():
            options, variables = [], {}
            first = text.split("\n", 1)[0]
            if first.startswith("#! "):
                options = shlex.split(first[3:])
            elif first.startswith("#PYTHONPATH="):
                variables["PYTHONPATH"] = first.partition("=")[2]
            self._compare(name, [sys.executable, *options, "%s_%s.py" % (prefix, name)], variables)

    def test_programs_alone(self):
        self._compare_each("alone", programs.ALONE)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_programs_with_pytorch(self):
        if SINGLE:
            self._compare_each("torch", programs.TORCH)
            return
        names = list(programs.TORCH)
        for group in range(GROUPS):
            files = ["torch_%s.py" % name for name in names[group::GROUPS]]
            self._compare("group %d" % group, [sys.executable, "shared.py", *files])

    @unittest.skipUnless(SINGLE and importlib.util.find_spec("torch"), "takes long; packaging/dev stress programs runs it")
    def test_programs_of_the_system(self):
        self._compare_each("system", system_programs.PROGRAMS)

    def test_the_help_lists_what_differs(self):
        page = (recordings.SOURCE / "resources/help/record.md").read_text(encoding="utf-8")
        (self.folder).mkdir(parents=True)
        script = "import os; print(sorted(os.environ.items()))"

        def environment(command):
            ran = subprocess.run([*command, sys.executable, "-c", script], cwd=self.folder, capture_output=True, text=True, check=True)
            return dict(eval(ran.stdout))  # of this test's own program

        bare = environment([])
        recorded = environment([recordings.command_line(), "record", "-o", "t.tscope", "--"])
        different = {name for name in bare.keys() | recorded.keys() if bare.get(name) != recorded.get(name)}
        self.assertLessEqual(len(different), 6)
        listed = set(re.findall(r"^\| `(\w+)` \|", page.partition("## What a program can see")[2].partition("\n## ")[0], re.MULTILINE))
        self.assertEqual(different - {"_"}, listed)


if __name__ == "__main__":
    unittest.main()
