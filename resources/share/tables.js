// Details of a box, sums of a span, search, and the table of kernels.

const MOST_ROWS = 200;
const MOST_FOUND = 2000;

// An element with text; text from a recording is never markup.
function make(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function swatch(hue) {
  return make("span", "", {class: "swatch hue-" + HUES[hue], "aria-hidden": "true"});
}

function eachRow(visit) {
  app.run.lanes.forEach((lane, laneIndex) => lane.rows.forEach((row, rowIndex) => visit(row, laneIndex, rowIndex, lane)));
}

function say(text) {
  element("status").textContent = text;
}

// --- one box ---------------------------------------------------------------------------------------------------------

// The boxes of the lane that enclose a box, outermost first.
function enclosing({lane, row, index}) {
  const {start, end} = boxOf({lane, row, index});
  const labels = [];
  for (let above = 0; above < row; above++) {
    const {starts, ends, names, size} = app.run.lanes[lane].rows[above];
    const at = upperBound(starts, start, 0, size) - 1;
    if (at >= 0 && ends[at] >= end) labels.push(app.run.labels[names[at]]);
  }
  return labels;
}

function instancesOf(name) {
  let count = 0, total = 0;
  eachRow(row => {
    for (let i = 0; i < row.size; i++)
      if (row.names[i] === name) {
        count++;
        total += row.ends[i] - row.starts[i];
      }
  });
  return {count, total};
}

function factsOf(place) {
  const box = boxOf(place);
  const {run} = app;
  const lane = run.lanes[place.lane];
  const kernel = lane.kind === "stream" && run.kernels.find(each => each.name === run.texts[box.name]);
  const {count, total} = instancesOf(box.name);
  const before = place.index > 0 ? box.start - box.boxes.ends[place.index - 1] : 0;
  const facts = [["Duration", `${timeText(box.length)} (${grouped(box.length)}\u2009ns)`], ["Start", timeText(box.start)], ["Lane", lane.title],
    ["Kind", HUE_WORDS[run.hues[box.name]]]];
  if (kernel && kernel.does) facts.push(["Purpose", kernel.does]);
  const outer = enclosing(place);
  if (outer.length > 0) facts.push(["Within", outer.join(" \u203a ")]);
  if (before > 0) facts.push(["Gap before", timeText(before)]);
  facts.push(["Instances", `${grouped(count)}, ${timeText(total)} in total, ${timeText(total / count)} on average`]);
  return facts;
}

function select(place, {show = false} = {}) {
  app.selection = place;
  const panel = element("details");
  if (!place) {
    panel.replaceChildren(make("p", "Select a box to see its details.", {class: "hint"}));
  } else {
    const {name, length} = boxOf(place);
    const title = make("h3", app.run.labels[name]);
    title.prepend(swatch(app.run.hues[name]));
    const list = make("dl");
    for (const [key, value] of factsOf(place)) list.append(make("dt", key), make("dd", value));
    panel.replaceChildren(title, make("p", app.run.texts[name], {class: "name"}), list);
    say(`${app.run.labels[name]}, ${timeText(length)}`);
    if (show) showBox(place);
  }
  requestDraw();
}

function stepInRow(by) {
  const {selection} = app;
  if (!selection) return selectFirst();
  const index = selection.index + by;
  if (index >= 0 && index < app.run.lanes[selection.lane].rows[selection.row].size) select({...selection, index}, {show: true});
}

// The first box in view, for those who start with the keyboard.
function selectFirst() {
  for (const kind of ["stream", "thread", "ranges"])
    for (const entry of app.layout.filter(each => each.lane.kind === kind)) {
      const row = entry.rows[0]?.row;
      const index = row ? upperBound(row.ends, app.view.from, 0, row.size) : 0;
      if (row && index < row.size && row.starts[index] < app.view.to) return select({lane: entry.laneIndex, row: 0, index}, {show: true});
    }
}

// The next or previous box with the name of the selected one.
function stepInstance(by) {
  if (!app.selection) return;
  const {name, start} = boxOf(app.selection);
  let best = null, distance = Infinity;
  eachRow((row, lane, rowIndex) => {
    for (let i = 0; i < row.size; i++) {
      const away = (row.starts[i] - start) * by;
      if (row.names[i] === name && away > 0 && away < distance) {
        distance = away;
        best = {lane, row: rowIndex, index: i};
      }
    }
  });
  if (best) select(best, {show: true});
}

// --- a span ----------------------------------------------------------------------------------------------------------

// Adds the time of a row's boxes within the span to their names, and takes that of the row below from the boxes
// that hold them, so that nested ops count their own time.
function addSelf(rows, from, to, sums) {
  rows.forEach((row, depth) => {
    const above = depth > 0 ? rows[depth - 1] : null;
    let parent = 0;
    for (let i = upperBound(row.ends, from, 0, row.size); i < row.size && row.starts[i] < to; i++) {
      const time = Math.min(row.ends[i], to) - Math.max(row.starts[i], from);
      const name = row.names[i];
      sums.time[name] += time;
      sums.count[name]++;
      if (!above) continue;
      parent = gallop(above.starts, row.starts[i] + 0.5, Math.max(0, parent - 1), above.size);
      if (parent > 0 && above.ends[parent - 1] >= row.ends[i]) sums.time[above.names[parent - 1]] -= time;
    }
  });
}

// Per name the time and number of kernels within the span; without a stream those of ops, by self time.
function spanSums({from, to}) {
  const {run} = app;
  const sums = {time: new Float64Array(run.names.length), count: new Uint32Array(run.names.length)};
  const streams = run.lanes.filter(lane => lane.kind === "stream");
  for (const lane of streams)
    for (const row of lane.rows) addSelf([row], from, to, sums);
  if (streams.length === 0) for (const lane of run.lanes) if (lane.kind === "thread") addSelf(lane.rows, from, to, sums);
  const rows = [];
  sums.count.forEach((count, name) => count > 0 && rows.push({name, count, time: sums.time[name]}));
  rows.sort((a, b) => b.time - a.time);
  return {rows, what: streams.length > 0 ? "Kernel" : "Op (self time)"};
}

function busyText({from, to}) {
  const lanes = app.run.lanes.filter(lane => lane.kind === "busy" && lane.rows.length > 0);
  const shares = lanes.map(lane => {
    const share = coveredTime(lane.rows[0], app.run.hues, from, to) / (to - from) * 100;
    return `${lane.title} ${threeDigits(share)}\u2009%`;
  });
  return shares.length > 4 ? "" : shares.join(", ");
}

function setSpan(from, to) {
  app.span = to > from ? {from: Math.max(0, from), to: Math.min(to, app.run.length)} : null;
  if (app.span && app.span.to <= app.span.from) app.span = null;
  requestDraw();
}

function describeSpan() {
  const panel = element("span");
  if (!app.span) return panel.replaceChildren(make("p", "Select a span of time to see its sums.", {class: "hint"}));
  const {rows, what} = spanSums(app.span);
  const length = app.span.to - app.span.from;
  const total = rows.reduce((sum, row) => sum + row.time, 0);
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  const texts = [timeText(length), busyText(app.span)];
  const curves = app.run.curves.filter(each => each.size > 0);
  for (const curve of curves)
    texts.push(`${curves.length > 1 ? namesOf(curve) + " " : ""}peak ${byteText(highestWithin(curve, 0, app.span.from, app.span.to))}`);
  const table = make("table");
  const head = table.createTHead().insertRow();
  for (const title of [what, "n", "Time", "Share"]) head.append(make("th", title, {scope: "col"}));
  const body = table.createTBody();
  for (const row of rows.slice(0, 12)) {
    const cells = body.insertRow();
    const name = make("td", app.run.labels[row.name], {title: app.run.texts[row.name]});
    name.prepend(swatch(app.run.hues[row.name]));
    cells.append(name, make("td", grouped(row.count)), make("td", timeText(row.time)), make("td", percent(row.time, total)));
  }
  const foot = table.createTFoot().insertRow();
  const sum = rows.length > 12 ? `Sum of ${grouped(rows.length)} names` : "Sum";
  foot.append(make("td", sum), make("td", grouped(count)), make("td", timeText(total), {"data-ns": total, title: `${grouped(total)}\u2009ns`}),
    make("td", percent(total, total)));
  panel.replaceChildren(make("p", texts.filter(Boolean).join(" \u00b7 "), {class: "key"}), table);
  say(`Span of ${timeText(length)}`);
}

function percent(part, whole) {
  return whole > 0 ? threeDigits(part / whole * 100) + "\u2009%" : "\u2013";
}

// --- search ----------------------------------------------------------------------------------------------------------

// Marks the boxes whose name satisfies `matches`; the longest are listed.
function find(matches) {
  const {run} = app;
  const wanted = Uint8Array.from(run.names, (name, i) => matches(run.texts[i], run.labels[i]) && run.hues[i] < FIRST_GAP ? 1 : 0);
  let list = [], total = 0, least = -1;
  const longest = () => {
    list.sort((a, b) => b.length - a.length);
    list = list.slice(0, MOST_FOUND);
    if (list.length === MOST_FOUND) least = list[MOST_FOUND - 1].length;
  };
  eachRow((row, lane, rowIndex) => {
    const found = [];
    for (let i = 0; i < row.size; i++) {
      if (!wanted[row.names[i]]) continue;
      found.push(i);
      const length = row.ends[i] - row.starts[i];
      if (length <= least) continue;
      list.push({lane, row: rowIndex, index: i, length});
      if (list.length >= 2 * MOST_FOUND) longest();
    }
    row.found = found.length > 0 ? found : null;
    total += found.length;
  });
  longest();
  app.search = {list, total, at: -1};
  requestDraw();
}

function clearSearch() {
  app.search = null;
  eachRow(row => row.found = null);
  showSearch();
  requestDraw();
}

function showSearch() {
  const {search} = app;
  element("found").textContent = !search ? "" : search.total === 0 ? "none" : `${search.at + 1}/${grouped(search.total)}`;
  element("previous").disabled = element("next").disabled = !search || search.total === 0;
}

function search(text) {
  const wanted = text.toLowerCase();
  if (wanted === "") return clearSearch();
  find((name, label) => name.toLowerCase().includes(wanted) || label.toLowerCase().includes(wanted));
  if (app.search.total > 0) stepFound(1);
  showSearch();
  say(`${app.search.total} found`);
}

function stepFound(by) {
  const {search} = app;
  if (!search || search.list.length === 0) return;
  search.at = (search.at + by + search.list.length) % search.list.length;
  select(search.list[search.at], {show: true});
  showSearch();
}

// --- waiting ---------------------------------------------------------------------------------------------------------

// The table of `tilescope show FILE waiting`, whose cells are texts.
function showWaiting() {
  const {waiting} = app.run;
  element("waiting-panel").hidden = !waiting;
  const panel = element("waiting");
  panel.replaceChildren();
  element("waiting-notes").replaceChildren();
  if (!waiting) return;
  const align = (cell, column) => {
    cell.classList.toggle("text", !column.number);
    return cell;
  };
  const head = panel.createTHead().insertRow();
  for (const column of waiting.columns) head.append(align(make("th", column.title, {scope: "col"}), column));
  const body = panel.createTBody();
  for (let i = 0; i < waiting.rows; i++) {
    const row = body.insertRow();
    for (const column of waiting.columns) row.append(align(make("td", column.cells[i], {title: column.cells[i]}), column));
  }
  element("waiting-notes").append(...waiting.notes.map(note => make("p", note)));
}

// --- kernels ---------------------------------------------------------------------------------------------------------

const COLUMNS = [{key: "name", title: "Kernel", text: true}, {key: "family", title: "Family", text: true}, {key: "instances", title: "Instances"},
  {key: "total", title: "Total"}, {key: "average", title: "Average"}, {key: "min", title: "Min"}, {key: "max", title: "Max"},
  {key: "share", title: "Share"}];
const table = {sort: "total", descending: true, filter: "", all: false};

function kernelValue(kernel, key) {
  if (key === "average") return kernel.total / kernel.instances;
  if (key === "share") return kernel.total;
  if (key === "family") return HUE_WORDS[kernel.hue];
  return key === "name" ? (kernel.short || kernel.name).toLowerCase() : kernel[key];
}

function chosenKernels() {
  const wanted = table.filter.toLowerCase();
  const rows = app.run.kernels.filter(kernel =>
    [kernel.name, kernel.short, HUE_WORDS[kernel.hue]].some(text => text.toLowerCase().includes(wanted)));
  const sign = table.descending ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [kernelValue(a, table.sort), kernelValue(b, table.sort)];
    return sign * (x < y ? -1 : x > y ? 1 : 0);
  });
}

function kernelRow(kernel, whole, most) {
  const row = make("tr");
  const name = make("td", "", {title: kernel.name});
  const go = make("button", kernel.short || kernel.name, {class: "link", type: "button"});
  go.addEventListener("click", () => showKernel(kernel));
  name.append(swatch(kernel.hue), go);
  const total = make("td", timeText(kernel.total), {title: `${grouped(kernel.total)}\u2009ns`, class: "bar"});
  total.style.setProperty("--share", (kernel.total / most * 100).toFixed(2) + "%");
  row.append(name, make("td", HUE_WORDS[kernel.hue]), make("td", grouped(kernel.instances)), total,
    make("td", timeText(kernel.total / kernel.instances)), make("td", timeText(kernel.min)), make("td", timeText(kernel.max)),
    make("td", percent(kernel.total, whole)));
  return row;
}

function showKernel(kernel) {
  element("search").value = kernel.short || kernel.name;
  find(name => name === kernel.name);
  if (app.search.total > 0) stepFound(1);
  showSearch();
  element("timeline-panel").scrollIntoView({block: "nearest"});
}

function showKernels() {
  const panel = element("kernels");
  const everything = app.run.kernels.reduce((sum, kernel) => sum + kernel.total, 0);
  element("kernels-panel").hidden = app.run.kernels.length === 0;
  const rows = chosenKernels();
  const shown = table.all ? rows : rows.slice(0, MOST_ROWS);
  const most = Math.max(1, ...shown.map(kernel => kernel.total));
  const head = make("tr");
  for (const column of COLUMNS) {
    const sorted = table.sort === column.key;
    const cell = make("th", undefined, {scope: "col", "aria-sort": sorted ? (table.descending ? "descending" : "ascending") : "none"});
    const button = make("button", column.title + (sorted ? (table.descending ? " \u25be" : " \u25b4") : ""), {type: "button", "data-column": column.key});
    button.addEventListener("click", () => sortBy(column));
    cell.append(button);
    head.append(cell);
  }
  const sums = key => rows.reduce((sum, kernel) => sum + kernel[key], 0);
  const foot = make("tr");
  foot.append(make("td", rows.length === app.run.kernels.length ? "Sum" : `Sum of ${grouped(rows.length)} of ${grouped(app.run.kernels.length)}`),
    make("td", ""), make("td", grouped(sums("instances")), {"data-instances": sums("instances")}),
    make("td", timeText(sums("total")), {"data-ns": sums("total"), title: `${grouped(sums("total"))}\u2009ns`}), make("td", ""), make("td", ""),
    make("td", ""), make("td", percent(sums("total"), everything)));
  const parts = ["thead", "tbody", "tfoot"].map(tag => make(tag));
  parts[0].append(head);
  parts[1].append(...shown.map(kernel => kernelRow(kernel, everything, most)));
  parts[2].append(foot);
  panel.replaceChildren(...parts);
  const more = element("more");
  more.hidden = shown.length === rows.length;
  more.textContent = `Show all ${grouped(rows.length)}`;
}

function sortBy(column) {
  table.descending = table.sort === column.key ? !table.descending : !column.text;
  table.sort = column.key;
  showKernels();
  element("kernels").querySelector(`[data-column="${column.key}"]`).focus();
}
