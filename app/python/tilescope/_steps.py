"""The parts of the wall time of a traced step, with the rules of `tilescope show FILE steps`."""

GPU_BOUND_SHARE = 0.85


def union(intervals):
    """Disjoint intervals in ascending order that cover the same instants."""
    merged = []
    for start, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def difference(intervals, taken):
    """What is left of disjoint, ascending intervals without others of that kind."""
    left, at = [], 0
    for start, end in intervals:
        while at < len(taken) and taken[at][1] <= start:
            at += 1
        i = at
        while i < len(taken) and taken[i][0] < end:
            if taken[i][0] > start:
                left.append((start, taken[i][0]))
            start = max(start, taken[i][1])
            i += 1
        if start < end:
            left.append((start, end))
    return left


def length(intervals):
    return sum(end - start for start, end in intervals)


def _last_errand(wall, device, calls):
    """The last moment at which the host is known to have been working towards the GPU."""
    last = wall[0]
    for _, _, launched in device:
        if launched is not None and launched < wall[1]:
            last = max(last, launched)
    for start, end, kind in calls:
        if start >= wall[1]:
            continue
        if kind == b"launch":
            last = max(last, min(end, wall[1]))
        elif kind == b"synchronize":
            last = max(last, start)
    return last


def partition(wall, device, calls):
    """(busy, launching, synchronizing, tracing, unexplained) in ns: disjoint parts that add up to the wall time.

    An instant at which the GPU is idle belongs to the first matching part: work of the tracer covers it; the host is in
    a call that waits; the host has not yet made the step's last launch or begun its last waiting call; none of these.

    wall    (start, end) of the step
    device  (start, end, launched) of the kernels, copies and memsets that overlap it
    calls   (start, end, kind) of the CUDA calls that overlap it
    """
    def inside(events):
        return union((max(wall[0], event[0]), min(wall[1], event[1])) for event in events)

    idle = difference([wall] if wall[0] < wall[1] else [], inside(device))
    parts = [wall[1] - wall[0] - length(idle)]
    for reason in (inside(call for call in calls if call[2] == b"overhead"),
                   inside(call for call in calls if call[2] in (b"synchronize", b"wait")),
                   union([(wall[0], _last_errand(wall, device, calls))])):
        left = difference(idle, reason)
        parts.append(length(idle) - length(left))
        idle = left
    busy, tracing, synchronizing, launching = parts
    return busy, launching, synchronizing, tracing, length(idle)


def verdict(wall, busy, launching, synchronizing, tracing, unexplained):
    """What limits a step: GPU-bound if the GPU is busy for at least 85 % of the wall time, otherwise the largest idle part."""
    if wall > 0 and busy / wall >= GPU_BOUND_SHARE:
        return b"GPU-bound"
    parts = ((launching, b"launch-bound"), (synchronizing, b"sync-bound"), (tracing, b"tracing-bound"),
             (unexplained, b"unexplained"))
    return max(parts, key=lambda part: part[0])[1]


def is_step(path):
    """Whether the path is that of a step, whatever ranges of the program surround it."""
    return path == "step" or (path.endswith("/step") and not path.startswith("step/") and "/step/" not in path)


def overlapping(events, wall):
    """Events whose time overlaps [start, end); one without length belongs where it begins."""
    return [event for event in events
            if event[0] < wall[1] and (event[0] >= wall[0] or event[1] > wall[0])]
