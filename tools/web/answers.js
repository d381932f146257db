// Answers questions in node as the page does: node answers.js FOLDER, where tools/web/build put the program.
// A line of standard input is {"words": [...], "folder": "..."}, a line of output {"status", "out", "err", "ms"} with Base64.
"use strict";

const fs = require("fs");
const path = require("path");
const readline = require("readline");
const vm = require("vm");

const folder = path.resolve(process.argv[2]);
const makeProgram = require(path.join(folder, "vramfit.js"));
vm.runInThisContext(fs.readFileSync(path.join(__dirname, "run_program.js"), "utf8"));

/** Files that the words name, which lie below `from` or are written in full. */
function filesOf(words, from) {
  return words.filter((word) => /[./]/.test(word)).map((word) => ({path: word, real: path.resolve(from, word)}))
    .filter(({real}) => fs.existsSync(real) && fs.statSync(real).isFile())
    .map(({path, real}) => ({path, bytes: fs.readFileSync(real)}));
}

async function main() {
  const module = await WebAssembly.compile(fs.readFileSync(path.join(folder, "vramfit.wasm")));
  for await (const line of readline.createInterface({input: process.stdin})) {
    const {words, folder: from} = JSON.parse(line);
    const begin = performance.now();
    const {status, out, err} = await globalThis.runProgram(makeProgram, module, words, filesOf(words, from || "."));
    for (const event of ["uncaughtException", "unhandledRejection"]) process.removeAllListeners(event);  // each instance adds its own
    const base64 = (bytes) => Buffer.from(bytes).toString("base64");
    console.log(JSON.stringify({status, ms: performance.now() - begin, out: base64(out), err: base64(err)}));
  }
}

main();
