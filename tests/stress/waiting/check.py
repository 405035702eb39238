"""Compares the samples of fuzz.py with its log.

usage: check.py FILE.tscope LOG: prints the number of samples in made functions and of those that the log contradicts.
"""

import bisect
import json
import sqlite3
import sys

LAUNCH = 1  # the stack of a launch, no sample


def numbers(data):
    value, shift = 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value, shift = 0, 0


def unfolded(value):
    return value >> 1 ^ -(value & 1)


def samples(data, skip):
    """(time, stack, state), as core/store/rows/host_sample_rows.cpp packs them. The checksum is `skip` bytes."""
    values = numbers(data[skip:])
    count, bits = next(values), 4
    has_rare = count == 0
    if has_rare:
        count, bits = next(values), 5
    time, stack = 0, 0
    for _ in range(count):
        time += next(values)
        both = next(values)
        stack += unfolded(both >> bits)
        state = both & 15
        if has_rare and both & 16:
            state |= next(values) << 4
        yield time, stack, state


def main():
    database = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    with open(sys.argv[2]) as file:
        told = json.load(file)
    log, offset = told["calls"], told["offset"]
    origin = database.execute("select clock_origin from run").fetchone()[0]
    # Processes of forks are in the file as well: the first is the program.
    process = database.execute("select process from host_stack order by id limit 1").fetchone()[0]
    names = dict(database.execute("select h.number, s.text from host_stack h join string s on s.id = h.function "
                                  "where h.process is ?", (process,)))
    starts = [start for _, start, _ in log]
    right = wrong = other = 0
    for (data,) in database.execute("select data from host_sample where process is ?", (process,)):
        for time, stack, state in samples(data, 8):
            if state & LAUNCH or stack not in names:
                continue
            name = names[stack].rsplit("): ", 1)[1]
            if not name.startswith("f_"):
                other += 1
                continue
            at = time + origin - offset
            i = bisect.bisect_right(starts, at) - 1
            if i < 0 or not log[i][1] <= at <= log[i][2]:
                other += 1
            elif log[i][0] == name:
                right += 1
            else:
                wrong += 1
                if wrong < 5:
                    print("at", at, "found", name, "ran", log[i][0], "state", state)
    print("samples in made functions: %d right, %d wrong; %d others" % (right, wrong, other))
    if right == 0:
        print("no sample could be checked")
        return 1
    return 1 if wrong > right / 10000 else 0


if __name__ == "__main__":
    sys.exit(main())
