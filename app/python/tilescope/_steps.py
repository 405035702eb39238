"""The parts of the wall time of a traced step, with the rules of `tilescope show FILE steps`."""

import collections

GPU_BOUND_SHARE = 0.85
LONGEST_LAUNCH = 1000000  # ns that a launch explains after its call has returned
LONG_CALL = 100000  # ns; shorter calls return almost at once
MOST_JUDGED = 2000000  # events of a run in which unrecorded() is looked for
UNDECIDED = (b"GPU-bound", b"launch-bound")  # verdicts that need more than the parts of the time
MUCH_UNRECORDED = 0.05  # share of a step's wall time from which it is not judged


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


def _last_errand(wall, last_launch, calls):
    """The last moment at which the host is known to have been working towards the GPU."""
    last = wall[0] if last_launch is None else max(wall[0], min(last_launch, wall[1]))
    for start, _, kind in calls:
        if kind == b"synchronize" and start < wall[1]:
            last = max(last, start)
    return last


def walls(hosts, device):
    """(start, end) of each step of one process: that of the host, extended by what the device does for it.

    A step begins with its host range or, if later, when the device has finished the steps before; it ends with its host
    range or, if later, when the device has finished what the step launched. The stream that is busiest with the work of
    steps decides.

    hosts   {step: (start, end)} on the host, in start order
    device  (start, end, launched, step, stream) of kernels, copies and memsets
    """
    busy, ends = collections.Counter(), {}
    for start, end, _, step, stream in device:
        if step in hosts:
            busy[stream] += end - start
            ends[stream, step] = max(end, ends.get((stream, step), end))
    busiest = min(busy, key=lambda stream: (-busy[stream], [-1 if part is None else part for part in stream]), default=None)
    found, before = {}, None
    for step, (start, end) in hosts.items():
        if before is not None:
            start = max(start, before)
        before = max(start, end, ends.get((busiest, step), end))
        found[step] = (start, before)
    return found


def last_launches(hosts, device, calls):
    """When the host last launched for each step: {step: time}, without those of which nothing is known."""
    last = {}
    for _, _, launched, step, _ in device:
        if launched is not None and step in hosts and launched < hosts[step][1]:
            last[step] = max(launched, last.get(step, launched))
    for start, end, kind in calls:
        if kind == b"launch":
            for step, host in hosts.items():
                if host[0] <= start < host[1]:
                    last[step] = max(end, last.get(step, end))
    return last


def first_launches(hosts, device):
    """When the first work of each step was launched: {step: time}, without those of which nothing is known."""
    first = {}
    for _, _, launched, step, _ in device:
        if launched is not None and step in hosts:
            first[step] = min(launched, first.get(step, launched))
    return first


def prepared(found, device, firsts):
    """Until when the host prepared the launch that ends a step: {step: time}. So does a step that ends when work of the next one
    begins, as a period of the kernels does.

    found   {step: (start, end)} from walls()
    firsts  from first_launches()
    """
    begins = {start for start, _ in union((event[0], event[1]) for event in device)}
    steps = list(found)
    return {step: min(firsts[after], found[step][1]) for step, after in zip(steps, steps[1:])
            if found[after][0] == found[step][1] and after in firsts and found[step][1] in begins}


def first_errand(device, calls):
    """When the host first launched or waited for the device; None where neither is recorded."""
    return min([event[2] for event in device if event[2] is not None] +
               [start for start, _, kind in calls if kind in (b"launch", b"synchronize")], default=None)


def unrecorded(device, calls):
    """Times in which the GPU shows no activity, and yet work that was launched long before does not begin: it works on, or waits for,
    what was not recorded. Disjoint intervals in ascending order; none where no launches were recorded.

    device  (start, end, launched, …) of the kernels, copies and memsets of one process
    calls   (start, end, kind) of its CUDA calls
    """
    if not any(kind == b"launch" for _, _, kind in calls):
        return []
    returned = {}
    for start, end, kind in calls:
        if kind in (b"launch", b"memory") and end - start >= LONG_CALL:
            returned[start] = max(end, returned.get(start, end))
    times, until = [], None
    for start, end, launched, *_ in sorted(device, key=lambda event: (event[0], event[2] or 0)):
        if launched is not None and (until is None or start >= until + LONGEST_LAUNCH):
            begin = returned.get(launched, launched) if until is None else max(until, returned.get(launched, launched))
            if start - begin >= LONGEST_LAUNCH:
                times.append((begin, start))
        until = end if until is None else max(until, end)
    return times


def partition(wall, last_launch, device, calls, waits=(), first=None):
    """(busy, launching, synchronizing, tracing, unexplained) in ns: disjoint parts that add up to the wall time.

    An instant at which the GPU is idle belongs to the first matching part: work that was launched long before does not begin, which is
    unexplained; work of the tracer covers it; the host is in a call that waits; the host has not yet made the step's last launch or
    begun its last waiting call, or all work of the step has ended; none of these.

    wall         (start, end) of the step, from walls()
    last_launch  when the host last launched for it; None: unknown
    device       (start, end, …) of the kernels, copies and memsets that overlap it
    calls        (start, end, kind) of the CUDA calls that overlap it
    waits        from unrecorded()
    first        from first_errand()
    """
    def inside(events):
        return union((max(wall[0], event[0]), min(wall[1], event[1])) for event in events)

    busy = inside(device)
    idle = difference([wall] if wall[0] < wall[1] else [], busy)
    launching = [(wall[0], _last_errand(wall, last_launch, calls))]
    if first is not None and first < wall[1]:
        launching.append((busy[-1][1] if busy else wall[0], wall[1]))
    parts = [wall[1] - wall[0] - length(idle)]
    for reason in (inside(waits), inside(call for call in calls if call[2] == b"overhead"),
                   inside(call for call in calls if call[2] in (b"synchronize", b"wait")),
                   union(launching)):
        left = difference(idle, reason)
        parts.append(length(idle) - length(left))
        idle = left
    busy, waiting, tracing, synchronizing, launching = parts
    return busy, launching, synchronizing, tracing, waiting + length(idle)


def verdict(wall, busy, launching, synchronizing, tracing, unexplained):
    """What limits a step: GPU-bound if the GPU is busy for at least 85 % of the wall time, otherwise the largest idle part.
    A step without any work of the GPU is not judged."""
    if busy == 0:
        return b"not judged"
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
