// Answers questions away from the page's own thread: the module is compiled once, each question has an instance of its own.
"use strict";

let module = null;

async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** The program that a page carries, or the module that a worker before this one compiled. */
async function start({packed, compiled}) {
  module = compiled || (async () => WebAssembly.compile(await unpacked(packed)))();
  module = await module;
  postMessage({module});
}

async function answer({number, words, files}) {
  try {
    const text = new TextDecoder();
    const {status, out, err} = await runProgram(makeProgram, await module, words,
      files.map(({name, text}) => ({path: name, bytes: new TextEncoder().encode(text)})));
    postMessage({number, status, out: text.decode(out), err: text.decode(err)});
  } catch (problem) {
    postMessage({number, status: -1, out: "", err: `error: the program stopped: ${problem}\n`});
  }
}

let last = Promise.resolve();  // one after the other
onmessage = ({data}) => { last = last.then(() => data.words ? answer(data) : start(data)); };
