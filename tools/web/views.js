// The views below the answer: parts of the documents that the program writes as pages, and those with a script in a frame.
"use strict";

/** The sections of a prediction's page, but for those that the answer above has. */
function predictionSections(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const sections = [];
  for (const node of [...page.body.children]) {
    if (node.tagName === "H2") sections.push(element("section", {}, document.adoptNode(node)));
    else if (sections.length && node.tagName !== "SCRIPT") sections.at(-1).append(document.adoptNode(node));
  }
  const repeated = ["How far it can grow", "What would make it fit"];
  return element("div", {class: "sections"}, ...sections.filter((s) => !repeated.includes(s.firstChild.textContent)));
}

/** A page of its own, as high as its content. */
function framed(html, title) {
  const frame = element("iframe", {title, srcdoc: html});
  frame.addEventListener("load", () => {
    const root = frame.contentDocument.documentElement;
    const fit = () => { frame.style.height = `${root.offsetHeight + 2}px`; };
    frame.contentDocument.body.style.padding = "0";
    new ResizeObserver(fit).observe(root);
    fit();
  });
  return frame;
}

function problem(answer) {
  return element("div", {}, ...refusalParts(answer, answer.words));
}

const waiting = (text) => element("p", {class: "quiet"}, text);

/** What each view asks, and how it shows what came back. */
const VIEWS = {
  details: {
    words: () => ["predict", ...runWords()],
    show: (answer) => predictionSections(answer.out),
  },
  timeline: {
    words: () => ["timeline", ...runWords()],
    show: (answer) => framed(answer.out, "Timeline of the run"),
  },
  sweep: {
    words: () => ["sweep", ...sweepWords(targets)],
    show: (answer) => framed(answer.out, "Sweep of lengths and batches"),
  },
};

const CHECKED = {0: ["Fits", "fits"], 1: ["Does not fit", "not"]};

/** The trainer's files, checked on the GPU of the form. */
function checkParts(answer) {
  const [word, style] = CHECKED[answer.status] || [answer.status === 3 ? "Not supported" : "Not understood", "not"];
  return element("div", {}, element("p", {class: `verdict ${style}`}, word), commandOf(answer.words),
    element("pre", {class: "text"}, `${answer.out}${answer.err}`.trim()));
}

function configHelp() {
  return element("div", {}, element("p", {}, "Drop the config file of a trainer here: axolotl, LLaMA-Factory, TRL, ms-swift, torchtune, LitGPT, " +
    "Unsloth, or a launch script. Several files are read together as one run: a trainer’s file, one of accelerate, DeepSpeed’s JSON. " +
    "The run is checked on the GPU that the form names."),
  element("label", {for: "pasted"}, "Or paste its text"), element("textarea", {id: "pasted", rows: "10", spellcheck: "false",
    placeholder: "base_model: Qwen/Qwen3-8B\nadapter: qlora\nload_in_4bit: true\nsequence_len: 2048\nmicro_batch_size: 1\ndatasets:\n  - path: data.jsonl\n    type: alpaca"}),
  element("div", {class: "actions"}, element("button", {type: "button", class: "primary", onclick: () => {
    const text = document.getElementById("pasted").value;
    if (text.trim()) takeFiles([{name: text.trim().startsWith("{") ? "config.json" : "config.yaml", text}]);
  }}, "Check it")));
}
