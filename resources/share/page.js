// Puts the page together.

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  recolour();
}

function recolour() {
  readPalette();
  requestDraw();
}

// Gives the lanes the height that they need, up to what leaves room for the rest of the page.
function arrange() {
  placeLanes();
  const most = Math.max(220, window.innerHeight * (narrow() ? 0.5 : 0.55));
  element("scroller").style.height = Math.min(app.height + 1, most) + "px";
  requestDraw();
}

function showFacts() {
  const list = element("facts");
  list.replaceChildren();
  for (const [key, value] of app.run.facts) {
    const item = make("div");
    item.append(make("dt", key), make("dd", value));
    list.append(item);
  }
}

function showLegend() {
  const used = new Set(app.run.hues);
  const legend = element("legend");
  legend.replaceChildren();
  HUES.forEach((hue, i) => {
    if (!used.has(i) || HUE_WORDS[i] === "range") return;
    const item = make("span", HUE_WORDS[i], {class: "entry"});
    item.prepend(swatch(i));
    legend.append(item);
  });
}

async function showRun(source) {
  app.run = await readRun(source.textContent, Number(source.dataset.size));
  Object.assign(app, {span: null, selection: null, search: null, folded: new Set()});
  element("run-title").textContent = app.run.title;
  element("search").value = "";
  const traced = app.run.lanes.length > 0;
  element("timeline-panel").hidden = !traced;
  element("untraced").hidden = traced;
  showFacts();
  showLegend();
  showWaiting();
  showKernels();
  select(null);
  describeSpan();
  showSearch();
  arrange();
  fit();
  drawAll();
  performance.mark("painted");
}

function fillKeys() {
  const names = {ArrowLeft: "\u2190", ArrowRight: "\u2192", ArrowUp: "\u2191", ArrowDown: "\u2193", Escape: "Esc"};
  const body = element("keys");
  for (const {keys, does} of KEYS) {
    const row = body.insertRow();
    const shown = keys.filter(key => key !== "=").map(key => key.replace(/Arrow\w+/, arrow => names[arrow]).replace("Escape", "Esc"));
    row.append(make("td", shown.map(key => key.length === 1 ? key.toUpperCase() : key).join(", ")), make("td", does));
  }
}

function listen() {
  const tipAt = point => point.x < labelWidth() ? "" : tipOf(hit(point.x, point.y));
  listenTo(element("lanes"), {click: clickLanes, tip: tipAt});
  listenTo(element("ruler"), {click: () => {}, tip: () => ""});
  listenTo(element("memory"), {click: () => {}, tip: point => memoryAt(point.x, point.y)});
  listenTo(element("counters"), {click: () => {}, tip: point => counterAt(point.x, point.y)});
  element("lanes").addEventListener("dblclick", zoomToSelection);
  for (const type of ["pointerdown", "pointermove"]) element("overview").addEventListener(type, dragOverview);
  element("scroller").addEventListener("scroll", requestDraw);
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", () => app.run && arrange());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  const click = (id, act) => element(id).addEventListener("click", act);
  click("zoom-in", () => zoom(ZOOM_STEP * ZOOM_STEP));
  click("zoom-out", () => zoom(1 / ZOOM_STEP / ZOOM_STEP));
  click("fit", fit);
  click("previous", () => stepFound(-1));
  click("next", () => stepFound(1));
  click("theme", toggleTheme);
  click("keys-button", () => element("help").showModal());
  click("span-mode", event => {
    const button = event.currentTarget;
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  });
  click("more", () => {
    table.all = true;
    showKernels();
  });
  let waiting = 0;
  element("search").addEventListener("input", event => {
    clearTimeout(waiting);
    const text = event.target.value;
    waiting = setTimeout(() => search(text), 150);
  });
  element("search").addEventListener("keydown", event => {
    if (event.key === "Enter") stepFound(event.shiftKey ? -1 : 1);
  });
  element("filter").addEventListener("input", event => {
    table.filter = event.target.value;
    showKernels();
  });
}

async function start() {
  const sources = [...document.querySelectorAll("script.run")];
  const runs = element("runs");
  for (const source of sources) runs.append(make("option", "Run " + source.dataset.run, {value: source.dataset.run}));
  runs.hidden = sources.length < 2;
  runs.addEventListener("change", () => showRun(sources[runs.selectedIndex]).catch(fail));
  readPalette();
  fillKeys();
  listen();
  await showRun(sources[0]);
}

function fail(error) {
  element("run-title").textContent = "The page cannot be shown: " + error.message;
  throw error;
}

start().catch(fail);
