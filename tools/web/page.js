// The page: a change of the form is a new question; the answer, the open view and the link follow it.
"use strict";

const byId = (id) => document.getElementById(id);
const program = new Program(byId("packed").textContent);
const tabs = [...document.querySelectorAll("[role=tab]")];
let view = "details", files = [], asked = "", turn = 0;
let targets = [];  // of the run's adapters, as its answer names them

/** Files that the question itself names: a model's config.json. */
const modelFiles = () => files.filter((file) => file.name === valueOf("model"));
const configFiles = () => files.filter((file) => file.name !== valueOf("model"));

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // file:// in some browsers
    const area = element("textarea", {});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1200);
}

function applyFlags(flags) {
  const others = [];
  for (const [flag, value] of Object.entries(flags)) {
    if (controlOf(flag)) controlOf(flag).value = value;
    else others.push(`--${flag}`, shellWord(value));
  }
  if (others.length) form.elements.more.value = [valueOf("more"), ...others].join(" ").trim();
  if (Object.keys(flags).some((flag) => controlOf(flag)?.closest?.("details")) || others.length) form.querySelector("details").open = true;
  update();
  byId("answer").focus();
}

function announce(parts) {
  byId("announcement").textContent = parts.filter((part) => /verdict|sentence/.test(part.className)).map((part) => part.textContent).join(". ");
}

/** Asks and shows the answer, then the view; a newer question ends it. */
async function update() {
  const words = ["predict", ...runWords()];
  const showsRun = view !== "config";
  const fragment = fragmentOf(view, files);
  const key = JSON.stringify([fragment, files.length]);
  if (key === asked) return;
  asked = key;
  const mine = ++turn;
  program.stop();
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", tab.dataset.view === view);
    tab.tabIndex = tab.dataset.view === view ? 0 : -1;
  }
  byId("view").setAttribute("aria-labelledby", `tab-${view}`);
  byId("sweep-fields").hidden = view !== "sweep";
  byId("answer").setAttribute("aria-busy", "true");
  for (const name of ["rank", "targets"]) form.elements[name].disabled = valueOf("method") === "full";
  if (showsRun) await showAnswer(words, mine);
  if (mine === turn) await showView(mine);
  if (mine === turn) document.documentElement.dataset.shown = fragment || "start";
}

async function showAnswer(words, mine) {
  byId("answer").hidden = false;
  const answer = await program.ask([...words, "--format", "json"], modelFiles());
  if (mine !== turn || !answer) return;
  const prediction = answer.status === 0 || answer.status === 1 ? JSON.parse(answer.out) : null;
  const parts = prediction ? predictionParts(prediction, words) : refusalParts(answer, words);
  targets = [prediction?.plan.peft?.target_modules ?? []].flat();
  byId("answer").replaceChildren(...parts);
  byId("answer").setAttribute("aria-busy", "false");
  Object.assign(byId("answer").dataset, {status: answer.status, words: words.join(" "), reserved: prediction?.peak.reserved ?? "", verdict: prediction?.verdict ?? ""});
  announce(parts);
}

async function showView(mine) {
  const place = byId("view");
  if (view === "config") return showConfig(mine);
  if (byId("answer").dataset.status > 1) return place.replaceChildren();
  if (view !== "details" || !place.querySelector(".sections")) place.replaceChildren(waiting(view === "sweep" ? "Sweeping …" : "Drawing …"));
  const words = VIEWS[view].words();
  const answer = await program.ask([...words, "--format", "html"], modelFiles());
  if (mine !== turn || !answer) return;
  place.replaceChildren(answer.status > 1 || answer.status < 0 ? problem({...answer, words}) : VIEWS[view].show(answer));
}

async function showConfig(mine) {
  byId("answer").hidden = true;
  byId("answer").setAttribute("aria-busy", "false");
  if (!configFiles().length) return byId("view").replaceChildren(configHelp());
  const words = ["check", ...configFiles().map((file) => file.name), ...flagsOf(["gpu"])];
  byId("view").replaceChildren(waiting("Checking …"));
  const answer = await program.ask(words, configFiles());
  if (mine !== turn || !answer) return;
  const shown = checkParts({...answer, words});
  shown.append(element("div", {class: "actions"}, element("button", {type: "button", onclick: () => { files = modelFiles(); update(); }}, "Another file")));
  byId("view").replaceChildren(shown);
  announce([...shown.children]);
}

/** A model's config.json becomes the model; everything else is a trainer's. */
function takeFiles(taken) {
  const isModel = ({text}) => /^\s*\{/.test(text) && /"model_type"\s*:/.test(text) && /"hidden_size"|"n_embd"|"text_config"/.test(text);
  files = [...taken];
  if (taken.length === 1 && isModel(taken[0])) {
    form.elements.model.value = taken[0].name;
    if (view === "config") view = "details";
  } else {
    view = "config";
  }
  update();
}

async function takeDropped(list) {
  const small = [...list].filter((file) => file.size <= 4 << 20);
  if (small.length) takeFiles(await Promise.all(small.map(async (file) => ({name: file.name, text: await file.text()}))));
}

function open(tab) {
  view = tab.dataset.view;
  update();
}

async function fillLists() {
  const fill = (id, values) => byId(id).replaceChildren(...values.map((value) => element("option", {value})));
  const table = async (name) => {
    for (;;) {  // until no newer question stops it
      const answer = await program.ask([name, "--format", "json"]);
      if (answer) return JSON.parse(answer.out)[name];
    }
  };
  fill("models", (await table("models")).map((model) => model.name));
  fill("gpus", (await table("gpus")).map((gpu) => gpu.name.replace(/^NVIDIA (GeForce )?/, "")));
  fill("stacks", (await table("stacks")).map((stack) => stack.name));
}

function listen() {
  let timer = 0;
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 350); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); update(); });
  form.addEventListener("reset", () => { files = []; view = "details"; setTimeout(update); });
  byId("copy-link").addEventListener("click", (event) => copy(location.href, event.currentTarget));
  byId("file").addEventListener("change", (event) => { takeDropped(event.target.files); event.target.value = ""; });
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = tabs[(to + tabs.length) % tabs.length];
      next.focus();
      open(next);
    });
  });
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"])
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      byId("drop").classList.toggle("over", kind === "dragenter" || kind === "dragover");
      if (kind === "drop") takeDropped(event.dataTransfer.files);
    });
  addEventListener("hashchange", readLink);
}

function readLink() {
  ({view, files} = readFragment(location.hash.slice(1)));
  if (!tabs.some((tab) => tab.dataset.view === view)) view = "details";
  if (["rank", "targets", "recipe", "more", "gpus", "checkpointing", "optim"].some(valueOf)) form.querySelector("details").open = true;
  return update();
}

listen();
byId("answer").tabIndex = -1;
readLink().then(fillLists);
