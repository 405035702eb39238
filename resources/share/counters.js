// Counters over time: clocks, power, traffic. Each has a strip, and those of one name and unit share a scale.

const COUNTER_STRIP = 48;
const COUNTER_PARTS = 1000; // of a unit in a value
const LIMITS = ["Power cap", "Thermal slowdown", "Hardware slowdown"];

// As core/query/runs/counter_table.h writes a value.
function counterText(value, unit) {
  value /= COUNTER_PARTS;
  if (unit === "B") return byteText(value);
  if (unit !== "Hz" && unit !== "B/s") return threeDigits(value) + (unit ? "\u2009" + unit : "");
  const prefixes = ["", "k", "M", "G", "T"];
  let prefix = 0;
  for (; Math.abs(value) >= 1000 && prefix + 1 < prefixes.length; prefix++) value /= 1000;
  return `${threeDigits(value)}\u2009${prefixes[prefix]}${unit}`;
}

const shownCounters = () => app.run.counters.filter(curve => curve.size > 0);

// The top of the scale: 100 % for shares that do not exceed it by much.
function counterTop(curve, all) {
  const same = all.filter(other => other.counter === curve.counter && other.unit === curve.unit);
  const most = Math.max(...same.map(other => highestOf(other, 0, 0, other.size)));
  const whole = 100 * COUNTER_PARTS;
  return curve.unit === "%" && most <= 1.11 * whole ? whole : Math.max(most, 1);
}

function drawCounter(context, curve, most, left, plot, top) {
  const bottom = top + COUNTER_STRIP - 4;
  const at = timeToX(left, plot);
  const from = Math.max(left, at(curve.times[0])), to = Math.min(left + plot, at(curve.end));
  const colour = LIMITS.includes(curve.counter) ? palette.warning : palette["dim-text"];
  context.fillStyle = palette["lane-ground"];
  context.fillRect(left, top, plot, COUNTER_STRIP - 4);
  if (from < to) {
    context.save();
    context.beginPath();
    context.rect(from, top, to - from, COUNTER_STRIP - 4);
    context.clip();
    traceCurve(context, curve, 0, left, plot, bottom, (COUNTER_STRIP - AXIS - 9) / most);
    context.strokeStyle = colour;
    context.lineWidth = 1.25;
    context.stroke();
    context.lineTo(left + plot, bottom);
    context.lineTo(from, bottom);
    context.globalAlpha = 0.25;
    context.fillStyle = colour;
    context.fill();
    context.restore();
  }
  // Between samples that are missing no value is known.
  for (const [start, end] of curve.holes || []) {
    const first = Math.max(left, at(start)), last = Math.min(left + plot, at(end));
    if (last - first < 1) continue;
    context.fillStyle = palette["lane-ground"];
    context.fillRect(first, top, last - first, COUNTER_STRIP - 4);
  }
  context.fillStyle = palette.text;
  context.fillText(elided(context, curve.title, left - 10), 8, top + 9);
  context.fillStyle = palette["dim-text"];
  context.fillText(elided(context, curve.detail, left - 10), 8, top + 24);
  context.fillText("0 to " + counterText(most, curve.unit), left + 4, top + 8);
}

function drawCounters() {
  const curves = shownCounters();
  element("counters-panel").hidden = curves.length === 0;
  if (curves.length === 0) return;
  const width = element("counters-panel").clientWidth, left = labelWidth(), plot = element("scroller").clientWidth - left;
  const height = curves.length * COUNTER_STRIP;
  const context = contextOf(element("counters"), width, height);
  curves.forEach((curve, i) => drawCounter(context, curve, counterTop(curve, curves), left, plot, i * COUNTER_STRIP));
  drawSpanOver(context, left, plot, height);
}

// What a counter says at a point of the canvas.
function counterAt(x, y) {
  const curve = shownCounters()[Math.floor(y / COUNTER_STRIP)];
  const left = labelWidth(), plot = element("scroller").clientWidth - left;
  if (!curve || x < left) return "";
  const time = app.view.from + (x - left) / plot * (app.view.to - app.view.from);
  const index = upperBound(curve.times, time, 0, curve.size) - 1;
  if (index < 0 || time > curve.end) return "";
  if ((curve.holes || []).some(([start, end]) => time >= start && time < end)) return `${namesOf(curve)}: no samples here`;
  return `${namesOf(curve)}, ${timeText(time)}: ${counterText(curve.values[0][index], curve.unit)}`;
}
