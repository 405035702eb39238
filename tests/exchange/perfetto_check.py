#!/usr/bin/env python3
"""Compares a trace written by `tilescope export --perfetto` with its recording, by the classes of PyPI's `perfetto`.

usage: tests/exchange/perfetto_check.py OUT.pftrace FILE.tscope [RUN]

Run by hand: python3 -m venv V && V/bin/pip install perfetto && V/bin/python tests/exchange/perfetto_check.py …
Prints the counts and exits with 1 if something is missing, out of order or not resolvable.
"""
import collections
import sqlite3
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

TRACE, RECORDING = sys.argv[1:3]
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def varints(data):
    """Values of a packed or unpacked message of repeated varints in field 1."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        assert tag == 1 << 3, tag
        yield number()


def extension(message, number):
    """Contents of length-delimited extension fields that the classes do not know."""
    try:
        from google.protobuf.unknown_fields import UnknownFieldSet
        return [field.data for field in UnknownFieldSet(message) if field.field_number == number]
    except ImportError:
        return [field.data for field in message.UnknownFields() if field.field_number == number]


class Sequence:
    """Interned data, in the order of the file."""

    def __init__(self):
        self.names = {}
        self.specifications = {}
        self.contexts = {}
        self.kernels = set()

    def add(self, data):
        for name in data.event_names:
            self.names[name.iid] = name.name
        for specification in data.gpu_specifications:
            self.specifications[specification.iid] = specification
        for context in data.graphics_contexts:
            self.contexts[context.iid] = context.pid
            check(context.api == 4, "a graphics context is not CUDA's")
        for entry in extension(data, 1000):
            kernel = protos.InternedComputeKernel.FromString(entry)
            self.kernels.add(kernel.iid)


trace = protos.Trace()
with open(TRACE, "rb") as file:
    trace.ParseFromString(file.read())

sequence = Sequence()
tracks = {}
counters = set()
edges = collections.defaultdict(list)  # of slices by track: (time, place in the file, name or None)
gpu = {}
queues = collections.defaultdict(list)
flows = []
counts = collections.Counter()
for place, packet in enumerate(trace.packet):
    check(packet.sequence_flags == (3 if place == 0 else 2), f"flags of packet {place}")
    if packet.HasField("interned_data"):
        sequence.add(packet.interned_data)
    if packet.HasField("track_descriptor"):
        descriptor = packet.track_descriptor
        check(descriptor.uuid not in tracks, f"track {descriptor.uuid} is described twice")
        tracks[descriptor.uuid] = descriptor
        if descriptor.HasField("counter"):
            counters.add(descriptor.uuid)
    elif packet.HasField("gpu_render_stage_event"):
        event = packet.gpu_render_stage_event
        counts["gpu"] += 1
        check(event.event_id not in gpu, f"event id {event.event_id} twice")
        gpu[event.event_id] = packet.timestamp
        check(event.name_iid in sequence.names, "a GPU event without a name")
        check(event.hw_queue_iid in sequence.specifications, "a GPU event without a queue")
        check(event.context in sequence.contexts, "a GPU event without a context")
        stage = sequence.specifications.get(event.stage_iid)
        check(stage is not None and stage.name == sequence.names.get(event.name_iid), "a stage is not named after its event")
        if stage is not None and stage.description == "Kernel":
            counts["kernel"] += 1
            check(event.kernel_iid in sequence.kernels, "a kernel without a compute kernel")
            check(event.HasField("launch"), "a kernel without its launch")
        counts["gpu_ns"] += event.duration
        queues[event.gpu_id, event.hw_queue_iid].append((packet.timestamp, packet.timestamp + event.duration))
    elif packet.HasField("track_event"):
        event = packet.track_event
        check(event.track_uuid in tracks, f"an event on the unknown track {event.track_uuid}")
        if event.type == protos.TrackEvent.TYPE_COUNTER:
            counts["counter"] += 1
            check(event.track_uuid in counters, "a value on a track that is no counter")
            continue
        if event.type != protos.TrackEvent.TYPE_SLICE_END:
            check(event.name_iid in sequence.names, "a slice without a name")
        if event.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            counts["slice"] += 1
            edges[event.track_uuid].append((packet.timestamp, place, True))
        elif event.type == protos.TrackEvent.TYPE_SLICE_END:
            edges[event.track_uuid].append((packet.timestamp, place, False))
        elif event.type == protos.TrackEvent.TYPE_INSTANT:
            counts["launch"] += 1
        for data in extension(event, 3000):
            flows += varints(data)
for track, list_of_edges in edges.items():
    depth = 0
    for _, _, begins in sorted(list_of_edges):
        depth += 1 if begins else -1
        check(depth >= 0, f"track {track}: a slice ends before it begins")
    check(depth == 0, f"track {track}: {depth} slices do not end")
for queue, events in queues.items():
    events.sort()
    overlaps = sum(1 for a, b in zip(events, events[1:]) if b[0] < a[1])
    check(overlaps == 0, f"queue {queue}: {overlaps} events overlap")
check(all(event in gpu for event in flows), "a flow leads to no event")
check(len(flows) == len(set(flows)), "two flows lead to one event")
for uuid, descriptor in tracks.items():
    check(not descriptor.HasField("parent_uuid") or descriptor.parent_uuid in tracks, f"track {uuid} has no parent")

database = sqlite3.connect(f"file:{RECORDING}?mode=ro", uri=True)
RUN = sys.argv[3] if len(sys.argv) > 3 else database.execute("select max(id) from run").fetchone()[0]


def rows(table, what="count(*)"):
    try:
        return database.execute(f"select coalesce({what}, 0) from {table} where run = ?", (RUN,)).fetchone()[0]
    except sqlite3.OperationalError:
        return 0


expected = {
    "kernel": rows("kernel"),
    "gpu": rows("kernel") + rows("copy"),
    "gpu_ns": rows("kernel", "sum(duration)") + rows("copy", "sum(duration)"),
    "slice": rows("range") + rows("op") + rows("api_call") + rows("frame"),
}
for name, count in expected.items():
    check(counts[name] == count, f"{name}: {counts[name]:,} in the trace, {count:,} in the recording")
launched = database.execute(
    "select count(*) from (select correlation from kernel where run = ? and queued is not null union all "
    "select correlation from copy where run = ? and queued is not null)", (RUN, RUN)).fetchone()[0]
print(f"{len(trace.packet):,} packets, {len(tracks):,} tracks; {counts['gpu']:,} GPU events ({counts['kernel']:,} kernels, "
      f"{counts['gpu_ns']:,} ns), {counts['slice']:,} slices, {counts['launch']:,} launches, {len(flows):,} flows "
      f"({launched:,} GPU events have a launch), {counts['counter']:,} counter values")
for failure in list(dict.fromkeys(failures))[:20]:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
