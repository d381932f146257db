// Runs the program once, in a fresh instance of its compiled module: in a page's worker, and in node.
"use strict";

/**
 * `files` are {path, bytes}, from the folder that the program runs in. What it writes to its three streams goes into files in
 * memory, so that the bytes are those of a terminal's program that is piped.
 */
async function runProgram(makeProgram, module, words, files = []) {
  const program = await makeProgram({
    thisProgram: "vramfit",
    instantiateWasm(imports, ready) {
      WebAssembly.instantiate(module, imports).then((instance) => ready(instance, module));
      return {};
    },
    quit(status, reason) { throw reason; },  // and not the end of node
  });
  const FS = program.FS;
  FS.mkdir("/run");
  FS.chdir("/run");
  for (const {path, bytes} of files) {
    if (path.includes("/")) FS.mkdirTree(path.slice(0, path.lastIndexOf("/")) || "/");
    FS.writeFile(path, bytes);
  }
  for (const [stream, path, flags] of [[0, "/dev/null", "r"], [1, "/out", "w+"], [2, "/err", "w+"]]) {
    FS.close(FS.getStream(stream));
    FS.open(path, flags);  // takes the lowest number that is free
  }
  const status = program.callMain([...words]);
  return {status, out: FS.readFile("/out"), err: FS.readFile("/err")};
}
