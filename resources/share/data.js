// Reads the runs of the page: core/exchange/export/packed_timeline.h describes their form.

// `size` bytes; the last digits may hold more bits.
function bytesOfBase91(text, size) {
  const digits = new Uint8Array(128);
  for (let value = 0; value < 91; value++) digits[value < 66 ? 61 + value : value - 34] = value;
  const bytes = new Uint8Array(size);
  let held = 0, bits = 0, at = 0;
  for (let i = 0; i + 1 < text.length; i += 2) {
    held |= (digits[text.charCodeAt(i)] + 91 * digits[text.charCodeAt(i + 1)]) << bits;
    bits += 13;
    while (bits >= 8) {
      bytes[at++] = held & 255;
      held >>>= 8;
      bits -= 8;
    }
  }
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A column as numbers; `at.byte` is its place and is moved behind it.
function columnOf(bytes, at, size) {
  const column = new Float64Array(size);
  const planes = bytes[at.byte++];
  for (let plane = 0, scale = 1; plane < planes; plane++, scale *= 256) {
    const values = bytes.subarray(at.byte, at.byte + size);
    for (let i = 0; i < size; i++) column[i] += values[i] * scale;
    at.byte += size;
  }
  return column;
}

function signed(value) {
  return value % 2 ? -(value + 1) / 2 : value / 2;
}

// A row of a lane: disjoint boxes in start order. `below` are the columns of the row, which are consumed.
function rowOf(size, above, columns, at) {
  const starts = new Float64Array(size), ends = new Float64Array(size);
  const names = new Uint32Array(size);
  const [skips, gaps, lengths, ids] = columns;
  let end = 0, parent = -1;
  for (let i = 0; i < size; i++) {
    let base = end;
    if (above) {
      parent += skips[at.skip++];
      if (parent >= 0 && above.starts[parent] > base) base = above.starts[parent];
    }
    starts[i] = base + gaps[at.box];
    end = ends[i] = starts[i] + lengths[at.box];
    names[i] = ids[at.box++];
  }
  return {size, starts, ends, names, index: null, found: null};
}

function curveOf({points: size, ...about}, [times, allocated, reserved], at) {
  const curve = {...about, size, times: new Float64Array(size), values: [new Float64Array(size), new Float64Array(size)]};
  let time = 0, a = 0, r = 0;
  for (let i = 0; i < size; i++, at.point++) {
    curve.times[i] = time += times[at.point];
    curve.values[0][i] = a += signed(allocated[at.point]);
    curve.values[1][i] = r += signed(reserved[at.point]);
  }
  return curve;
}

// A run: what its JSON object says, with lanes, curves (of memory), counters and names in place of their columns.
async function readRun(text, packedSize) {
  const bytes = await inflated(bytesOfBase91(text, packedSize));
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const run = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const at = {byte: 4 + size, skip: 0, box: 0, point: 0};
  const columns = run.columns.map(entries => columnOf(bytes, at, entries));
  for (const lane of run.lanes) {
    let above = null;
    lane.rows = lane.rows.map(entries => above = rowOf(entries, above, columns, at));
  }
  const curves = run.curves.map(curve => curveOf(curve, columns.slice(4), at));
  run.curves = curves.filter(curve => curve.counter === undefined);
  run.counters = curves.filter(curve => curve.counter !== undefined);
  run.texts = run.names.map(name => name[0]);
  run.labels = run.names.map(name => name[1] || name[0]);
  run.hues = Uint8Array.from(run.names, name => name[2]);
  return run;
}

// The first index in [low, high) whose value is at least `value`, else `high`.
function lowerBound(values, value, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The first index in [low, high) whose value is greater than `value`, else `high`.
function upperBound(values, value, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// As lowerBound(), fast where the answer is near `low`.
function gallop(values, value, low, high) {
  let step = 1;
  while (low + step < high && values[low + step] < value) {
    low += step;
    step *= 2;
  }
  return lowerBound(values, value, low, Math.min(low + step + 1, high));
}

// --- numbers, as core/base/quantity.h writes them -------------------------------------------------------------------

const TIME_UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
const BYTE_UNITS = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];

function threeDigits(value) {
  const size = Math.abs(value);
  if (size >= 100 || size === 0) return grouped(Math.round(value));
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

function unitFor(units, value) {
  return units.find(([size]) => Math.abs(value) >= size) || units[units.length - 1];
}

function withUnit(units, value) {
  const [size, word] = unitFor(units, value);
  return (size === 1 ? grouped(Math.round(value)) : threeDigits(value / size)) + "\u2009" + word;
}

const timeText = value => withUnit(TIME_UNITS, value);
const byteText = value => withUnit(BYTE_UNITS, value);
