"""Snapshots of a CachingAllocator in the form that each version of PyTorch gives them, and as each of its picklers writes them."""
import pickle
import struct

VERSIONS = ["2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "2.11"]


def at_least(version, other):
    return VERSIONS.index(version) >= VERSIONS.index(other)


def frames_of(frames, version, memo):
    """Dicts that are shared by all stacks, as PyTorch symbolises each frame once."""
    def one(frame):
        if (frame, version) not in memo:
            name, file, line = frame
            memo[frame, version] = {"name": name, "filename": file, "line": line}
            if at_least(version, "2.10") and name == "forward":  # augment_with_fx_traces
                memo[frame, version].update(fx_node_op="call_function", fx_node_name="linear", fx_node_target="linear",
                                            fx_original_trace="model.py:3")
        return memo[frame, version]
    return [one(frame) for frame in frames]


def snapshot_of(allocator, version, ring=None, stacks=True):
    """The result of torch.cuda.memory._snapshot(); `ring`: maximum number of events, the last ones (max_entries)."""
    memo, other_device = {}, []
    segments = []
    for blocks in allocator.segments():
        segment = {"device": 0, "address": blocks[0].address, "total_size": sum(block.size for block in blocks),
                   "allocated_size": sum(block.size for block in blocks if block.state == "active_allocated"),
                   "active_size": sum(block.size for block in blocks if block.state != "inactive"),
                   "requested_size": sum(block.requested for block in blocks if block.state != "inactive"),
                   "stream": blocks[0].stream, "segment_type": "small" if blocks[0].small else "large"}
        if at_least(version, "2.1"):
            segment.update(segment_pool_id=(0, 0), is_expandable=blocks[0].expandable, frames=[])
        segment["blocks"] = []
        for block in blocks:
            # A free block keeps the size of its last request.
            to = {"size": block.size, "requested_size": block.requested, "state": block.state}
            if at_least(version, "2.1"):
                to = {"address": block.address, **to, "frames": frames_of(block.frames, version, memo) if stacks else []}
            elif block.requested:
                entry = {"addr": block.address, "real_size": block.requested}
                if stacks:
                    entry["frames"] = frames_of(block.frames, version, memo)
                to["history"] = [entry, {"addr": block.address, "real_size": 1}]
            segment["blocks"].append(to)
        segments.append(segment)
    trace = []
    for event in allocator.events[-ring:] if ring else allocator.events:
        to = {"action": event["action"], "device_free" if event["action"] == "oom" else "addr": event["addr"],
              "size": event["size"], "stream": event["stream"]}
        if at_least(version, "2.2"):
            to["time_us"] = 1_783_874_495_854_988 + 3 * event["time"]
        if at_least(version, "2.8"):
            to["compile_context"] = "N/A"
        if at_least(version, "2.10"):
            to["user_metadata"] = "my epoch"
        if stacks:
            to["frames"] = frames_of(event["frames"], version, memo)
        trace.append(to)
    snapshot = {"segments": segments, "device_traces": [trace, other_device]}
    if at_least(version, "2.3"):
        settings = [name for name, isSet in (("expandable_segments:True", allocator.expandable),
                                             ("max_split_size_mb:32", allocator.max_split < 1 << 62)) if isSet]
        snapshot["allocator_settings"] = {
            "PYTORCH_CUDA_ALLOC_CONF": ",".join(settings),
            "max_split_size": allocator.max_split if allocator.max_split < 1 << 62 else -1,
            "garbage_collection_threshold": 0.0, "expandable_segments": allocator.expandable, "pinned_num_register_threads": 1,
            "release_lock_on_cudamalloc": False, "pinned_use_cuda_host_register": False,
            "roundup_power2_divisions": {str(1 << i): allocator.divisions for i in range(16)}}
    if at_least(version, "2.5"):
        snapshot["external_annotations"] = [
            {"stage": stage, "name": "Optimizer.step#AdamW.step", "device": 0, "time_us": 1_783_874_495_854_988 + 3 * time}
            for stage, time in (("START", 5), ("END", 9))]
    if at_least(version, "2.9"):
        snapshot["allocator_settings"]["graph_capture_record_stream_reuse"] = False
    return snapshot


class JitPickler:
    """Writes as torch::jit::Pickler does (torch::cuda::_memory_snapshot_pickled): protocol 2 without batches, numbers beyond 32 bits
    in eight bytes, every text and container remembered."""

    def __init__(self):
        self.out, self.texts, self.containers, self.next = bytearray(b"\x80\x02"), {}, {}, 0

    def put(self):
        self.out += b"q" + bytes([self.next]) if self.next < 256 else b"r" + struct.pack("<I", self.next)
        self.next += 1
        return self.next - 1

    def get(self, index):
        self.out += b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)

    def push(self, value):
        if isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self.integer(value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            if value in self.texts:
                return self.get(self.texts[value])
            data = value.encode()
            self.out += b"X" + struct.pack("<I", len(data)) + data
            self.texts[value] = self.put()
        elif isinstance(value, tuple):
            for one in value:
                self.push(one)
            self.out += b"\x86"
        elif id(value) in self.containers:
            self.get(self.containers[id(value)])
        elif isinstance(value, dict):
            self.container(value, b"}", b"u", [part for item in value.items() for part in item])
        else:
            self.container(value, b"]", b"e", value)

    def container(self, value, begin, end, parts):
        self.out += begin
        self.containers[id(value)] = self.put()
        self.out += b"("
        for part in parts:
            self.push(part)
        self.out += end

    def integer(self, value):
        if 0 <= value < 1 << 8:
            self.out += b"K" + bytes([value])
        elif 0 <= value < 1 << 16:
            self.out += b"M" + struct.pack("<H", value)
        elif -(1 << 31) <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", value)


def pickled(snapshot, pickler):
    """\\param pickler  2 to 5: Python's of that protocol; `python`: its own in Python; `jit`: PyTorch's in C++"""
    if pickler == "jit":
        writer = JitPickler()
        writer.push(snapshot)
        return bytes(writer.out) + b"."
    if pickler == "python":
        return pickle._dumps(snapshot, protocol=4)
    return pickle.dumps(snapshot, protocol=pickler)
