"""The readings of counters over time, as a recording packs them (core/store/rows/counter_rows.cpp)."""

_SUM_BYTES = 8
_WORD = (1 << 64) - 1
PARTS_OF_UNIT = 1000  # values are stored in thousandths of their unit


class Damaged(Exception):
    """The bytes are not as they were written."""


def _sum(data):
    total = (len(data) + 0x243F6A8885A308D3) & _WORD
    for at in range(0, len(data), 8):
        total = (total ^ int.from_bytes(data[at:at + 8], "little")) * 0x9E3779B97F4A7C15 & _WORD
        total ^= total >> 29
    return total


def _numbers(data):
    """Numbers with seven bits per byte."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def _unfolded(value):
    return value >> 1 if value % 2 == 0 else -(value >> 1) - 1


def readings(data):
    """(time in ns since the start of the run, value in the unit) of each reading.

    Times are stored as differences of their differences, values as differences.
    """
    packed = data[_SUM_BYTES:]
    if len(data) < _SUM_BYTES or _sum(packed) != int.from_bytes(data[:_SUM_BYTES], "little"):
        raise Damaged
    numbers = list(_numbers(packed))
    if not numbers or len(numbers) != 1 + 2 * numbers[0]:
        raise Damaged
    time = step = value = 0
    for second, change in zip(numbers[1::2], numbers[2::2]):
        step += _unfolded(second)
        time += step
        value += _unfolded(change)
        yield time, value / PARTS_OF_UNIT
