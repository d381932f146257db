// The program as the page sees it: a question is words and files, the answer is what it printed and its exit status.
"use strict";

class Program {
  #worker = null;
  #module = null;
  #open = new Map();  // by number: how the answer is handed over
  #count = 0;

  constructor(packed) {
    this.packed = packed;
  }

  /** Of a question that stop() ended, nothing. */
  ask(words, files = []) {
    if (!this.#worker) this.#start();
    const number = ++this.#count;
    this.#worker.postMessage({number, words, files});
    return new Promise((done) => this.#open.set(number, done));
  }

  /** Drops what is being computed: a newer question has made it worthless. */
  stop() {
    if (!this.#open.size || !this.#module) return;
    this.#worker.terminate();
    this.#worker = null;
    this.#open.forEach((done) => done(null));
    this.#open.clear();
  }

  #start() {
    const code = URL.createObjectURL(new Blob([document.getElementById("worker").textContent], {type: "text/javascript"}));
    this.#worker = new Worker(code);
    URL.revokeObjectURL(code);
    this.#worker.onmessage = ({data}) => {
      if (data.module) {
        this.#module = data.module;
        this.packed = null;
        return;
      }
      this.#open.get(data.number)?.(data);
      this.#open.delete(data.number);
    };
    this.#worker.postMessage(this.#module ? {compiled: this.#module} : {packed: this.packed});
  }
}
