#!/usr/bin/env python3
"""Reads the tables that `tilescope export --arrow` writes with PyPI's pyarrow and compares them with their recording.

usage: tests/exchange/arrow_check.py FOLDER FILE.tscope [RUN]

Run by hand: python3 -m venv V && V/bin/pip install pyarrow && V/bin/python tests/exchange/arrow_check.py …
Every cell of every event table is compared. Exits with 1 on a difference.
"""
import pathlib
import sqlite3
import sys

import pyarrow.ipc

FOLDER, RECORDING = pathlib.Path(sys.argv[1]), sys.argv[2]
database = sqlite3.connect(f"file:{RECORDING}?mode=ro", uri=True)
database.text_factory = lambda data: data.decode("utf-8", "replace")
RUN = int(sys.argv[3]) if len(sys.argv) > 3 else database.execute("select max(id) from run").fetchone()[0]
VIEWS = ("kernels", "copies", "ranges", "ops", "api_calls", "frames", "allocations", "collectives", "waits")

failed = False
for path in sorted(FOLDER.glob("*.arrow")):
    with pyarrow.ipc.open_file(path) as file:
        table = file.read_all()
    table.validate(full=True)
    compared = differing = 0
    if path.stem in VIEWS:
        stored = {column[1] for column in database.execute(f"pragma table_info({path.stem})")}
        rows = database.execute(f"select count(*) from {path.stem} where run = ?", (RUN,)).fetchone()[0]
        if rows != table.num_rows:
            print(f"FAILED: {path.stem}: {table.num_rows} rows, {rows} in the recording")
            failed = True
        order = " order by id" if "id" in stored else ""
        for name in table.column_names:
            if name not in stored:
                continue
            expected = [row[0] for row in database.execute(f'select "{name}" from {path.stem} where run = ?{order}', (RUN,))]
            got = table.column(name).to_pylist()
            compared += 1
            if sorted(map(repr, got)) != sorted(map(repr, expected)):
                differing += 1
                failed = True
                pair = next(((a, b) for a, b in zip(got, expected) if a != b), None)
                print(f"FAILED: {path.stem}.{name} differs, first {pair}")
    units = {field.name: field.metadata[b"unit"].decode() for field in table.schema if field.metadata}
    print(f"{path.name}: {table.num_rows:,} rows, {table.num_columns} columns, {compared} compared, units {units}")
sys.exit(failed)
