// The answer above the views: the verdict, a bar of the GPU's memory, how far the run can grow or what makes it fit.
"use strict";

const VERDICTS = {fits: ["Fits", "fits"], tight: ["Tight", "tight"], too_large: ["Does not fit", "not"], unknown: ["Not known", "tight"]};
const CATEGORIES = ["other", "weights", "quantization_state", "adapters", "gradients", "optimizer_states", "stored_activations",
  "recomputed_activations", "logits_and_loss", "temporaries", "workspaces", "activation_gradients", "dequantized_weights", "reward_models", "teacher"];

const spoken = (name) => name.replaceAll("_", " ");
const gib = (bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`;
const percent = (part, whole) => `${(100 * part / whole).toFixed(2)}%`;

function sentenceOf(p) {
  const device = p.device.name ? ` on ${p.device.name}` : "";
  const held = `at most ${gib(p.peak.reserved)} reserved`;
  if (!p.device.usable) return `PyTorch holds ${held}, ${gib(p.peak.requested)} of it asked for by tensors; no GPU was given.`;
  const usable = `${gib(p.device.usable)} usable${device}`;
  if (p.verdict === "fits") return `PyTorch holds ${held} of ${usable}: ${gib(p.device.usable - p.peak.reserved)} to spare.`;
  if (p.out_of_memory)
    return `Out of memory in ${p.out_of_memory.window}. It needs ${gib(p.peak.reserved)}; ${usable}.`;
  return `PyTorch holds ${held} of ${usable}. What decides is not known to the byte: ${p.assumptions.map((a) => a.what).join("; ")}.`;
}

/** The GPU from the left: context, the highest moment by category, what the allocator holds beyond it; the end of the GPU. */
function memoryBar(p) {
  const highest = p.peaks.find((peak) => peak.name === p.highest);
  if (!highest) return [];
  const context = p.device.context || 0, process = p.peak.reserved + context;
  const capacity = p.device.usable ? context + p.device.usable : process;
  const whole = Math.max(process, capacity);
  const parts = [["CUDA context", context, "var(--context)"],
    ...highest.shares.filter((s) => s.bytes > 0).sort((a, b) => b.bytes - a.bytes).map((s) => [spoken(s.category), s.bytes, COLOURS[CATEGORIES.indexOf(s.category)] || COLOURS[0]]),
    ["allocator: rounding, gaps, cache", Math.max(0, p.peak.reserved - highest.requested), null]];
  const bar = element("div", {class: "bar tall", role: "img", "aria-label": parts.map(([name, bytes]) => `${name} ${gib(bytes)}`).join(", ")},
    ...parts.map(([name, bytes, colour]) => element("span", {title: `${name}: ${sizeText(bytes)}`, class: colour ? null : "cache",
      style: `width:${percent(bytes, whole)}${colour ? `;background:${colour}` : ""}`})));
  if (p.device.usable && capacity < whole) bar.append(element("i", {style: `left:${percent(capacity, whole)}`, title: "end of the GPU"}));
  const keys = element("ul", {class: "keys"}, ...parts.filter(([, bytes]) => bytes >= whole / 200).map(([name, bytes, colour]) =>
    element("li", {}, element("span", {class: `swatch${colour ? "" : " cache"}`, style: colour ? `background:${colour}` : null}), `${name} `,
      element("b", {}, gib(bytes)))));
  const scale = element("p", {class: "scale"}, element("span", {}, "0"), element("span", {}, capacity < whole ?
    `${gib(whole)}; the dashed line is the end of the GPU, ${gib(capacity)}` : gib(whole)));
  return [bar, scale, keys];
}

function tile(label, value, ...rest) {
  return element("div", {class: "tile"}, element("span", {class: "label"}, label), element("b", {}, value), ...rest);
}

/** A button that sets fields of the form and asks again. */
function setter(flags, label, words) {
  return element("button", {type: "button", class: "small", "aria-label": words, onclick: () => applyFlags(flags)}, label);
}

function tilesOf(p) {
  const out = [];
  const {batch, seq} = p.largest || {};
  if (batch) out.push(tile("Largest batch", grouped(batch), batch > p.plan.training.per_device_train_batch_size ?
    setter({batch: String(batch)}, "Use", `Use a batch of ${batch}`) : ""));
  if (seq) out.push(tile("Longest sequence", grouped(seq), seq > p.plan.batch.sequence_length ?
    setter({seq: String(seq)}, "Use", `Use sequences of ${seq} tokens`) : ""));
  const highest = p.peaks.find((peak) => peak.name === p.highest);
  if (highest) out.push(tile("Highest moment", spoken(highest.name), element("span", {class: "quiet"}, `in ${highest.window}`)));
  return out;
}

function changesOf(p) {
  const fitting = p.changes?.fitting || [];
  if (!p.changes) return [];
  if (!fitting.length) return [element("p", {}, `Nothing that was tried makes it fit: ${p.changes.tried.join(", ")}.`)];
  return [element("h2", {}, fitting.length > 1 ? "It fits with one of these changes" : "It fits with this change"), element("ol", {class: "changes"}, ...fitting.map((change) => {
    const words = Object.entries(change.flags).flatMap(([flag, value]) => [`--${flag}`, value]);
    return element("li", {}, element("div", {}, codeOf(words), element("p", {}, change.titles.join("; ")),
      element("p", {class: "quiet"}, `${gib(change.reserved)} reserved, ${gib(change.spare)} to spare`)),
    setter(change.flags, "Apply", `Apply ${words.join(" ")}`));
  }))];
}

/** A line is broken between words, never at a hyphen of a flag. */
function codeOf(words) {
  return element("code", {}, ...words.flatMap((word, i) => [...(i ? [" "] : []), element("span", {}, shellWord(word))]));
}

function commandOf(words) {
  const line = commandLine(words);
  return element("div", {class: "command"}, codeOf(["vramfit", ...words]),
    element("button", {type: "button", class: "small", onclick: (e) => copy(line, e.currentTarget), "aria-label": "Copy the command"}, "Copy"));
}

function predictionParts(p, words) {
  const [word, style] = VERDICTS[p.verdict] || [`${gib(p.peak.reserved)}`, ""];
  return [element("p", {class: `verdict ${style}`}, word), element("p", {class: "sentence"}, sentenceOf(p)), ...memoryBar(p),
    element("div", {class: "tiles"}, ...tilesOf(p)), ...changesOf(p), commandOf(words)];
}

/** What the program refused, in its own words. */
function refusalParts(answer, words) {
  const lines = answer.err.trim().split("\n");
  return [element("p", {class: "verdict not"}, answer.status === 3 ? "Not supported" : "Not understood"),
    ...lines.map((line) => element("p", {class: line.startsWith("error") ? "sentence" : "quiet"}, line.replace(/^(error|hint): /, (_, kind) => kind === "hint" ? "Hint: " : ""))),
    commandOf(words)];
}
