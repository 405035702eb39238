#!/usr/bin/env python3
"""Generates a Kineto trace of about N bytes of JSON from a real one, repeated with later times, new ids and new names of ranges.

usage: kineto.py OUT.json[.gz] [BYTES [SOURCE.json.gz]]      default 1,000,000,000 bytes from tests/data/kineto/ddp_rank0.json.gz
"""
import gzip
import itertools
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "data" / "kineto" / "ddp_rank0.json.gz"
# What differs from repetition to repetition: times, ids that connect events, and names of ranges.
VARYING = re.compile(r'("ts": )([0-9]+)(\.[0-9]+)|("(?:correlation|External id|Sequence number|Ev Idx|id|wait_on_cuda_event_record_corr_id)":'
                     r' )([0-9]+)|("cat": "user_annotation", "name": "[^"]*)"')


def split(text):
    """Pieces of text and, between them, what varies: ("ts" | "id", number) or ("name", 0)."""
    literals, varying, at = [], [], 0
    for match in VARYING.finditer(text):
        kind = "ts" if match[1] else "id" if match[4] else "name"
        group = {"ts": 2, "id": 5}.get(kind)
        begin, end = match.span(group) if group else (match.end() - 1, match.end() - 1)
        literals.append(text[at:begin])
        varying.append((kind, int(text[begin:end]) if group else 0))
        at = end
    return literals + [text[at:]], varying


def repetitions(literals, varying):
    """Repeats the text with later times and new ids."""
    times = [number for kind, number in varying if kind == "ts"]
    span = max(times) - min(times) + 1000
    ids = max(number for kind, number in varying if kind == "id") + 1
    parts = [""] * (2 * len(varying) + 1)
    parts[0::2] = literals
    for repetition in itertools.count():
        later, added, name = repetition * span, repetition * ids, f" of round {repetition}"
        parts[1::2] = [str(number + later) if kind == "ts" else str(number + added) if kind == "id" else name
                       for kind, number in varying]
        yield "".join(parts)


def generate(out, size, source):
    text = gzip.decompress(source.read_bytes()).decode()
    begin = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("]")
    head, events, tail = text[:begin], text[begin:end].rstrip(), text[end:]
    json.loads(f"[{events}]")
    literals, varying = split(events)
    packer = subprocess.Popen(["gzip", "-1"], stdin=subprocess.PIPE, stdout=open(out, "wb")) if out.suffix == ".gz" else None
    stream = packer.stdin if packer else open(out, "wb")
    written = stream.write(head.encode())
    for repetition in repetitions(literals, varying):
        written += stream.write(repetition.encode())
        if written >= size:
            break
        stream.write(b",")
    stream.write(tail.encode())
    stream.close()
    if packer and packer.wait():
        sys.exit("gzip failed")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    generate(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000_000,
             pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else SOURCE)
