// Reduces the boxes of a row to one pixel line, whatever the number of boxes: O(pixels) with an index of sums.

const BLOCK = 32; // boxes in one entry of the index

// Per block the time that each hue of the row takes before it.
function indexOf(row, hues) {
  const place = new Int8Array(HUES.length).fill(-1);
  const own = [];
  for (let i = 0; i < row.size; i++) {
    const hue = hues[row.names[i]];
    if (place[hue] < 0) place[hue] = own.push(hue) - 1;
  }
  const width = own.length;
  const sums = new Float64Array((Math.floor(row.size / BLOCK) + 1) * width);
  const running = new Float64Array(width);
  for (let i = 0; i < row.size; i++) {
    if (i % BLOCK === 0) sums.set(running, i / BLOCK * width);
    running[place[hues[row.names[i]]]] += row.ends[i] - row.starts[i];
  }
  if (row.size % BLOCK === 0) sums.set(running, row.size / BLOCK * width);
  return {place, own, width, sums};
}

const tally = new Float64Array(HUES.length);

// Adds sign * the time per place of the boxes before `end`.
function addBefore(row, hues, end, sign) {
  const {place, width, sums} = row.index;
  const block = Math.floor(end / BLOCK);
  for (let k = 0; k < width; k++) tally[k] += sign * sums[block * width + k];
  for (let i = block * BLOCK; i < end; i++) tally[place[hues[row.names[i]]]] += sign * (row.ends[i] - row.starts[i]);
}

// The time per place of the boxes [first, last) in `tally`.
function tallyBoxes(row, hues, first, last) {
  const {place, width} = row.index ||= indexOf(row, hues);
  tally.fill(0, 0, width);
  if (last - first <= 2 * BLOCK) {
    for (let i = first; i < last; i++) tally[place[hues[row.names[i]]]] += row.ends[i] - row.starts[i];
  } else {
    addBefore(row, hues, last, 1);
    addBefore(row, hues, first, -1);
  }
}

// The time that boxes cover within [from, to), those of gaps left out.
function coveredTime(row, hues, from, to) {
  const first = upperBound(row.ends, from, 0, row.size);
  const last = lowerBound(row.starts, to, first, row.size);
  if (first >= last) return 0;
  tallyBoxes(row, hues, first, last);
  const {own, width} = row.index;
  let covered = 0;
  for (let k = 0; k < width; k++) if (own[k] < FIRST_GAP) covered += tally[k];
  const isGap = i => hues[row.names[i]] >= FIRST_GAP;
  if (!isGap(first)) covered -= Math.max(0, from - row.starts[first]);
  if (!isGap(last - 1)) covered -= Math.max(0, row.ends[last - 1] - to);
  return covered;
}

// The shade of boxes that share a pixel: the hue with the most time, and by coverage.
function mergedShade(row, hues, first, last, perPixel) {
  if (last - first === 1) {
    const eighth = Math.ceil((row.ends[first] - row.starts[first]) / perPixel * 8);
    return hues[row.names[first]] * SHADES + Math.min(eighth, 8);
  }
  tallyBoxes(row, hues, first, last);
  const {own, width} = row.index;
  let most = 0, sum = tally[0];
  for (let k = 1; k < width; k++) {
    sum += tally[k];
    if (tally[k] > tally[most]) most = k;
  }
  return own[most] * SHADES + Math.min(Math.ceil(sum / perPixel * 8), 8);
}

// Paints `width` pixels of `perPixel` ns each, from the time `from` on, into `out` at `at`.
// `wide(index, x, end)` is called for boxes of at least `leastWide` pixels.
function paintRow(row, hues, shades, from, perPixel, width, out, at, leastWide, wide) {
  const {starts, ends, names, size} = row;
  const to = from + width * perPixel;
  let i = upperBound(ends, from, 0, size);
  while (i < size && starts[i] < to) {
    const x = (starts[i] - from) / perPixel, end = (ends[i] - from) / perPixel;
    if (end - x >= 1) {
      const first = Math.max(0, Math.round(x));
      let last = Math.min(width, Math.max(first + 1, Math.round(end)));
      if (end - x >= leastWide) wide(i, Math.max(0, x), Math.min(width, end));
      if (end - x >= 4 && end < width) last--; // a seam between neighbours
      out.fill(shades[hues[names[i]] * SHADES + 8], at + first, at + last);
      i++;
      continue;
    }
    const pixel = Math.max(0, Math.floor(x));
    let last = gallop(starts, from + (pixel + 1) * perPixel, i, size);
    if (last - i > 1 && ends[last - 1] - starts[last - 1] >= perPixel) last--;
    last = Math.max(last, i + 1);
    if (pixel < width) out[at + pixel] = shades[mergedShade(row, hues, i, last, perPixel)];
    i = last;
  }
}

// Marks the pixels that contain found boxes, given by their indices in the row.
function paintFound(row, colour, from, perPixel, width, out, at) {
  const {starts, ends, found} = row;
  const to = from + width * perPixel;
  let low = 0, high = found.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[found[middle]] <= from) low = middle + 1;
    else high = middle;
  }
  while (low < found.length && starts[found[low]] < to) {
    const box = found[low];
    const first = Math.max(0, Math.floor((starts[box] - from) / perPixel));
    const last = Math.min(width, Math.max(first + 2, Math.round((ends[box] - from) / perPixel)));
    out.fill(colour, at + first, at + last);
    const next = from + last * perPixel;
    let step = 1; // gallops over the boxes in the same pixels
    while (low + step < found.length && ends[found[low + step]] <= next) {
      low += step;
      step *= 2;
    }
    low++;
  }
}
