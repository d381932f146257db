// The memory of a run over its allocations and frees: a canvas that is zoomed, stacked by category or by layer.

const NO_LAYER = -1;

/** Undoes the coding of timeline_html.cpp: numbers of seven bits a byte, lowest first. */
function numbersOf(base64) {
  const raw = atob(base64);
  const out = [];
  for (let i = 0, value = 0, factor = 1; i < raw.length; ++i) {
    const byte = raw.charCodeAt(i);
    value += (byte & 127) * factor;
    factor *= 128;
    if (byte < 128) { out.push(value); value = 0; factor = 1; }
  }
  return out;
}

/** Allocations and, by event, the level and what it did. */
function readRun(run) {
  const code = numbersOf(run.events);
  const allocations = [];  // {kind, layer, from, to}
  const effect = [];       // by event: allocation number + 1, negative for a free, 0 for neither
  for (let i = 0; i < code.length;) {
    const word = code[i++];
    const value = Math.floor(word / 4), type = word % 4;
    if (type === 0) {
      allocations.push({kind: run.kinds[value], layer: code[i++] - 1, from: effect.length, to: Infinity});
      effect.push(allocations.length);
    } else if (type === 1) {
      const number = allocations.length - value;
      allocations[number - 1].to = effect.length;
      effect.push(-number);
    } else {
      effect.push(0);
    }
  }
  const requested = new Float64Array(effect.length + 1), allocated = new Float64Array(effect.length + 1);
  const reserved = new Float64Array(effect.length + 1);
  effect.forEach((e, i) => {
    const kind = e ? allocations[Math.abs(e) - 1].kind : null;
    requested[i + 1] = requested[i] + (kind ? Math.sign(e) * kind[0] : 0);
    allocated[i + 1] = allocated[i] + (kind ? Math.sign(e) * (kind[0] + kind[1]) : 0);
  });
  let at = 0, level = 0;
  for (let i = 0, next = 0; i <= effect.length; ++i) {
    while (next < run.reserved.length && at + run.reserved[next] <= i) {
      at += run.reserved[next];
      level += run.reserved[next + 1];
      next += 2;
    }
    reserved[i] = level;
  }
  return {...run, allocations, effect, requested, allocated, reserved, instants: effect.length + 1};
}

/** How allocations are stacked: the group of an allocation, and what groups are called and drawn in. */
const STACKS = {
  category: {
    label: "by category",
    groups: (run) => run.categories.map((name, i) => ({name: name.replaceAll("_", " "), colour: COLOURS[i % COLOURS.length]})),
    of: (a) => a.kind[2],
  },
  layer: {
    label: "by layer",
    groups: (run) => [{name: "weights, and outside of the layers", colour: "#999999"},
      ...Array.from({length: run.layers}, (_, i) => ({name: `layer ${i}`, colour: layerColour(i, run.layers)}))],
    of: (a) => a.layer - NO_LAYER,
  },
};

/** From blue to yellow, as cividis does: light and dark tell the layers apart, also without colours. */
function layerColour(i, count) {
  const t = count > 1 ? i / (count - 1) : 0;
  const stops = [[0, 62, 120], [96, 110, 125], [158, 149, 110], [253, 225, 70]];
  const place = t * (stops.length - 1), low = Math.min(stops.length - 2, Math.floor(place));
  const mix = stops[low].map((c, k) => Math.round(c + (stops[low + 1][k] - c) * (place - low)));
  return `rgb(${mix.join(",")})`;
}

class Chart {
  constructor(run, highest, number) {
    this.run = run;
    this.highest = highest;
    this.from = 0;
    this.to = run.instants;
    this.cursor = null;  // {at, level}
    this.stack = "category";
    this.canvas = element("canvas", {tabindex: "0", role: "application", "aria-describedby": `said${number}`,
      "aria-label": `Memory over the run ${run.title}. Left and right move, plus and minus zoom, 0 shows all, p is the next peak.`});
    this.said = element("div", {class: "said", id: `said${number}`, "aria-live": "polite"},
      element("p", {class: "quiet"}, "Point at the picture, or move the cursor with the arrow keys: what is there is said here."));
    this.legend = element("tbody");
    this.listen();
  }

  groups() { return STACKS[this.stack].groups(this.run); }

  show() {
    const places = element("select", {"aria-label": "Part of the run", onchange: (e) => this.zoom(...e.target.value.split(",").map(Number))},
      ...this.parts().map(([name, from, to]) => element("option", {value: `${from},${to}`}, name)));
    const stacks = Object.entries(STACKS).map(([key, {label}]) => element("button", {class: "plain", type: "button",
      "aria-pressed": String(key === this.stack), onclick: () => this.restack(key), "data-stack": key}, label));
    this.stackButtons = stacks;
    const step = (name, label, act) => element("button", {class: "plain", type: "button", "aria-label": label, onclick: act}, name);
    const tools = element("div", {class: "tools"}, ...stacks, places,
      step("−", "zoom out", () => this.scale(2)), step("+", "zoom in", () => this.scale(0.5)),
      step("←", "earlier", () => this.pan(-0.4)), step("→", "later", () => this.pan(0.4)),
      step("all", "the whole run", () => this.zoom(0, this.run.instants)));
    const table = element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, "from below"),
      element("th", {class: "number"}, "here"), element("th", {class: "number"}, "at the peak"))), this.legend);
    return element("section", {}, element("h2", {}, this.run.title), element("p", {class: "quiet"}, element("code", {}, this.run.command)),
      ...this.facts().map((line) => element("p", {}, line)), tools, this.canvas, this.said,
      element("div", {class: "tables"}, element("div", {class: "scroll"}, table), element("div", {class: "scroll"}, this.peaks())));
  }

  facts() {
    const {run} = this;
    const out = [`Highest: ${sizeText(this.max(run.requested))} requested, ${sizeText(this.max(run.allocated))} allocated, ` +
      `${sizeText(this.max(run.reserved))} reserved.`];
    if (run.limit) out.push(`${run.card}: ${sizeText(run.limit)} usable (${run.verdict.replaceAll("_", " ")}).`);
    if (run.oom) out.push(`On this GPU the run ends in ${run.oom[1]}, at the mark "out of memory"; what is drawn behind it is the same ` +
      "run on a GPU that is large enough.");
    return out;
  }

  max(levels) { let out = 0; for (const level of levels) if (level > out) out = level; return out; }

  parts() {
    const {windows, instants} = this.run;
    const out = [["the whole run", 0, instants]];
    windows.forEach(([name, first], i) => {
      const part = name.startsWith("step") ? name.split(".")[0] : name;
      const end = i + 1 < windows.length ? windows[i + 1][1] : instants - 1;
      const last = out[out.length - 1];
      if (last[0] === part) last[2] = end + 1;
      else if (end > first) out.push([part, first, end + 1]);
    });
    return out;
  }

  peaks() {
    const rows = this.run.peaks.map((peak, i) => element("tr", {},
      element("td", {}, element("button", {class: "plain", type: "button", onclick: () => this.goTo(i)}, peak[0] || "·")),
      element("td", {}, peak[1].replaceAll("_", " ")), element("td", {}, peak[2]),
      ...peak.slice(4, 7).map((bytes) => element("td", {class: "number"}, sizeText(bytes)))));
    return element("table", {}, element("thead", {}, element("tr", {},
      ...["mark", "peak", "window"].map((t) => element("th", {}, t)),
      ...["requested", "allocated", "reserved"].map((t) => element("th", {class: "number"}, t)))), element("tbody", {}, ...rows));
  }

  goTo(i) {
    const at = this.run.peaks[i][3];
    const span = Math.min(this.to - this.from, Math.max(60, this.run.instants / 20));
    this.zoom(at - span / 2, at + span / 2);
    this.point({at, level: 0});
    this.canvas.focus();
  }

  restack(key) {
    this.stack = key;
    for (const button of this.stackButtons) button.setAttribute("aria-pressed", String(button.dataset.stack === key));
    this.draw();
    this.fillLegend();
  }

  zoom(from, to) {
    const span = Math.min(this.run.instants, Math.max(10, Math.round(to - from)));
    this.from = Math.max(0, Math.min(this.run.instants - span, Math.round(from)));
    this.to = this.from + span;
    this.draw();
  }
  scale(factor) {
    const span = (this.to - this.from) * factor;
    const middle = this.cursor && this.cursor.at >= this.from && this.cursor.at < this.to ? this.cursor.at : (this.from + this.to) / 2;
    this.zoom(middle - span / 2, middle + span / 2);
  }
  pan(part) { const by = Math.max(1, Math.abs((this.to - this.from) * part)) * Math.sign(part); this.zoom(this.from + by, this.to + by); }

  /** Sums of the groups at some instants, in rising order: one walk. */
  sumsAt(instants) {
    const of = STACKS[this.stack].of, {effect, allocations} = this.run;
    const sums = new Float64Array(this.groups().length), out = [];
    let i = 0;
    for (const at of instants) {
      for (; i < at; ++i) {
        const e = effect[i];
        if (e) { const a = allocations[Math.abs(e) - 1]; sums[of(a)] += Math.sign(e) * a.kind[0]; }
      }
      out.push(Float64Array.from(sums));
    }
    return out;
  }

  /** The highest instant of each column of pixels. */
  columns(width) {
    const {requested} = this.run, out = [];
    for (let x = 0; x < width; ++x) {
      const begin = Math.floor(this.from + (this.to - this.from) * x / width);
      const end = Math.max(begin + 1, Math.floor(this.from + (this.to - this.from) * (x + 1) / width));
      let best = begin;
      for (let i = begin + 1; i < end && i < requested.length; ++i) if (requested[i] > requested[best]) best = i;
      out.push(Math.min(best, requested.length - 1));
    }
    return out;
  }

  draw() {
    const ratio = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    if (!box.width) return;
    this.canvas.width = box.width * ratio;
    this.canvas.height = box.height * ratio;
    const pen = this.canvas.getContext("2d"), style = getComputedStyle(document.body);
    pen.scale(ratio, ratio);
    this.plot = {left: 58, top: 46, width: Math.max(50, box.width - 66), height: box.height - 46 - 30};
    const ink = {text: style.getPropertyValue("--text"), quiet: style.getPropertyValue("--quiet"), line: style.getPropertyValue("--line"),
      mark: style.getPropertyValue("--mark")};
    pen.font = "12px system-ui, sans-serif";
    this.drawScale(pen, ink);
    this.drawStack(pen, ink);
    this.drawPeaks(pen, ink);
    this.drawLimit(pen, ink);
    this.drawWindows(pen, ink);
    this.drawCursor(pen, ink);
  }

  x(at) { return this.plot.left + (at - this.from) / (this.to - this.from) * this.plot.width; }
  y(bytes) { return this.plot.top + this.plot.height * (1 - bytes / this.highest); }

  drawScale(pen, ink) {
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((n) => [n / 1024 / 1024, n / 1024, n / 10, n].map((m) => m * 2 ** 30)).sort((a, b) => a - b);
    const step = steps.find((s) => this.highest / s <= 8) || this.highest;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (let bytes = 0; bytes <= this.highest; bytes += step) {
      pen.strokeStyle = ink.line;
      pen.beginPath();
      pen.moveTo(this.plot.left, this.y(bytes));
      pen.lineTo(this.plot.left + this.plot.width, this.y(bytes));
      pen.stroke();
      pen.fillStyle = ink.quiet;
      const unit = step >= 2 ** 30 / 10 ? ["GiB", 2 ** 30] : ["MiB", 2 ** 20];
      pen.fillText(`${+(bytes / unit[1]).toFixed(1)} ${unit[0]}`, this.plot.left - 5, this.y(bytes));
    }
  }

  drawStack(pen, ink) {
    const width = Math.floor(this.plot.width), columns = this.columns(width), sums = this.sumsAt(columns), groups = this.groups();
    const base = new Float64Array(width);
    groups.forEach((group, g) => {
      pen.fillStyle = group.colour;
      for (let x = 0; x < width; ++x) {
        const bytes = sums[x][g];
        if (bytes <= 0) continue;
        const top = this.y(base[x] + bytes), height = this.y(base[x]) - top;
        if (height > 0.2) pen.fillRect(this.plot.left + x, top, 1.05, height);
        base[x] += bytes;
      }
    });
    const line = (levels, colour, dash, wide) => {
      pen.strokeStyle = colour;
      pen.lineWidth = wide;
      pen.setLineDash(dash);
      pen.beginPath();
      columns.forEach((at, x) => pen.lineTo(this.plot.left + x, this.y(levels[at])));
      pen.stroke();
      pen.setLineDash([]);
      pen.lineWidth = 1;
    };
    line(this.run.allocated, ink.text, [], 1);
    line(this.run.reserved, ink.text, [5, 3], 1.6);
  }

  drawLimit(pen, ink) {
    if (!this.run.limit) return;
    pen.textAlign = "right";
    pen.textBaseline = "bottom";
    pen.fillStyle = pen.strokeStyle = ink.mark;
    const shown = this.run.limit <= this.highest, y = shown ? this.y(this.run.limit) : this.plot.top;
    if (shown) {
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(this.plot.left, y);
      pen.lineTo(this.plot.left + this.plot.width, y);
      pen.stroke();
      pen.lineWidth = 1;
    }
    const text = `limit ${sizeText(this.run.limit)}${shown ? "" : " ↑"}`;
    const wide = pen.measureText(text).width;
    pen.clearRect(this.plot.left + this.plot.width - wide - 6, y + (shown ? -16 : 1), wide + 6, 15);
    pen.fillText(text, this.plot.left + this.plot.width - 3, shown ? y - 2 : y + 15);
  }

  drawPeaks(pen, ink) {
    const marks = this.run.peaks.map((p) => [p[3], p[0] || "·", ink.text]);
    if (this.run.oom) marks.push([this.run.oom[0], "out of memory", ink.mark]);
    const rows = [[], [], []], names = [];
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const rank = (mark) => mark[2] === ink.mark ? 0 : mark[1] === "·" ? 2 : 1;  // letters get their places first
    for (const [at, name, colour] of marks.sort((a, b) => rank(a) - rank(b) || a[0] - b[0])) {
      if (at < this.from || at >= this.to) continue;
      const wide = pen.measureText(name).width + 6;
      const x = Math.min(Math.max(this.x(at), this.plot.left + wide / 2), this.plot.left + this.plot.width - wide / 2);
      const row = rows.findIndex((taken) => taken.every(([a, b]) => x + wide / 2 <= a || x - wide / 2 >= b));
      if (row >= 0) rows[row].push([x - wide / 2, x + wide / 2]);
      const y = 9 + Math.max(row, 0) * 14;
      pen.strokeStyle = colour;
      pen.beginPath();
      pen.moveTo(this.x(at), y + 6);
      pen.lineTo(this.x(at), this.y(this.run.requested[Math.min(at, this.run.instants - 1)]));
      pen.stroke();
      if (row >= 0) names.push([name, x, y, colour]);
    }
    for (const [name, x, y, colour] of names) {  // over the lines of all marks
      const wide = pen.measureText(name).width + 2;
      pen.clearRect(x - wide / 2, y - 6, wide, 12);
      pen.fillStyle = colour;
      pen.fillText(name, x, y);
    }
  }

  drawWindows(pen, ink) {
    pen.textAlign = "left";
    pen.textBaseline = "top";
    const y = this.plot.top + this.plot.height;
    const whole = this.to - this.from > this.run.instants / 8;
    const parts = whole ? this.parts().slice(1) : this.run.windows.map(([name, first], i) =>
      [name, first, i + 1 < this.run.windows.length ? this.run.windows[i + 1][1] : this.run.instants]);
    const taken = [];
    const byStep = (part) => part[0].startsWith("step") ? 0 : 1;  // steps get their names first
    for (const [name, from, to] of parts.slice().sort((a, b) => byStep(a) - byStep(b))) {
      if (to < this.from || from >= this.to) continue;
      const x = Math.max(this.plot.left, this.x(from)), end = x + pen.measureText(name).width + 8;
      pen.strokeStyle = ink.quiet;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(x, y + 6);
      pen.stroke();
      if (end > this.plot.left + this.plot.width + 8 || taken.some(([a, b]) => x < b && end > a)) continue;
      pen.fillStyle = ink.quiet;
      pen.fillText(name, x + 3, y + 8);
      taken.push([x, end]);
    }
  }

  drawCursor(pen, ink) {
    if (this.selection) {
      pen.fillStyle = "rgba(0, 114, 178, 0.25)";
      pen.fillRect(this.selection[0], this.plot.top, this.selection[1] - this.selection[0], this.plot.height);
    }
    if (!this.cursor || this.cursor.at < this.from || this.cursor.at >= this.to) return;
    pen.strokeStyle = ink.text;
    pen.beginPath();
    pen.moveTo(this.x(this.cursor.at), this.plot.top);
    pen.lineTo(this.x(this.cursor.at), this.plot.top + this.plot.height);
    pen.stroke();
    if (this.cursor.level) pen.strokeRect(this.x(this.cursor.at) - 3, this.y(this.cursor.level) - 3, 6, 6);
  }

  windowAt(at) {
    let name = "start";
    for (const [each, first] of this.run.windows) { if (first >= Math.max(at, 1)) break; name = each; }
    return name;
  }

  /** Living allocations of an instant, stacked as they are drawn. */
  living(at) {
    const of = STACKS[this.stack].of;
    return this.run.allocations.filter((a) => a.from < at && a.to >= at).sort((a, b) => of(a) - of(b) || a.from - b.from);
  }

  point(cursor) {
    this.cursor = cursor;
    this.draw();
    this.fillLegend();
    const {run} = this, {at, level} = cursor;
    const lines = [`Event ${grouped(at)} of ${grouped(run.instants - 1)}, ${this.windowAt(at)}: ${sizeText(run.requested[at])} requested, ` +
      `${sizeText(run.allocated[at])} allocated, ${sizeText(run.reserved[at])} reserved.`];
    let base = 0;
    for (const a of this.living(at)) {
      base += a.kind[0];
      if (base < level || (!level && a.from !== at - 1)) continue;
      const layer = a.layer >= 0 ? `layers.${a.layer}` : "";
      const module = [layer, run.modules[a.kind[4]]].filter(Boolean).join(".") || "no module";
      lines.push(`${level ? "Here" : "It begins"}: ${grouped(a.kind[0])} bytes by ${run.ops[a.kind[3]] || "no operator"} in ${module}, ` +
        `${run.categories[a.kind[2]].replaceAll("_", " ")}; from ${this.windowAt(a.from + 1)} to ` +
        `${a.to === Infinity ? "the end" : this.windowAt(a.to + 1)}.`);
      break;
    }
    this.said.replaceChildren(...lines.map((line) => element("p", {}, line)));
  }

  fillLegend() {
    const groups = this.groups();
    let highest = 0;
    this.run.requested.forEach((level, i) => { if (level > this.run.requested[highest]) highest = i; });
    const at = this.cursor ? this.cursor.at : highest;
    const order = [at, highest].sort((a, b) => a - b), sums = this.sumsAt(order);
    const now = sums[order.indexOf(at)], peak = sums[order.lastIndexOf(highest)];
    const used = groups.map((group, g) => [group, now[g], peak[g], g]).filter(([, a, b, g]) => a || b || this.everUsed(g));
    this.legend.replaceChildren(...used.map(([group, a, b]) => element("tr", {},
      element("td", {class: "name"}, element("span", {class: "swatch", style: `background:${group.colour}`}), group.name),
      element("td", {class: "number"}, this.cursor ? sizeText(a) : ""), element("td", {class: "number"}, sizeText(b)))));
  }

  everUsed(g) {
    this.used ||= {};
    this.used[this.stack] ||= new Set(this.run.allocations.map(STACKS[this.stack].of));
    return this.stack === "category" && this.used[this.stack].has(g);
  }

  placeOf(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top, {left, top, width, height} = this.plot;
    const column = Math.max(0, Math.min(Math.floor(width) - 1, Math.floor(x - left)));
    const level = this.highest * (1 - (y - top) / height);
    return {x, at: this.columns(Math.floor(width))[column], level: Math.max(0, level)};
  }

  listen() {
    let began = null;
    this.canvas.addEventListener("pointerdown", (e) => { began = this.placeOf(e); });
    this.canvas.addEventListener("pointermove", (e) => {
      if (!this.plot) return;
      const here = this.placeOf(e);
      this.selection = began && Math.abs(here.x - began.x) > 6 ? [Math.min(began.x, here.x), Math.max(began.x, here.x)] : null;
      this.point({at: here.at, level: here.level});
    });
    this.canvas.addEventListener("pointerup", (e) => {
      const here = this.placeOf(e), wide = began ? Math.abs(here.x - began.x) : 0;
      this.selection = null;
      if (wide > 6) this.zoom(Math.min(began.at, here.at), Math.max(began.at, here.at) + 1);
      else this.point({at: here.at, level: here.level});
      began = null;
    });
    this.canvas.addEventListener("dblclick", () => this.zoom(0, this.run.instants));
    this.canvas.addEventListener("wheel", (e) => { if (e.ctrlKey) { e.preventDefault(); this.scale(e.deltaY > 0 ? 1.25 : 0.8); } }, {passive: false});
    this.canvas.addEventListener("keydown", (e) => this.key(e));
  }

  key(e) {
    const at = this.cursor ? this.cursor.at : this.from;
    const step = Math.max(1, Math.round((this.to - this.from) / this.plot.width)) * (e.shiftKey ? 20 : 1);
    const move = (to) => {
      const next = Math.max(0, Math.min(this.run.instants - 1, to));
      if (next < this.from || next >= this.to) this.zoom(next - (this.to - this.from) / 2, next + (this.to - this.from) / 2);
      this.point({at: next, level: 0});
    };
    const next = [...this.run.peaks.keys()].filter((i) => this.run.peaks[i][3] > at).sort((a, b) => this.run.peaks[a][3] - this.run.peaks[b][3]);
    const acts = {
      ArrowLeft: () => move(at - step), ArrowRight: () => move(at + step), Home: () => move(0), End: () => move(this.run.instants - 1),
      "+": () => this.scale(0.5), "=": () => this.scale(0.5), "-": () => this.scale(2), 0: () => this.zoom(0, this.run.instants),
      p: () => { if (this.run.peaks.length) this.goTo(next.length ? next[0] : 0); },
    };
    if (!acts[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    acts[e.key]();
  }
}

const began = performance.now();
const runs = data.runs.map(readRun);
let scaleEnd = 1;
for (const run of runs) {
  const reserved = run.reserved.reduce((a, b) => Math.max(a, b), 0);
  scaleEnd = Math.max(scaleEnd, reserved, run.limit && run.limit < 1.5 * reserved ? run.limit : 0);
}
const charts = runs.map((run, i) => new Chart(run, scaleEnd * 1.06, i));
const place = document.getElementById("runs");
place.classList.toggle("two", charts.length > 1);
place.replaceChildren(...charts.map((chart) => chart.show()));
for (const chart of charts) { chart.draw(); chart.fillLegend(); }
document.body.dataset.drawn = (performance.now() - began).toFixed(0);
window.addEventListener("resize", () => charts.forEach((chart) => chart.draw()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.draw()));
