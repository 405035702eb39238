#!/usr/bin/env python3
"""Records the memory of train.py on a GPU, by the plug-in and by PyTorch's own recorder, and compares both with what
PyTorch itself counts.

usage: memory.py --tilescope PROGRAM

Prints the tables of modules and categories and last one JSON line; exits with 1 if a figure is wrong. The plug-in must
fit the installed PyTorch: lib/tilescope_torch-2.11.so beside the program, or `tilescope record --build-plugin`.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# What PyTorch counts, printed by the program itself.
WRAPPED = """
import json, os, runpy, sys, torch
sys.argv = [sys.argv[1], '--steps', '10', '--warm-up', '5']
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name='__main__')
stats = torch.cuda.memory_stats()
print(json.dumps({'peak': stats['requested_bytes.all.peak'], 'reserved': stats['reserved_bytes.all.peak']}))
"""


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--tilescope", required=True)
    program = os.path.abspath(options.parse_args().tilescope)
    report, wrong = {}, []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        script = folder / "counted.py"
        script.write_text(WRAPPED)

        def show(file, *what, table=False):
            said = subprocess.run([program, "show", str(file), *what, *([] if table else ["--format", "json"])],
                                  capture_output=True, text=True, check=False)
            return said.stdout if table else json.loads(said.stdout or "[]")

        for way in ("plug-in", "PyTorch"):
            file = folder / (way + ".tscope")
            command = [program, "record", "-o", str(file)]
            if way == "PyTorch":
                # A program that hides the plug-in: the first setting of a name counts.
                command += ["--", "sh", "-c", 'TILESCOPE_RECORD_OPTIONS="plugins=;$TILESCOPE_RECORD_OPTIONS" exec "$@"', "sh", sys.executable, str(script), str(HERE / "train.py")]
            else:
                command += ["--", sys.executable, str(script), str(HERE / "train.py")]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                print(ran.stdout[-500:], ran.stderr[-2000:])
                wrong.append(way + " ended with " + str(ran.returncode))
                continue
            counted = json.loads(ran.stdout.splitlines()[-1])
            run = show(file, "runs")[0]
            facts = {row["key"]: row["value"] for row in show(file, "environment")}
            modules = {row["key"]: row["max"] for row in show(file, "memory", "--group", "module")}
            categories = {row["key"]: row["max"] for row in show(file, "memory", "--group", "category")}
            losses = [[row["kind"], row["count"]] for row in show(file, "losses")]
            report[way] = {"said": facts.get("record.memory"), "peak": run["peak_allocated"], "counted": counted["peak"],
                           "reserved": run["peak_reserved"], "counted_reserved": counted["reserved"],
                           "modules": len(modules), "categories": categories, "losses": losses}
            print(show(file, "memory", "--group", "module", table=True)[:3000])
            print(show(file, "memory", "--group", "category", table=True))
            if run["peak_allocated"] != counted["peak"]:
                wrong.append("%s: peak %s, PyTorch counts %s" % (way, run["peak_allocated"], counted["peak"]))
            if run["peak_reserved"] != counted["reserved"]:
                wrong.append("%s: reserved %s, PyTorch counts %s" % (way, run["peak_reserved"], counted["reserved"]))
            if not any(key.endswith("layers.11") or "layers.11/" in key for key in modules):
                wrong.append(way + ": no memory of the last layer")
    report["wrong"] = wrong
    print(json.dumps(report))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
