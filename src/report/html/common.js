// What the scripts of all pages share: sizes as text, elements.
"use strict";

// B. Wong, "Points of view: Color blindness", Nature Methods 8 (2011), and some that stay apart from them.
const COLOURS = ["#999999", "#0072B2", "#56B4E9", "#CC79A7", "#D55E00", "#009E73", "#E69F00", "#F0E442", "#8C6D31",
  "#7B4FA3", "#4C9F9F", "#B5B35C", "#C0504D", "#1B4F72", "#6E2C00"];

function sizeText(bytes) {
  const units = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
  for (const [name, unit] of units)
    if (Math.abs(bytes) >= unit) return `${(bytes / unit).toFixed(2)} ${name}`;
  return `${bytes} bytes`;
}

const grouped = (number) => number.toLocaleString("en-US");

/** An element with attributes and children; texts are texts, never HTML. */
function element(name, attributes = {}, ...children) {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) out.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) out.setAttribute(key, value);
  }
  out.append(...children);
  return out;
}
