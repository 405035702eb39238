"""`tilescope export --arrow`: the tables of the package as Arrow files, here by a stand-in for PyArrow that writes JSON.

tests/exchange/arrow_check.py reads the files of the real PyArrow, by hand.
"""
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unittest

import recordings
import tilescope
from tilescope import _arrow

HERE = pathlib.Path(__file__).resolve().parent
STAND_IN = str(HERE / "fake_pyarrow")


def python(folder, stand_in):
    """A Python with the stand-in, or one without any PyArrow."""
    program = pathlib.Path(folder) / ("python-with" if stand_in else "python-without")
    # -S leaves out site-packages, and with them a real PyArrow.
    program.write_text("#!/bin/sh\n{}exec {} -S \"$@\"\n".format(
        "PYTHONPATH={} ".format(STAND_IN) if stand_in else "unset PYTHONPATH; ", sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


class HomeFolders(unittest.TestCase):
    def test_texts_name_nobody_as_in_all_exports(self):
        for text, shown in json.loads((HERE.parent / "data/home_folders.json").read_text(encoding="utf-8")):
            self.assertEqual(_arrow.without_homes(text, "/data/ada"), shown, text)


@unittest.skipUnless(recordings.command_line(), "without the program tilescope")
class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.file = recordings.imported()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def export(self, *words, stand_in=True):
        return subprocess.run([recordings.command_line(), "export", str(self.file), *words], text=True, capture_output=True,
                              cwd=self.folder, env=dict(os.environ, TILESCOPE_PYTHON=python(self.folder, stand_in)))

    def table(self, folder, name):
        return json.loads((self.folder / folder / (name + ".arrow")).read_text(encoding="utf-8"))

    def test_each_table_has_the_rows_of_the_package(self):
        done = self.export("--run", "1", "--arrow", "tables")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        recording = tilescope.Recording(self.file, False)
        told = dict(each.split(": ") for each in done.stdout.split("rows of ")[1].split(" -> ")[0].split(", "))
        for name, method in _arrow.TABLES:
            expected = getattr(recording, method)(1)
            written = self.table("tables", name)
            columns = [column for column in expected.columns if column not in _arrow.IDENTITY]
            self.assertEqual(int(told[name]), len(expected), name)
            self.assertEqual(list(written["types"]), columns, name)
            self.assertEqual(written["units"], {column: unit for column, unit in expected.attrs["units"].items() if column in columns})
            if name != "runs":  # whose JSON stays text
                self.assertEqual(written["rows"], [{column: row[column] for column in columns} for row in expected], name)
        self.assertGreater(int(told["kernels"]), 100)
        self.assertIsInstance(json.loads(self.table("tables", "runs")["rows"][0]["flags"]), list)

    def test_hosts_and_home_folders_are_left_out(self):
        file = self.folder / "own.tscope"
        shutil.copy(self.file, file)
        with contextlib.closing(sqlite3.connect(file)) as database, database:
            database.execute("update process set host = 'ada-laptop', command_line = 'python /home/ada/train.py'")
            database.execute("update string set text = '/home/ada/train.py' where id = (select min(name) from range)")
        for words, host in ((["--with-identity"], True), ([], False)):
            done = subprocess.run([recordings.command_line(), "export", str(file) + ":1", "--arrow", "own", *words], text=True,
                                  capture_output=True, cwd=self.folder,
                                  env=dict(os.environ, TILESCOPE_PYTHON=python(self.folder, True)))
            self.assertEqual(done.returncode, 0, done.stderr)
            texts = "".join(path.read_text(encoding="utf-8") for path in (self.folder / "own").glob("*.arrow"))
            self.assertEqual("ada-laptop" in texts, host)
            self.assertEqual("/home/ada" in texts, host)
            self.assertIn("/home/ada/train.py" if host else "~/train.py", [row["name"] for row in self.table("own", "ranges")["rows"]])

    def test_without_pyarrow_one_sentence_says_so(self):
        done = self.export("--arrow", "none", stand_in=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("Arrow files are written by PyArrow, and this Python lacks it", done.stderr)
        self.assertIn("-m pip install pyarrow", done.stderr)
        self.assertFalse((self.folder / "none").exists())

    def test_nothing_is_imported_from_the_current_folder(self):
        (self.folder / "pyarrow.py").write_text("open('imported', 'w')\n")
        try:
            self.assertEqual(self.export("--arrow", "none", stand_in=False).returncode, 4)
            self.assertFalse((self.folder / "imported").exists())
        finally:
            (self.folder / "pyarrow.py").unlink()

    def test_a_missing_python_is_named(self):
        done = subprocess.run([recordings.command_line(), "export", str(self.file), "--arrow", "none"], text=True, capture_output=True,
                              cwd=self.folder, env=dict(os.environ, TILESCOPE_PYTHON="/nonexistent/python3"))
        self.assertEqual(done.returncode, 4)
        self.assertIn("/nonexistent/python3", done.stderr)


if __name__ == "__main__":
    unittest.main()
