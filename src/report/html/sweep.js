// The ranking of a sweep as a table that can be sorted, and a map of any two of its axes.

const AXES = data.axes.length;
const OUTCOME = AXES, PEAK = AXES + 1, REQUESTED = AXES + 2, RESERVED = AXES + 3, USED = AXES + 4, COMMAND = AXES + 5;
const WORDS = ["not looked at", "fits", "tight", "does not fit"];
const MAP_COLOURS = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#7FA8D9", "#E08A4F", "#999999", "#C2A366", "#B08FCB",
  "#7DBDBD", "#B5B35C"];

const valueOf = (row, axis) => data.axes[axis][1][row[axis]];
const varies = (axis) => data.axes[axis][1].length > 1;

/** Numbers by size, words in the order in which they come. */
function sortedValues(axis) {
  const numbers = data.axes[axis][1].every((v) => /^\d+$/.test(v));
  return data.axes[axis][1].map((v, i) => i).sort((a, b) => numbers ? data.axes[axis][1][a] - data.axes[axis][1][b] : a - b);
}

function ranking() {
  const columns = [...data.axes.map(([name], axis) => ({name, key: (r) => { const v = valueOf(r, axis); return /^\d+$/.test(v) ? Number(v) : v; },
    cell: (r) => valueOf(r, axis), number: true, shown: varies(axis)})),
  {name: "requested", key: (r) => r[REQUESTED], cell: (r) => sizeText(r[REQUESTED]), number: true, shown: true},
  {name: "reserved", key: (r) => r[RESERVED], cell: (r) => r[RESERVED] ? sizeText(r[RESERVED]) : "", number: true, shown: true},
  {name: "of usable", key: (r) => r[USED], cell: (r) => `${(100 * r[USED]).toFixed(1)} %`, number: true, shown: true},
  {name: "peak", key: (r) => r[PEAK], cell: (r) => (data.peaks[r[PEAK]] || "").replaceAll("_", " "), shown: true},
  {name: "command", key: (r) => r[COMMAND], cell: (r) => element("code", {}, r[COMMAND]), shown: true}].filter((c) => c.shown);
  const body = element("tbody");
  let rows = [...data.ranked], sorted = null, down = false;
  const fill = () => body.replaceChildren(...rows.map((r) => element("tr", {}, ...columns.map((c) =>
    element("td", {class: c.number ? "number" : null}, c.cell(r))))));
  const heads = columns.map((c) => element("th", {class: c.number ? "number" : null, "aria-sort": "none"}, element("button", {type: "button",
    onclick: () => {
      down = sorted === c ? !down : true;
      sorted = c;
      rows.sort((a, b) => (c.key(a) < c.key(b) ? -1 : c.key(a) > c.key(b) ? 1 : 0) * (down ? -1 : 1));
      heads.forEach((h, i) => h.setAttribute("aria-sort", columns[i] === c ? down ? "descending" : "ascending" : "none"));
      fill();
    }}, c.name)));
  fill();
  if (!rows.length) return element("p", {}, "No configuration fits.");
  return element("div", {class: "scroll"}, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body));
}

function map() {
  const axes = data.axes.map((_, i) => i).sort((a, b) => data.axes[b][1].length - data.axes[a][1].length);
  const asked = data.map.map((name) => data.axes.findIndex(([each]) => each === name));
  let [x, y] = asked.length === 2 ? asked : axes;
  const fixed = data.axes.map(() => 0), out = element("div");
  const select = (label, options, value, change) => {
    const field = element("select", {onchange: (e) => { change(Number(e.target.value)); show(); }},
      ...options.map(([v, text]) => element("option", {value: v, selected: v === value ? "" : null}, text)));
    return element("label", {}, `${label} `, field);
  };
  const used = new Set(data.rows.filter((r) => r[OUTCOME] && r[PEAK] >= 0).map((r) => r[PEAK]));
  const colour = (r) => r[PEAK] < 0 ? "#999999" : MAP_COLOURS[r[PEAK] % MAP_COLOURS.length];
  function show() {
    const names = data.axes.map(([name], i) => [i, name]);
    const tools = [select("across", names, x, (v) => { if (v === y) y = x; x = v; }), select("up", names, y, (v) => { if (v === x) x = y; y = v; })];
    for (const [axis, name] of names)
      if (axis !== x && axis !== y && varies(axis))
        tools.push(select(name, sortedValues(axis).map((v) => [v, data.axes[axis][1][v]]), fixed[axis], (v) => { fixed[axis] = v; }));
    const cells = new Map();
    for (const row of data.rows)
      if (data.axes.every((_, axis) => axis === x || axis === y || row[axis] === fixed[axis])) cells.set(`${row[x]},${row[y]}`, row);
    const lines = sortedValues(y).reverse().map((v) => element("tr", {}, element("th", {class: "number"}, data.axes[y][1][v]),
      ...sortedValues(x).map((u) => {
        const row = cells.get(`${u},${v}`);
        if (!row || !row[OUTCOME]) return element("td", {class: "cell none"}, "–");
        const text = row[REQUESTED] ? (row[REQUESTED] / 2 ** 30).toFixed(1) : "✕";
        const words = `${data.axes[x][0]} ${data.axes[x][1][u]}, ${data.axes[y][0]} ${data.axes[y][1][v]}: ${WORDS[row[OUTCOME]]}` +
          (row[PEAK] >= 0 ? `, ${data.peaks[row[PEAK]].replaceAll("_", " ")}` : "");
        return element("td", {class: `cell${row[OUTCOME] === 1 ? "" : " over"}`, title: words, style: `background-color:${colour(row)}`},
          row[OUTCOME] === 1 ? text : element("s", {}, text));
      })));
    const foot = element("tr", {}, element("th", {}, `${data.axes[y][0]} ↑  ${data.axes[x][0]} →`),
      ...sortedValues(x).map((u) => element("th", {class: "cell none", scope: "col"}, data.axes[x][1][u])));
    const keys = element("ul", {class: "keys"}, ...[...used].sort((a, b) => a - b).map((p) => element("li", {},
      element("span", {class: "swatch", style: `background:${MAP_COLOURS[p % MAP_COLOURS.length]}`}), data.peaks[p].replaceAll("_", " "))));
    out.replaceChildren(element("div", {class: "tools"}, ...tools), element("div", {class: "scroll"}, element("table", {},
      element("tbody", {}, ...lines, foot))), element("p", {class: "quiet"}, "GiB that the run requests at its highest moment; struck through " +
      "and hatched: it does not fit, or is tight. Colour: which peak that is."), keys);
  }
  show();
  return out;
}

document.getElementById("ranking").replaceChildren(ranking());
if (data.rows.length) document.getElementById("map").replaceChildren(map());
