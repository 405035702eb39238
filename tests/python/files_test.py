"""Which files the package opens and which it refuses, and with which sentence."""
import os
import pathlib
import shutil
import sqlite3
import tempfile
import time
import unittest

import recordings
import tilescope


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def made(self, name="a.tscope"):
        made = recordings.Made(self.folder / name)
        made.add("run", name="first", status="ok")
        return made

    def assertRefused(self, path, *words):
        with self.assertRaises(tilescope.Error) as caught:
            tilescope.open(str(path))
        sentence = str(caught.exception)
        self.assertNotIn("\n", sentence)
        for word in (str(path), *words):
            self.assertIn(word, sentence)

    def test_path_may_be_a_path_object_or_bytes(self):
        path = self.made().close()
        for given in (path, pathlib.Path(path), os.fsencode(path)):
            self.assertEqual(len(tilescope.open(given).runs()), 1)

    def test_any_name_is_opened(self):
        for name in ("with space.tscope", "100 % ?mode=rwc#x.tscope", "Größe.tscope", "'quoted\".tscope", "a&b=c;d.tscope"):
            with self.subTest(name=name):
                path = self.made(name).close()
                self.assertEqual(list(tilescope.open(path, pandas=False).runs()["name"]), ["first"])
        self.assertEqual(len(list(self.folder.iterdir())), 5)

    def test_a_name_that_is_no_text_is_opened(self):
        path = os.path.join(os.fsencode(self.folder), b"\xff.tscope")
        try:
            shutil.copy(self.made().close(), path)
        except OSError as error:
            self.skipTest("this file system takes no such name: {}".format(error))
        self.assertEqual(len(tilescope.open(path).runs()), 1)

    def test_a_link_is_followed(self):
        link = self.folder / "link.tscope"
        link.symlink_to(self.made().close())
        self.assertEqual(len(tilescope.open(link).runs()), 1)

    def test_reading_changes_nothing_and_leaves_no_file(self):
        path = pathlib.Path(self.made().close())
        before = path.read_bytes(), path.stat().st_mtime_ns
        tilescope.open(path).kernels()
        self.assertEqual((path.read_bytes(), path.stat().st_mtime_ns), before)
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_what_is_no_file_is_refused(self):
        self.assertRefused(self.folder / "absent.tscope", "no such file")
        self.assertRefused(self.folder, "is a folder")
        (self.folder / "empty.tscope").touch()
        self.assertRefused(self.folder / "empty.tscope", "is empty")
        os.mkfifo(self.folder / "pipe.tscope")
        self.assertRefused(self.folder / "pipe.tscope", "is not a regular file")

    def test_files_of_other_programs_are_refused_and_not_touched(self):
        text = self.folder / "notes.txt"
        text.write_text("no recording\n" * 100)
        self.assertRefused(text, "not a Tilescope file", "name a .tscope file")
        short = self.folder / "short.tscope"
        short.write_text("x")
        self.assertRefused(short, "not a Tilescope file")
        other = self.folder / "other.sqlite"
        database = sqlite3.connect(str(other))
        database.execute("pragma journal_mode = wal")
        database.execute("create table t (x)")
        database.close()
        self.assertRefused(other, "is an SQLite database, but not Tilescope's")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"notes.txt", "short.tscope", "other.sqlite"})

    def test_a_newer_file_is_refused_with_the_version_of_its_program(self):
        made = self.made()
        made.database.execute("pragma user_version = 999")
        made.database.execute("update run set program = 'Tilescope 7.1.2'")
        newest = len(recordings.SCHEMA)
        self.assertRefused(made.close(), "Tilescope 7.1.2", "file version 999", "reads up to {}".format(newest))

    def test_a_newer_file_without_tables_that_we_know_is_refused(self):
        path = self.folder / "a.tscope"
        database = sqlite3.connect(str(path))
        database.execute("pragma application_id = {}".format(0x54534350))
        database.execute("pragma user_version = 999")
        database.close()
        self.assertRefused(path, "a newer Tilescope", "999")

    def test_a_file_without_a_version_is_refused(self):
        made = self.made()
        made.database.execute("pragma user_version = 0")
        self.assertRefused(made.close(), "damaged", "version 0")

    def test_a_foreign_schema_is_refused(self):
        for change, word in (("create table more (x)", "unknown table more"), ("drop view kernels", "view kernels is missing"),
                             ("create trigger t after insert on run begin delete from run; end", "unknown trigger t"),
                             ("drop view runs; create view runs as select 1 as run", "view runs differs")):
            with self.subTest(change=change):
                made = self.made(word.replace(" ", "-") + ".tscope")
                made.database.executescript(change)
                self.assertRefused(made.close(), "not a Tilescope schema", word)

    def test_a_cut_file_is_refused(self):
        path = self.made().close()
        size = os.path.getsize(path)
        os.truncate(path, size - 100)
        self.assertRefused(path, "it was cut to {} of its {} bytes".format(size - 100, size))
        os.truncate(path, size // 2)
        self.assertRefused(path, "the file is damaged")

    def test_an_overwritten_page_is_reported(self):
        path = shutil.copy(str(recordings.STORED[0]), str(self.folder / "a.tscope"))
        with open(path, "r+b") as file:
            for page in range(1, os.path.getsize(path) // 4096):
                file.seek(page * 4096)
                file.write(b"\xff" * 4096)
        with self.assertRaisesRegex(tilescope.Error, "the file is damaged"):
            tilescope.open(path).kernels()

    def test_missing_rows_are_reported(self):
        made = self.made()
        made.add("sample", run=1, step=0, kind="measure", phase="step", wall_ns=5)
        made.add("sample", run=1, step=1, kind="measure", phase="step", wall_ns=6)
        made.database.execute("delete from sample where step = 1")
        recording = tilescope.open(made.close())
        for run in (None, 1):
            with self.assertRaisesRegex(tilescope.Error, "table sample should hold 2 rows and holds 1"):
                recording.samples(run)

    def test_a_value_of_another_type_is_reported(self):
        made = self.made()
        made.add("sample", run=1, step=0, kind="measure", phase="step", wall_ns="long")
        with self.assertRaisesRegex(tilescope.Error, "a value of the column wall_ns has the wrong type"):
            tilescope.open(made.close()).samples()

    def test_a_run_that_does_not_exist_is_refused(self):
        made = self.made()
        made.add("run")
        recording = tilescope.open(made.close())
        for method in (recording.runs, recording.kernels, recording.steps, recording.processes):
            with self.assertRaisesRegex(tilescope.Error, "there is no run 3; the file has runs 1 to 2"):
                method(run=3)
        with self.assertRaisesRegex(ValueError, "can be 'name'"):
            recording.kernels(by="colour")


class WhileItIsWritten(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.made = recordings.Made(self.folder / "a.tscope")
        self.addCleanup(self.made.close)
        self.made.database.execute("pragma journal_mode = wal")
        self.made.add("run", status="running")

    def sample(self, step):
        self.made.add("sample", run=1, step=step, kind="measure", phase="step", wall_ns=5)

    def test_what_is_committed_is_read_and_the_next_call_sees_more(self):
        recording = tilescope.open(self.made.path)
        self.sample(0)
        self.assertEqual(len(recording.samples()), 1)
        self.made.database.execute("begin")
        self.sample(1)
        self.assertEqual(len(recording.samples()), 1)
        self.made.database.execute("commit")
        self.assertEqual(len(recording.samples()), 2)

    def test_the_writer_can_seal_the_file(self):
        recording = tilescope.open(self.made.path)
        recording.runs()
        self.assertEqual(self.made.database.execute("pragma journal_mode = delete").fetchone()[0], "delete")
        self.assertEqual(len(recording.runs()), 1)

    def test_a_run_is_running_while_its_writer_lives(self):
        def status():
            runs = tilescope.open(self.made.path, pandas=False).runs()
            return runs["status"] + runs["reason"]

        self.assertEqual(status(), ["interrupted", "the writing process was killed"])
        lock = self.folder / "a.tscope-lock"
        lock.write_text("1 host {}\n".format(time.time_ns()))
        self.assertEqual(status(), ["running", ""])
        lock.write_text("1 host {}\n".format(time.time_ns() - 60 * 10**9))
        self.assertEqual(status(), ["interrupted", "the writing process was killed"])

    def test_a_copy_in_a_folder_that_may_not_be_written_is_read(self):
        self.made.database.execute("pragma wal_checkpoint(truncate)")
        folder = self.folder / "read only"
        folder.mkdir()
        copy = folder / "a.tscope"
        shutil.copy(str(self.made.path), str(copy))
        copy.chmod(0o444)
        folder.chmod(0o555)
        self.addCleanup(folder.chmod, 0o755)
        if os.access(str(folder), os.W_OK):
            self.skipTest("this user may write everywhere")
        self.assertEqual(len(tilescope.open(copy).runs()), 1)


if __name__ == "__main__":
    unittest.main()
