"""The package reads what `tilescope show` shows, from files of every version."""
import collections
import json
import sqlite3
import subprocess
import unittest
import unittest.mock
import warnings

import recordings
import tilescope

VIEWS = {"kernels": "kernels", "copies": "copies", "ranges": "ranges", "ops": "ops", "api_calls": "api_calls",
         "memory": "allocations", "samples": "samples", "threads": "threads", "collectives": "collectives"}
RUN_FIELDS = ("run", "uid", "name", "workload", "status", "parameters", "before_backward", "peak_allocated", "peak_reserved",
              "trace_overhead", "loss")


def files():
    more = [recordings.imported(), recordings.recorded()] if recordings.command_line() else []
    return [*recordings.STORED, *filter(None, more)]


def shown(file, *words):
    made = subprocess.run([recordings.command_line(), "show", str(file), *map(str, words), "--format", "json"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if made.returncode != 0:
        raise AssertionError(made.stderr)
    return json.loads(made.stdout)


def opened(file):
    return tilescope.open(str(file), pandas=False)


class EachVersion(unittest.TestCase):
    def test_the_data_has_old_files(self):
        self.assertIn(1, [opened(file).version for file in recordings.STORED])

    def test_events_are_those_of_the_files_own_views(self):
        for file in files():
            database = sqlite3.connect("file:{}?mode=ro".format(file), uri=True)
            database.row_factory = sqlite3.Row
            for method, view in VIEWS.items():
                columns = [row["name"] for row in database.execute("select name from pragma_table_info(?)", (view,))]
                if not columns:
                    continue  # an older file, without the view
                # Later versions add columns, and give others a value in older files.
                columns = [name for name in columns if name != "native"]
                with self.subTest(file=file.name, method=method):
                    own = [tuple(row) for row in database.execute("select {} from {}".format(", ".join(columns), view))]
                    table = getattr(opened(file), method)()
                    self.assertLessEqual(set(columns), set(table.columns))
                    # A view tells 0 where the registers of a kernel are unknown.
                    rows = [tuple(row[name] or 0 if name == "registers" else row[name] for name in columns) for row in table]
                    self.assertEqual(sorted(rows, key=repr), sorted(own, key=repr))
                    of_runs = [row for run in opened(file).runs()["run"] for row in getattr(opened(file), method)(run)]
                    self.assertEqual(of_runs, list(table))
            database.close()

    def test_events_are_in_start_order(self):
        for file in files():
            with self.subTest(file=file.name):
                kernels = opened(file).kernels()
                starts = list(zip(kernels["run"], kernels["start"]))
                self.assertEqual(starts, sorted(starts))

    def test_readings_of_counters_have_the_figures_of_their_tracks(self):
        for file in files():
            database = sqlite3.connect("file:{}?mode=ro".format(file), uri=True)
            if not database.execute("select 1 from sqlite_master where name = 'counter_tracks'").fetchall():
                database.close()
                continue  # an older file
            tracks = database.execute("select run, process, device, name, unit, sum(samples), min(minimum), max(maximum), min(start), "
                                      "max(end) from counter_tracks group by 1, 2, 3, 4, 5").fetchall()
            database.close()
            readings = collections.defaultdict(list)
            for row in opened(file).counters():
                readings[tuple(row[name] for name in ("run", "process", "device", "name", "unit"))].append(row)
            with self.subTest(file=file.name):
                self.assertEqual(len(tracks), len(readings))
                for *of, samples, minimum, maximum, start, end in tracks:
                    rows = readings[tuple(of)]
                    values = [row["value"] for row in rows]
                    self.assertEqual((len(rows), min(values), max(values)), (samples, minimum, maximum))
                    self.assertEqual((rows[0]["start"], rows[-1]["end"]), (start, end))
                    # Each holds until the next.
                    self.assertEqual([row["end"] for row in rows[:-1]], [row["start"] for row in rows[1:]])


@unittest.skipUnless(recordings.command_line(), "needs a build: TILESCOPE_PROGRAM names no program")
class SameAsShow(unittest.TestCase):
    maxDiff = 4000

    def check_each_run(self, check):
        for file in files():
            recording = opened(file)
            for run in recording.runs()["run"]:
                with self.subTest(file=file.name, run=run):
                    check(recording, run, file)

    def test_runs(self):
        for file in files():
            with self.subTest(file=file.name):
                runs = list(opened(file).runs())
                self.assertEqual([{name: row[name] for name in RUN_FIELDS} for row in runs],
                                 [{name: row[name] for name in RUN_FIELDS} for row in shown(file, "runs")])
                for row, other in zip(runs, shown(file, "runs")):
                    self.assertEqual(row["spec"], other["params"])
                    self.assertEqual(row["flags"], other["flags"])
                    self.assertEqual([row[name] or None for name in ("reason", "device", "note", "tag")],
                                     [other[name] for name in ("reason", "device", "note", "tag")])
                    self.assertEqual((row["duration"] or 0) / 1e9, other["seconds"])
                    self.assertEqual(row["oom_requested"], (other["oom"] or {}).get("requested"))

    def test_samples(self):
        for file in files():
            with self.subTest(file=file.name):
                ofProcess = ("rank", "process", "pid", "typical", "why")
                expected = [{name: value for name, value in row.items() if name not in ofProcess} for row in shown(file, "samples")]
                self.assertEqual(list(opened(file).samples()), expected)

    def test_losses(self):
        for file in files():
            with self.subTest(file=file.name):
                losses = [{**row, "detail": row["detail"] or None} for row in opened(file).losses()]
                self.assertEqual(sorted(losses, key=repr), sorted(shown(file, "losses"), key=repr))

    def test_opening_warns_of_losses(self):
        for file in files():
            with self.subTest(file=file.name), warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                opened(file)
                lost = [row for row in shown(file, "losses") if row["severity"] != "info"]
                self.assertEqual(len(seen), 1 if lost else 0)
                if lost:
                    self.assertIs(seen[0].category, tilescope.LossWarning)
                    self.assertTrue(any(row["detail"] in str(seen[0].message) for row in lost))

    def test_steps(self):
        for file in files():
            with self.subTest(file=file.name):
                expected = [{name: value for name, value in row.items() if name not in ("why", "typical", "type", "source")} for row in shown(file, "steps")]
                found = [{name: row[name] for name in row if name not in ("start", "end")} for row in opened(file).steps()]
                self.assertEqual(found, expected)

    def test_steps_without_a_program(self):
        for file in files():
            with self.subTest(file=file.name), unittest.mock.patch("tilescope._recording.has_program", return_value=False):
                expected = [None if row["verdict"] in ("GPU-bound", "launch-bound", "data-bound", "rank-bound") else row["verdict"]
                            for row in shown(file, "steps")]
                self.assertEqual([row["verdict"] for row in opened(file).steps()], expected)

    def test_paths(self):
        for file in files():
            with self.subTest(file=file.name):
                recording = opened(file)
                for run in recording.runs():
                    found = list(recording.paths(run["run"]))
                    expected = [{name: row[name] for name in found[0]} for row in shown(file, "path", "--run", run["run"])] if found else []
                    self.assertEqual(found, expected)

    def test_waiting(self):
        file = recordings.waited()
        for group in ("line", "place", "cause") if file else ():
            expected = [row for run in (1, 2, 3) for row in shown(file, "waiting", "--run", run, "--group", group)]
            self.assertGreater(len(expected), 3)
            for row in expected:
                row["low_ns"], row["high_ns"] = row.pop("interval_ns") or (None, None)
            self.assertEqual(list(opened(file).waiting(group=group)), expected)
        other = opened(recordings.STORED[-1])
        self.assertEqual(len(other.waiting(1)), 0)
        with self.assertRaisesRegex(tilescope.Error, "cannot be grouped"):
            other.waiting(group="colour")

    def test_generation(self):
        file = recordings.generated()
        for group in ("iteration", "type", "batch") if file else ():
            expected = shown(file, "generation", "--run", 1, "--group", group)
            self.assertGreater(len(expected), 1)
            self.assertEqual(list(opened(file).generation(group=group)), expected)
        self.assertEqual(len(opened(recordings.STORED[-1]).generation(1)), 0)
        with self.assertRaisesRegex(tilescope.Error, "cannot be grouped"):
            opened(recordings.STORED[-1]).generation(group="colour")

    def test_environment(self):
        def check(recording, run, file):
            rows = [{"key": row["key"], "value": row["value"], "unit": row["unit"] or None}
                    for row in recording.environment(run)]
            # The command line begins with the contents of an imported run, which it counts; the file does not store them.
            stored = [row for row in shown(file, "environment", "--run", run)
                      if row["key"] != "missing" and not row["key"].startswith("contents.")]
            self.assertEqual(rows, stored)

        self.check_each_run(check)

    def test_kernels_by_name(self):
        compared = []

        def check(recording, run, file):
            described = ("family", "does", "short_name", "rank", "process", "pid")
            expected = [{name: value for name, value in row.items() if name not in described}
                        for row in shown(file, "kernels", "--run", run)]
            table = recording.kernels(run, by="name")
            found = [{name: row[name] for name in row if name not in (*described, "run")} for row in table]
            self.assertEqual(sorted(table["total_ns"], reverse=True), table["total_ns"])
            self.assertEqual(sorted(found, key=repr), sorted(expected, key=repr))
            compared.extend(found)

        self.check_each_run(check)
        self.assertGreater(len(compared), 100)

    def test_ops(self):
        def check(recording, run, file):
            whole = recording.runs(run)["workload"] == ["trace"]
            counts = collections.Counter(op["name"] for op in recording.ops(run) if whole or op["step"] is not None)
            self.assertEqual(counts, {row["name"]: row["instances"] for row in shown(file, "ops", "--run", run)})

        self.check_each_run(check)

    def test_memory(self):
        def check(recording, run, file):
            expected = shown(file, "memory", "--run", run)
            memory = list(recording.memory(run))
            self.assertEqual(len(memory), len(expected))
            if memory:
                names = ("action", "bytes", "address", "allocated", "category", "path")
                self.assertEqual([(row["start"], *(row[name] for name in names)) for row in memory],
                                 [(row["start_ns"], *(row[name] for name in names)) for row in expected])
                # `t_ns` counts from the first event of any kind.
                first = memory[0]["start"] - expected[0]["t_ns"]
                self.assertEqual({row["start_ns"] - row["t_ns"] for row in expected}, {first})

        self.check_each_run(check)

    def test_processes_of_an_imported_trace(self):
        recording = opened(recordings.imported())
        ranks = [(row["run"], row["rank"], row["world_size"]) for row in recording.processes()]
        self.assertEqual(ranks, [(1, 0, 2), (1, 1, 2), (2, 0, 2)])
        threads = {(row["run"], row["thread"]): row["process"] for row in recording.threads()}
        self.assertEqual({threads[row["run"], row["thread"]] for row in recording.ranges(1)}, {0, 1})
        self.assertEqual({row["op"] for row in recording.collectives(1)}, {"all_reduce"})


if __name__ == "__main__":
    unittest.main()
