// Colours come from the style sheet, which has them for light and for dark.

// In the order of query::Hue.
const HUES = ["matmul", "convolution", "attention", "softmax", "norm", "elementwise", "reduction", "embedding", "scan", "optimizer", "copy", "memset",
  "collective", "other", "range", "range-attention", "range-inner", "api", "busy", "gap-launching", "gap-synchronizing", "gap-tracing",
  "gap-unexplained"];
const HUE_WORDS = ["matmul", "convolution", "attention", "softmax", "norm", "elementwise", "reduction", "embedding", "scan", "optimizer", "copy", "memset",
  "collective", "other", "range", "range", "range", "CUDA call", "busy", "host launching", "synchronizing", "tracing", "unexplained"];
const FAMILIES = HUES.indexOf("range");
const FIRST_GAP = HUES.indexOf("gap-launching");
const SHADES = 9; // of a hue, by coverage in eighths
const LEAST_SHADE = 0.34;
const HOST_SHARE = {light: 0.62, dark: 0.78}; // of a family's colour in the lanes of threads

let palette = null;

function rgbOf(text) {
  const value = parseInt(text.trim().slice(1), 16);
  return [value >> 16 & 255, value >> 8 & 255, value & 255];
}

function mixed(top, ground, share) {
  return top.map((value, i) => Math.round(value * share + ground[i] * (1 - share)));
}

function pixelOf([red, green, blue]) {
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}

function cssOf(rgb) {
  return `rgb(${rgb.join(",")})`;
}

function luminance(rgb) {
  const [red, green, blue] = rgb.map(value => value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// Near-white or near-black, whichever contrasts more.
function textOn(rgb) {
  const own = luminance(rgb);
  return 1.05 / (own + 0.05) >= (own + 0.05) / (luminance([16, 19, 23]) + 0.05) ? "#ffffff" : "#101317";
}

// The pixels of each hue by coverage, and the text on it.
function shadesOf(hues, ground) {
  const pixels = new Uint32Array(HUES.length * SHADES);
  hues.forEach((rgb, hue) => {
    for (let eighth = 0; eighth < SHADES; eighth++)
      pixels[hue * SHADES + eighth] = pixelOf(mixed(rgb, ground, Math.max(LEAST_SHADE, eighth / 8)));
  });
  return {pixels, texts: hues.map(textOn)};
}

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const colour = name => rgbOf(style.getPropertyValue("--" + name));
  const dark = style.getPropertyValue("--is-dark").trim() === "1";
  const [surface, ground, dim, attention] = ["surface", "lane-ground", "dim-text", "attention"].map(colour);
  const blended = {"range-attention": [attention, 0.45], "range-inner": [attention, 0.75], "api": [dim, 0.55]};
  const hues = HUES.map(name => blended[name] ? mixed(blended[name][0], surface, blended[name][1]) : colour(name));
  const host = hues.map((rgb, hue) => hue < FAMILIES ? mixed(rgb, surface, dark ? HOST_SHARE.dark : HOST_SHARE.light) : rgb);
  palette = {dark, hues, ground: pixelOf(ground), stream: shadesOf(hues, ground), thread: shadesOf(host, ground)};
  palette.found = pixelOf(colour("warning"));
  for (const name of ["surface", "raised", "lane-ground", "line", "grid", "strong-line", "text", "dim-text", "accent", "activations",
    "reserved-free", "warning"])
    palette[name] = cssOf(colour(name));
}
