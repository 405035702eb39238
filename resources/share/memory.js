// Memory over time: allocated as an area, reserved as a line above it, one strip for each device.

const STRIP = 72;
const AXIS = 12;
const CURVE_BLOCK = 64;

// Per block of changes its least and largest value.
function extremesOf(values) {
  const blocks = Math.ceil(values.length / CURVE_BLOCK);
  const low = new Float64Array(blocks).fill(Infinity), high = new Float64Array(blocks).fill(-Infinity);
  for (let i = 0; i < values.length; i++) {
    const block = Math.floor(i / CURVE_BLOCK);
    low[block] = Math.min(low[block], values[i]);
    high[block] = Math.max(high[block], values[i]);
  }
  return {low, high};
}

function highestOf(curve, which, first, last) {
  const values = curve.values[which];
  const {high} = (curve.extremes ||= [null, null])[which] ||= extremesOf(values);
  let most = -Infinity;
  for (let i = first; i < last;) {
    if (i % CURVE_BLOCK === 0 && i + CURVE_BLOCK <= last) {
      most = Math.max(most, high[i / CURVE_BLOCK]);
      i += CURVE_BLOCK;
    } else {
      most = Math.max(most, values[i++]);
    }
  }
  return most;
}

// The largest value within [from, to], with the one that holds at `from`.
function highestWithin(curve, which, from, to) {
  const first = Math.max(0, upperBound(curve.times, from, 0, curve.size) - 1);
  const last = upperBound(curve.times, to, first, curve.size);
  return curve.size === 0 || curve.times[0] > to ? 0 : highestOf(curve, which, first, Math.max(last, first + 1));
}

function peakOf(curve) {
  return curve.peak ||= Math.max(highestOf(curve, 0, 0, curve.size), highestOf(curve, 1, 0, curve.size), 1);
}

function traceCurve(context, curve, which, left, plot, y, scale) {
  const {from, to} = app.view;
  const perPixel = (to - from) / plot;
  let first = Math.max(0, upperBound(curve.times, from, 0, curve.size) - 1);
  context.beginPath();
  for (let x = 0; x < plot; x++) {
    const end = from + (x + 1) * perPixel;
    if (curve.times[0] > end) continue;
    const last = gallop(curve.times, end, first, curve.size);
    const value = highestOf(curve, which, first, Math.max(last, first + 1));
    context.lineTo(left + x, y - value * scale);
    context.lineTo(left + x + 1, y - value * scale);
    first = Math.max(first, last - 1);
  }
}

function drawStrip(context, curve, most, left, plot, top) {
  const bottom = top + STRIP - 4;
  const scale = (STRIP - AXIS - 4) / most;
  context.fillStyle = palette["lane-ground"];
  context.fillRect(left, top, plot, STRIP - 4);
  traceCurve(context, curve, 0, left, plot, bottom, scale);
  context.strokeStyle = palette.activations;
  context.lineWidth = 1.5;
  context.stroke();
  const first = Math.min(plot, Math.max(0, (curve.times[0] - app.view.from) / (app.view.to - app.view.from) * plot));
  context.lineTo(left + plot, bottom);
  context.lineTo(left + first, bottom);
  context.globalAlpha = 0.35;
  context.fillStyle = palette.activations;
  context.fill();
  context.globalAlpha = 1;
  if (highestOf(curve, 1, 0, curve.size) > 0) {
    traceCurve(context, curve, 1, left, plot, bottom, scale);
    context.strokeStyle = palette["dim-text"];
    context.lineWidth = 1;
    context.stroke();
  }
  context.fillStyle = palette.text;
  context.fillText(elided(context, curve.title, left - 10), 8, top + 9);
  context.fillStyle = palette["dim-text"];
  [curve.detail, "peak " + byteText(highestOf(curve, 0, 0, curve.size))].filter(Boolean).forEach((text, line) =>
    context.fillText(elided(context, text, left - 10), 8, top + 24 + 14 * line));
  context.fillText("0\u2009B to " + byteText(most), left + 4, top + 8);
}

function drawMemory() {
  const curves = app.run.curves.filter(curve => curve.size > 0);
  element("memory-panel").hidden = curves.length === 0;
  if (curves.length === 0) return;
  const width = element("scroller").clientWidth, left = labelWidth();
  const context = contextOf(element("memory"), width, curves.length * STRIP);
  const most = Math.max(...curves.map(peakOf)); // one scale for all
  curves.forEach((curve, i) => drawStrip(context, curve, most, left, width - left, i * STRIP));
  drawSpanOver(context, left, width - left, curves.length * STRIP);
}

function drawSpanOver(context, left, plot, height) {
  if (!app.span) return;
  const at = timeToX(left, plot);
  context.globalAlpha = 0.14;
  context.fillStyle = palette.accent;
  const x = Math.max(left, at(app.span.from));
  context.fillRect(x, 0, Math.max(0, at(app.span.to) - x), height);
  context.globalAlpha = 1;
}

const namesOf = curve => [curve.title, curve.detail].filter(Boolean).join(", ");

// What is known of the memory at a point of the canvas.
function memoryAt(x, y) {
  const curves = app.run.curves.filter(curve => curve.size > 0);
  const curve = curves[Math.floor(y / STRIP)];
  const left = labelWidth(), plot = element("memory").clientWidth - left;
  if (!curve || x < left) return "";
  const time = app.view.from + (x - left) / plot * (app.view.to - app.view.from);
  const index = upperBound(curve.times, time, 0, curve.size) - 1;
  if (index < 0) return "";
  const [allocated, reserved] = curve.values.map(values => values[index]);
  const whose = curves.length > 1 ? namesOf(curve) + ", " : "";
  return `${whose}${timeText(time)}: ${byteText(allocated)} allocated` + (reserved > 0 ? `, ${byteText(reserved)} reserved` : "");
}
