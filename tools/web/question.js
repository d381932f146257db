// The question: from the form to the words of a command line, and to the part of a link behind its #.
"use strict";

const form = document.getElementById("question");

/** Words as a shell splits them, quotes included. */
function wordsOf(text) {
  return [...text.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const commandLine = (words) => ["vramfit", ...words].map(shellWord).join(" ");

/** By its name, not by an id: the control, or the radio buttons together. */
const controlOf = (name) => [...form.elements].some((control) => control.name === name) ? form.elements[name] : null;
const valueOf = (name) => (controlOf(name)?.value ?? "").trim();

/** Controls of the form are named as the flags that they set; what is empty is not given. */
function flagsOf(names) {
  return names.flatMap((name) => {
    const value = valueOf(name);
    if (!value) return [];
    if (name === "sharing" || name === "more") return wordsOf(value);
    return [`--${name}`, value];
  });
}

const RUN = ["recipe", "method", "seq", "batch", "accumulate", "rank", "targets", "checkpointing", "optim", "mixed-precision", "dtype",
  "attention", "loop", "use_liger_kernel", "stack", "gpu", "gpus", "sharing", "more"];

function runWords() {
  const names = RUN.filter((name) => valueOf("method") !== "full" || !["rank", "targets"].includes(name));
  return [valueOf("model"), ...flagsOf(names)];
}

/** A sweep has lists where a run has numbers; what has adapters is as in the run, whose answer names it. */
function sweepWords(targets) {
  const adapters = valueOf("method") !== "full";
  const fixed = RUN.filter((name) => !["seq", "batch", "rank", "targets"].includes(name));
  const list = (name, otherwise) => [`--${name}`, valueOf(`sweep-${name}`) || otherwise];
  return [valueOf("model"), ...flagsOf(fixed), ...list("seq", "256..16384:x2"), ...list("batch", "1..32:x2"),
    ...(adapters ? [...list("rank", valueOf("rank") || "8"), ...(targets.length ? ["--targets", targets.join("+")] : [])] : [])];
}

/** All that a link has to hold: fields that are not as the page opens, the view, files that are not too long. */
function fragmentOf(view, files) {
  const out = new URLSearchParams();
  for (const control of form.elements) {
    if (!control.name || (control.type === "radio" && !control.checked)) continue;
    if (control.value !== initialValue(control)) out.set(control.name, control.value);
  }
  if (view !== "details") out.set("view", view);
  if (files.reduce((sum, file) => sum + file.text.length, 0) <= 16000)
    for (const file of files) out.append("file", `${file.name}\n${file.text}`);
  return out.toString();
}

function initialValue(control) {
  if (control.type === "radio") return [...form.elements[control.name]].find((other) => other.defaultChecked).value;
  if (control.tagName === "SELECT") return [...control.options].find((option) => option.defaultSelected)?.value ?? control.options[0].value;
  return control.defaultValue;
}

/** Sets the form as a link says; {view, files}. */
function readFragment(fragment) {
  const given = new URLSearchParams(fragment);
  form.reset();
  for (const [name, value] of given) if (controlOf(name)) controlOf(name).value = value;
  const files = given.getAll("file").map((file) => {
    const end = file.indexOf("\n");
    return {name: file.slice(0, end), text: file.slice(end + 1)};
  });
  return {view: given.get("view") || "details", files};
}
