#!/usr/bin/env python3
"""How much slower `predict` is as WebAssembly: times.py PROGRAM FOLDER [MOST], the median factor over several questions.

The program itself is timed as a whole process, the module in node, a fresh instance for each call, after its first call. Both take turns,
and the fastest of several calls counts.
"""

import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

QUESTIONS = [
    f"predict {model} --method {method} --seq {seq} --gpu 24GiB --format json"
    for model, method, seq in (
        ("qwen3-8b", "qlora", 2048), ("llama-3.1-8b", "qlora", 2048), ("llama-3.1-8b", "lora", 512), ("gemma-2b", "full", 1024),
        ("mistral-7b-v0.3", "qlora", 4096), ("qwen3-0.6b", "full", 512), ("phi-4", "qlora", 1024),
    )
]


def main():
    program, folder = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
    most = float(sys.argv[3]) if len(sys.argv) > 3 else None
    script = pathlib.Path(__file__).resolve().parents[1] / "answers.js"
    factors = []
    with subprocess.Popen(["node", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as lines:
        for question in QUESTIONS:
            words, native, module = shlex.split(question), [], []
            for _ in range(8):
                begin = time.perf_counter()
                subprocess.run([program, *words], stdout=subprocess.DEVNULL, check=False)
                native.append(1000 * (time.perf_counter() - begin))
                lines.stdin.write(json.dumps({"words": words}).encode() + b"\n")
                lines.stdin.flush()
                module.append(json.loads(lines.stdout.readline())["ms"])
            factors.append(min(module[1:]) / min(native))
            print(f"{question}: {min(native):.0f} ms; first {module[0]:.0f} ms, then {min(module[1:]):.0f} ms: {factors[-1]:.1f} times")
        lines.stdin.close()
    median = statistics.median(factors)
    print(f"median: {median:.2f} times")
    sys.exit(1 if most and median > most else 0)


main()
