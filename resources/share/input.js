// Mouse, touch and keyboard.

const ZOOM_STEP = 1.4;
const PAN_STEP = 0.2;
const CLICK_SLACK = 4; // px

function timeAt(canvas, x) {
  const left = labelWidth();
  const share = (x - left) / Math.max(1, canvas.clientWidth - left);
  return app.view.from + share * (app.view.to - app.view.from);
}

function pointOf(event, canvas) {
  const area = canvas.getBoundingClientRect();
  return {x: event.clientX - area.left, y: event.clientY - area.top};
}

// --- tooltip ---------------------------------------------------------------------------------------------------------

function showTip(event, text) {
  const tip = element("tip");
  tip.hidden = text === "";
  if (tip.hidden) return;
  tip.textContent = text;
  const room = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - room.width - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 16, window.innerHeight - room.height - 8)) + "px";
}

function tipOf(place) {
  if (!place) return "";
  const {name, length} = boxOf(place);
  const gap = app.run.hues[name] >= FIRST_GAP;
  return `${gap ? "Idle: " : ""}${app.run.labels[name]}\n${timeText(length)}`;
}

// --- pointers on a canvas whose x is time ------------------------------------------------------------------------------

// One pointer selects a span or pans, two pinch. A touch pans unless "Select span" is on.
function listenTo(canvas, {click, tip}) {
  const pointers = new Map();
  let drag = null;

  const begin = (event, point) => {
    const wantsSpan = event.pointerType === "mouse" ? event.button === 0 && !event.shiftKey : element("span-mode").getAttribute("aria-pressed") === "true";
    drag = {start: point, last: point, moved: false, span: wantsSpan, time: timeAt(canvas, point.x)};
  };
  const pinch = () => {
    const [a, b] = [...pointers.values()];
    const [now, before] = [Math.abs(a.now.x - b.now.x), Math.abs(a.before.x - b.before.x)];
    const middle = (a.before.x + b.before.x) / 2;
    const time = timeAt(canvas, middle);
    if (before > 10 && now > 10) zoom(now / before, time);
    pan(-((a.now.x + b.now.x) / 2 - middle) / Math.max(1, canvas.clientWidth - labelWidth()));
  };
  const move = point => {
    drag.moved ||= Math.hypot(point.x - drag.start.x, point.y - drag.start.y) > CLICK_SLACK;
    if (!drag.moved || drag.start.x < labelWidth()) return;
    if (drag.span) {
      const time = timeAt(canvas, point.x);
      setSpan(Math.min(time, drag.time), Math.max(time, drag.time));
    } else {
      pan(-(point.x - drag.last.x) / Math.max(1, canvas.clientWidth - labelWidth()));
    }
    drag.last = point;
  };

  canvas.addEventListener("pointerdown", event => {
    if (event.button > 1) return;
    if (event.button === 1) event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    const point = pointOf(event, canvas);
    pointers.set(event.pointerId, {now: point, before: point});
    if (pointers.size === 1) begin(event, point);
    else drag = null;
    element("tip").hidden = true;
  });
  canvas.addEventListener("pointermove", event => {
    const point = pointOf(event, canvas);
    const known = pointers.get(event.pointerId);
    if (!known) return showTip(event, event.pointerType === "mouse" ? tip(point) : "");
    known.before = known.now;
    known.now = point;
    if (pointers.size === 2) pinch();
    else if (drag) move(point);
    for (const each of pointers.values()) each.before = each.now;
  });
  const end = (event, happened) => {
    if (!pointers.delete(event.pointerId) || !drag) return;
    if (drag.moved && drag.span) describeSpan();
    else if (happened && !drag.moved && event.button === 0) click(drag.start);
    drag = null;
  };
  canvas.addEventListener("pointerup", event => end(event, true));
  canvas.addEventListener("pointercancel", event => end(event, false));
  canvas.addEventListener("pointerleave", () => element("tip").hidden = true);
  canvas.addEventListener("wheel", event => onWheel(event, canvas), {passive: false});
}

// Ctrl+wheel, which is also what a touchpad's pinch sends, zooms; Shift+wheel or a sideways wheel pans; else the
// lanes or the page scroll.
function onWheel(event, canvas) {
  const pixels = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * pixels * 0.003), timeAt(canvas, pointOf(event, canvas).x));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    pan((event.deltaX || event.deltaY) * pixels / Math.max(1, canvas.clientWidth - labelWidth()));
  }
}

function clickLanes(point) {
  if (point.x >= labelWidth()) return select(hit(point.x, point.y));
  const y = point.y + element("scroller").scrollTop;
  const entry = app.layout.find(each => y >= each.y && y < each.y + each.height);
  if (!entry || entry.lane.rows.length < 2) return;
  if (!app.folded.delete(entry.laneIndex)) app.folded.add(entry.laneIndex);
  arrange();
}

function dragOverview(event) {
  const canvas = element("overview");
  if (event.type === "pointermove" && event.buttons === 0) return;
  canvas.setPointerCapture(event.pointerId);
  const left = labelWidth();
  const time = (pointOf(event, canvas).x - left) / Math.max(1, canvas.clientWidth - left) * app.run.length;
  const half = (app.view.to - app.view.from) / 2;
  setView(time - half, time + half);
}

// --- keys ------------------------------------------------------------------------------------------------------------

const KEYS = [
  {keys: ["w", "+", "="], does: "Zoom in", act: () => zoom(ZOOM_STEP)},
  {keys: ["s", "-"], does: "Zoom out", act: () => zoom(1 / ZOOM_STEP)},
  {keys: ["a", "ArrowLeft"], does: "Move left", act: () => pan(-PAN_STEP), onTimeline: true},
  {keys: ["d", "ArrowRight"], does: "Move right", act: () => pan(PAN_STEP), onTimeline: true},
  {keys: ["ArrowUp"], does: "Scroll the lanes up", act: () => element("scroller").scrollTop -= 40, onTimeline: true},
  {keys: ["ArrowDown"], does: "Scroll the lanes down", act: () => element("scroller").scrollTop += 40, onTimeline: true},
  {keys: ["f"], does: "Fit the traced steps", act: fit},
  {keys: ["z"], does: "Zoom to the selection", act: zoomToSelection},
  {keys: [","], does: "Previous box of the row", act: () => stepInRow(-1)},
  {keys: ["."], does: "Next box of the row", act: () => stepInRow(1)},
  {keys: ["["], does: "Previous instance", act: () => stepInstance(-1)},
  {keys: ["]"], does: "Next instance", act: () => stepInstance(1)},
  {keys: ["m"], does: "Make the selected box the span", act: measure},
  {keys: ["Shift+ArrowLeft"], does: "Shorten the span", act: () => extendSpan(-0.05), onTimeline: true},
  {keys: ["Shift+ArrowRight"], does: "Begin or extend a span", act: () => extendSpan(0.05), onTimeline: true},
  {keys: ["/"], does: "Search", act: () => element("search").focus()},
  {keys: ["n"], does: "Next found box", act: () => stepFound(1)},
  {keys: ["Shift+n"], does: "Previous found box", act: () => stepFound(-1)},
  {keys: ["c"], does: "Fold or unfold the lane of the selection", act: foldSelected},
  {keys: ["t"], does: "Light or dark", act: toggleTheme},
  {keys: ["?"], does: "Keys and mouse", act: () => element("help").showModal()},
  {keys: ["Escape"], does: "Clear selection and span, then the search", act: clearOne},
];

function zoomToSelection() {
  const range = app.selection ? boxOf(app.selection) : app.span && {start: app.span.from, end: app.span.to};
  if (!range) return;
  const margin = Math.max(LEAST_VIEW / 2, (range.end - range.start) * 0.1);
  setView(range.start - margin, range.end + margin);
}

function measure() {
  if (!app.selection) return;
  const {start, end} = boxOf(app.selection);
  setSpan(start, end);
  describeSpan();
}

function extendSpan(share) {
  const {from, to} = app.view;
  const begin = app.span ? app.span.from : app.selection ? boxOf(app.selection).start : (from + to) / 2;
  const end = app.span ? app.span.to : begin;
  setSpan(begin, end + share * (to - from));
  describeSpan();
}

function foldSelected() {
  if (!app.selection) return;
  const lane = app.selection.lane;
  if (!app.folded.delete(lane)) app.folded.add(lane);
  arrange();
}

function clearOne() {
  if (app.selection || app.span) {
    app.span = null;
    select(null);
    describeSpan();
  } else {
    element("search").value = "";
    clearSearch();
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || element("help").open) return;
  const isField = event.target.matches("input, select");
  if (isField) {
    if (event.key === "Escape") element("scroller").focus();
    return;
  }
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shifted = event.shiftKey && /^[a-z]$|^Arrow/.test(name) ? "Shift+" + name : name;
  const known = KEYS.find(each => each.keys.includes(shifted));
  if (!known) return;
  // Elsewhere the arrows scroll the page.
  if (known.onTimeline && name.startsWith("Arrow") && !element("timeline-panel").contains(event.target)) return;
  event.preventDefault();
  known.act();
}
