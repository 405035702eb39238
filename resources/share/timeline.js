// The timeline: where lanes lie, what is shown, and how it is drawn.

const ROW_HEIGHTS = {ranges: 18, thread: 16, stream: 24, busy: 16};
const LANE_GAP = 6;
const LEAST_LANE = 30; // a label of two lines
const RULER = 34;
const OVERVIEW = 44;
const LEAST_VIEW = 20; // ns
const LEAST_WIDE = 24; // a box with a label
const FONT = "11px system-ui, 'Noto Sans', sans-serif";

const app = {run: null, view: {from: 0, to: 1}, span: null, selection: null, search: null, folded: new Set(), layout: [], height: 0};
const element = id => document.getElementById(id);
const narrow = () => window.innerWidth < 700;
const labelWidth = () => narrow() ? 108 : 152;

// --- what is shown ---------------------------------------------------------------------------------------------------

function placeLanes() {
  app.layout = [];
  let y = 0;
  app.run.lanes.forEach((lane, laneIndex) => {
    if (lane.kind === "memory" || lane.kind === "counter") return;
    const height = ROW_HEIGHTS[lane.kind];
    const rows = app.folded.has(laneIndex) ? lane.rows.slice(0, 1) : lane.rows;
    const entry = {lane, laneIndex, y, rows: rows.map((row, i) => ({row, rowIndex: i, y: y + i * height, height: height - (height > 20 ? 2 : 1)}))};
    entry.height = Math.max(rows.length * height, lane.kind === "busy" || lane.detail === "" ? height : LEAST_LANE);
    app.layout.push(entry);
    y += entry.height + LANE_GAP;
  });
  app.height = y;
}

function setView(from, to) {
  const most = Math.max(app.run.length * 1.1, LEAST_VIEW);
  const length = Math.min(Math.max(to - from, LEAST_VIEW), most);
  const margin = (most - app.run.length) / 2;
  const middle = (from + to) / 2;
  from = Math.min(Math.max(middle - length / 2, -margin), app.run.length + margin - length);
  app.view = {from, to: from + length};
  requestDraw();
}

function zoom(factor, time = (app.view.from + app.view.to) / 2) {
  const {from, to} = app.view;
  const length = Math.min(Math.max((to - from) / factor, LEAST_VIEW), app.run.length * 1.1);
  const share = (time - from) / (to - from);
  setView(time - share * length, time + (1 - share) * length);
}

function pan(share) {
  const length = app.view.to - app.view.from;
  setView(app.view.from + share * length, app.view.to + share * length);
}

function fit() {
  const [from, to] = app.run.view;
  const margin = (to - from) * 0.01;
  setView(from - margin, to + margin);
}

function boxOf({lane, row, index}) {
  const boxes = app.run.lanes[lane].rows[row];
  const name = boxes.names[index];
  return {boxes, name, start: boxes.starts[index], end: boxes.ends[index], length: boxes.ends[index] - boxes.starts[index]};
}

function showBox(place) {
  app.folded.delete(place.lane);
  placeLanes();
  const {start, end} = boxOf(place);
  const {from, to} = app.view;
  const length = to - from;
  if (end - start > length) setView(start - (end - start) * 0.1, end + (end - start) * 0.1);
  else if (start < from || end > to) setView((start + end - length) / 2, (start + end + length) / 2);
  const entry = app.layout.find(each => each.laneIndex === place.lane);
  const scroller = element("scroller");
  const y = entry.rows[place.row].y;
  if (y < scroller.scrollTop || y + 24 > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y - scroller.clientHeight / 2;
}

// The box under a point of the lanes' canvas, or near it; none otherwise.
function hit(x, y) {
  const width = element("lanes").clientWidth - labelWidth();
  const perPixel = (app.view.to - app.view.from) / width;
  const time = app.view.from + (x - labelWidth()) * perPixel;
  const down = y + element("scroller").scrollTop;
  for (const entry of app.layout)
    for (const item of entry.rows) {
      if (down < item.y || down >= item.y + item.height + 2) continue;
      const {starts, ends, size} = item.row;
      const index = upperBound(starts, time, 0, size) - 1;
      const slack = 3 * perPixel;
      const place = at => ({lane: entry.laneIndex, row: item.rowIndex, index: at});
      if (index >= 0 && ends[index] >= time) return place(index);
      const before = index >= 0 ? time - ends[index] : Infinity;
      const behind = index + 1 < size ? starts[index + 1] - time : Infinity;
      if (Math.min(before, behind) > slack) return null;
      return place(before <= behind ? index : index + 1);
    }
  return null;
}

// --- drawing ---------------------------------------------------------------------------------------------------------

let drawPending = false;

function requestDraw() {
  if (drawPending) return;
  drawPending = true;
  requestAnimationFrame(() => {
    drawPending = false;
    drawAll();
  });
}

function drawAll() {
  if (!app.run || app.run.lanes.length === 0) return;
  drawLanes();
  drawRuler();
  drawOverview();
  drawMemory();
  drawCounters();
}

// The context of a canvas with as many pixels as the screen has for it, in CSS pixels.
function contextOf(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  context.font = FONT;
  context.textBaseline = "middle";
  return context;
}

const lines = {canvas: document.createElement("canvas"), image: null, pixels: null};

// Space for `count` lines of pixels.
function pixelLines(width, count) {
  if (!lines.image || lines.image.width !== width || lines.image.height < count) {
    lines.canvas.width = width;
    lines.canvas.height = Math.max(count, lines.image && lines.image.width === width ? 2 * count : count);
    lines.image = lines.canvas.getContext("2d").createImageData(width, lines.canvas.height);
    lines.pixels = new Uint32Array(lines.image.data.buffer);
  }
  lines.pixels.fill(0, 0, width * count);
  return lines.pixels;
}

const textWidths = new Map();

function widthOf(context, text) {
  let width = textWidths.get(text);
  if (width === undefined) {
    if (textWidths.size > 20000) textWidths.clear();
    textWidths.set(text, width = context.measureText(text).width);
  }
  return width;
}

// The text, shortened to a width; empty if nothing useful remains.
function elided(context, text, width) {
  text = text.length > 200 ? text.slice(0, 200) : text;
  const whole = widthOf(context, text);
  if (whole <= width) return text;
  const letters = Math.floor(text.length * width / whole) - 2;
  return letters < 2 ? "" : text.slice(0, letters) + "\u2026";
}

function drawLanes() {
  const scroller = element("scroller");
  const width = scroller.clientWidth, height = scroller.clientHeight;
  const context = contextOf(element("lanes"), width, height);
  element("spacer").style.height = Math.max(0, app.height - height) + "px";
  const left = labelWidth(), plot = width - left;
  const scale = window.devicePixelRatio || 1;
  const columns = Math.max(1, Math.round(plot * scale));
  const perPixel = (app.view.to - app.view.from) / columns;
  const top = scroller.scrollTop;
  const visible = [];
  for (const entry of app.layout)
    for (const item of entry.rows)
      if (item.y + item.height > top && item.y < top + height) visible.push({entry, item});
  drawGround(context, left, plot, top, height);
  const pixels = pixelLines(columns, 2 * visible.length);
  const labels = [];
  visible.forEach(({entry, item}, i) => {
    const shades = palette[entry.lane.kind === "thread" ? "thread" : "stream"];
    paintRow(item.row, app.run.hues, shades.pixels, app.view.from, perPixel, columns, pixels, 2 * i * columns, LEAST_WIDE * scale,
      (index, x, end) => labels.push({item, shades, index, x: left + x / scale, end: left + end / scale}));
    if (item.row.found) paintFound(item.row, palette.found, app.view.from, perPixel, columns, pixels, (2 * i + 1) * columns);
  });
  if (visible.length > 0) lines.canvas.getContext("2d").putImageData(lines.image, 0, 0, 0, 0, columns, 2 * visible.length);
  visible.forEach(({item}, i) => {
    context.drawImage(lines.canvas, 0, 2 * i, columns, 1, left, item.y - top, plot, item.height);
    if (item.row.found) context.drawImage(lines.canvas, 0, 2 * i + 1, columns, 1, left, item.y - top + item.height - 3, plot, 3);
  });
  drawBoxLabels(context, labels, top);
  drawSelection(context, left, plot, top, height);
  drawLaneLabels(context, left, top, height);
}

function timeToX(left, plot) {
  const {from, to} = app.view;
  return time => left + (time - from) / (to - from) * plot;
}

function drawGround(context, left, plot, top, height) {
  context.fillStyle = palette["lane-ground"];
  for (const entry of app.layout)
    if (entry.y + entry.height > top && entry.y < top + height) context.fillRect(left, entry.y - top, plot, entry.height);
  const at = timeToX(left, plot);
  context.fillStyle = palette.grid;
  for (const tick of ticks(plot).times) context.fillRect(Math.round(at(tick)), 0, 1, height);
  context.fillStyle = palette["strong-line"];
  for (const [, start] of visibleSteps()) context.fillRect(Math.round(at(start)), 0, 1, height);
}

function drawBoxLabels(context, labels, top) {
  for (const {item, shades, index, x, end} of labels) {
    const name = item.row.names[index];
    const hue = app.run.hues[name];
    if (hue >= FIRST_GAP || HUES[hue] === "busy") continue;
    const text = elided(context, app.run.labels[name], end - x - 6);
    if (text === "") continue;
    context.fillStyle = shades.texts[hue];
    context.fillText(text, x + 3, item.y - top + item.height / 2 + 0.5);
  }
}

function drawSelection(context, left, plot, top, height) {
  const at = timeToX(left, plot);
  const clamp = x => Math.min(Math.max(x, left), left + plot);
  if (app.span) {
    const [x, end] = [clamp(at(app.span.from)), clamp(at(app.span.to))];
    context.globalAlpha = 0.14;
    context.fillStyle = palette.accent;
    context.fillRect(x, 0, end - x, height);
    context.globalAlpha = 1;
    context.fillRect(x, 0, 1, height);
    context.fillRect(end - 1, 0, 1, height);
  }
  if (!app.selection) return;
  const item = app.layout.find(entry => entry.laneIndex === app.selection.lane)?.rows[app.selection.row];
  const box = boxOf(app.selection);
  if (!item || box.end < app.view.from || box.start > app.view.to) return;
  const x = clamp(at(box.start)) - 1;
  context.strokeStyle = palette.text;
  context.lineWidth = 2;
  context.strokeRect(x, item.y - top, Math.max(4, clamp(at(box.end)) - x + 1), item.height);
}

function drawLaneLabels(context, left, top, height) {
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, left, height);
  for (const entry of app.layout) {
    if (entry.y + entry.height < top || entry.y > top + height) continue;
    const y = entry.y - top + 8;
    const fold = entry.lane.rows.length > 1 ? (app.folded.has(entry.laneIndex) ? "\u25b8 " : "\u25be ") : "";
    context.fillStyle = palette.text;
    context.fillText(elided(context, fold + entry.lane.title, left - 10), 8, y);
    if (entry.lane.detail === "" || entry.height < LEAST_LANE) continue;
    context.fillStyle = palette["dim-text"];
    context.fillText(elided(context, entry.lane.detail, left - 10), 8, y + 14);
  }
  context.fillStyle = palette.line;
  context.fillRect(left - 1, 0, 1, height);
}

// --- ruler and overview ----------------------------------------------------------------------------------------------

// Round times about a hundred pixels apart, and the unit to write them in.
function ticks(plot) {
  const {from, to} = app.view;
  const wanted = (to - from) / Math.max(2, plot / 100);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = Math.max(1, [1, 2, 5, 10].find(factor => factor * power >= wanted) * power);
  const times = [];
  for (let k = Math.max(0, Math.ceil(from / step)); k * step <= to; k++) times.push(k * step);
  const [size, word] = unitFor(TIME_UNITS, Math.max(Math.abs(from), Math.abs(to)));
  return {times, size, word, digits: Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9))};
}

function visibleSteps() {
  return app.run.steps.filter(([, start, end]) => end >= app.view.from && start <= app.view.to);
}

function drawRuler() {
  const width = element("scroller").clientWidth, left = labelWidth(), plot = width - left;
  const context = contextOf(element("ruler"), width, RULER);
  const at = timeToX(left, plot);
  let until = left;
  context.fillStyle = palette.text;
  for (const [text, start] of visibleSteps()) {
    const x = Math.max(left, at(start)) + 3;
    if (x < until || x + widthOf(context, text) > width) continue;
    context.fillText(text, x, 9);
    until = x + widthOf(context, text) + 12;
  }
  const {times, size, word, digits} = ticks(plot);
  context.fillStyle = palette["dim-text"];
  times.forEach(time => {
    const text = (time / size).toFixed(digits) + "\u2009" + word;
    const x = at(time);
    if (x + widthOf(context, text) + 4 > width) return;
    context.fillRect(Math.round(x), RULER - 5, 1, 5);
    context.fillText(text, x + 3, RULER - 10);
  });
  if (app.span) drawSpanLength(context, at, left, width);
}

function drawSpanLength(context, at, left, width) {
  const text = timeText(app.span.to - app.span.from);
  const room = widthOf(context, text) + 12;
  const middle = (at(app.span.from) + at(app.span.to)) / 2;
  const x = Math.min(Math.max(middle - room / 2, left), width - room);
  context.fillStyle = palette.accent;
  context.fillRect(x, 1, room, 16);
  context.fillStyle = palette.surface;
  context.fillText(text, x + 6, 9);
}

const overview = {key: "", picture: document.createElement("canvas")};

// The lanes that stand for the whole run: streams, or what there is.
function overviewRows() {
  for (const kind of ["stream", "thread", "ranges"]) {
    const rows = app.run.lanes.filter(lane => lane.kind === kind).map(lane => lane.rows[0]).filter(Boolean);
    if (rows.length > 0) return {rows: rows.slice(0, 12), shades: palette[kind === "thread" ? "thread" : "stream"]};
  }
  return {rows: [], shades: palette.stream};
}

function paintOverview(columns) {
  const {rows, shades} = overviewRows();
  const picture = overview.picture;
  picture.width = columns;
  picture.height = Math.max(1, rows.length);
  const image = picture.getContext("2d").createImageData(columns, picture.height);
  const pixels = new Uint32Array(image.data.buffer).fill(palette.ground);
  rows.forEach((row, i) =>
    paintRow(row, app.run.hues, shades.pixels, 0, Math.max(1, app.run.length) / columns, columns, pixels, i * columns, Infinity, null));
  picture.getContext("2d").putImageData(image, 0, 0);
}

function drawOverview() {
  const width = element("scroller").clientWidth, left = labelWidth(), plot = width - left;
  const context = contextOf(element("overview"), width, OVERVIEW);
  const columns = Math.max(1, Math.round(plot * (window.devicePixelRatio || 1)));
  const key = [columns, palette.dark, app.run.title].join("|");
  if (overview.key !== key) {
    paintOverview(columns);
    overview.key = key;
  }
  context.drawImage(overview.picture, left, 6, plot, OVERVIEW - 12);
  const at = time => left + time / Math.max(1, app.run.length) * plot;
  const x = Math.max(left, at(app.view.from)), end = Math.min(width, Math.max(at(app.view.to), x + 3));
  context.globalAlpha = 0.65;
  context.fillStyle = palette.surface;
  context.fillRect(left, 6, x - left, OVERVIEW - 12);
  context.fillRect(end, 6, width - end, OVERVIEW - 12);
  context.globalAlpha = 1;
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.5;
  context.strokeRect(x, 5, Math.max(2, end - x - 1), OVERVIEW - 10);
  context.fillStyle = palette["dim-text"];
  context.fillText("Whole run", 8, OVERVIEW / 2 - (narrow() ? 0 : 7));
  if (!narrow()) context.fillText(timeText(app.run.length), 8, OVERVIEW / 2 + 7);
}
