#!/usr/bin/env python3
"""Asks two builds of the program the same questions, over all commands: same_answers.py PROGRAM OTHER...

OTHER may begin with an emulator: same_answers.py build/release/vramfit qemu-aarch64-static build/aarch64/vramfit.
After --lines it is a program that answers line by line: same_answers.py build/release/vramfit --lines node tools/web/answers.js build/web.
Output, errors and exit status have to be the same to the byte. One difference is allowed after --lines: the order of frees between
two allocations in a list of events (docs/page.md says why).
"""

import base64
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"
MODELS = "gemma-2b llama-3.2-1b llama-3.1-8b qwen3-0.6b qwen3-8b mistral-7b-v0.3 phi-4 olmo-2-7b".split()
CONFIG = "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nadapter: lora\nlora_r: 8\nbf16: true\nmicro_batch_size: {}\n"


def questions():
    for model in MODELS:
        for method in ("full", "lora", "qlora"):
            yield f"predict {model} --method {method} --seq 512 --gpu 24GiB --format json"
        yield f"predict {model} --method qlora --gpu 'RTX 4090' --batch 3 --accumulate 2 --mixed-precision bf16"
        yield f"predict {model} --gpu 16GB --checkpointing on --optim adamw_bnb_8bit --dtype float16 --no-changes"
        yield f"timeline {model} --seq 256 --format json"
        yield f"explain {model} --method qlora --formula"
    for method in ("--gpus 2", "--gpus 2 --fsdp 2", "--gpus 2 --fsdp 1", "--gpus 2 --zero-stage 3", "--tp 2", "--cp 2", "--pp 2 --loop plain"):
        yield f"predict llama-3.2-1b --method full --mixed-precision bf16 --gpu 24GiB {method} --format json"
    for format in ("text", "json", "csv", "markdown", "svg"):
        yield f"sweep gemma-2b --gpu 8GiB --format {format}"
        yield f"sweep llama-3.2-1b --gpu 6GB --rank 8,64 --seq 256..2048:x2 --optim adamw_torch,sgd --format {format}"
    yield "sweep gemma-2b --gpu 8GiB --max seq --batch 1,2 --rank 8"
    yield "sweep gemma-2b --gpu 8GiB --pareto rank,seq"
    yield "sweep gemma-2b --gpu 8GiB --per-group rank --min-seq 128"
    for format in ("text", "json"):
        yield f"plan llama-3.2-1b --gpus 2x24GiB --method lora --seq 512 --format {format}"
    for format in ("text", "json", "github", "junit"):
        yield f"check small.yml --gpu 24GiB,1GiB --format {format}"
        yield f"check large.yml --gpu 'RTX 4090' --format {format}"
    yield "timeline gemma-2b --events --format json"
    yield "timeline gemma-2b --method lora --seq 512 --gpu 4GiB"
    for table in ("models", "gpus", "stacks"):
        yield table
        yield f"{table} --format json"
    for vectors in sorted(DATA.glob("*alloc*"))[:2]:
        yield f"replay {shlex.quote(str(vectors))}"
    for numbers in ("--lora-alpha 1e1 --lora-dropout .05", "--lora-dropout 0x1", "--lora-dropout +0.1", "--max-grad-norm 1e400", "--max-grad-norm inf"):
        yield f"predict gemma-2b --gpu 24GiB {numbers}"
    for conf in ("garbage_collection_threshold:0.6", "garbage_collection_threshold:1.5", "max_split_size_mb:64,expandable_segments:True"):
        yield f"predict gemma-2b --gpu 24GiB --alloc-conf {conf}"
    for wrong in ("predict", "predict nothing", "predict gemma-2b --gpu 24", "predict gemma-2b --gpu mi300x", "sweep --shard 3/2", "bogus"):
        yield wrong
    for page in ("man", "bash", "zsh", "fish", "json", "man --page sweep"):
        yield f"generate {page}"
    yield "--help"
    yield "check --help"


def answer(program, question, folder):
    done = subprocess.run([*program, *shlex.split(question)], capture_output=True, cwd=folder, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def answers_in_lines(program, asked, folder):
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as lines:
        for question in asked:
            lines.stdin.write(json.dumps({"words": shlex.split(question), "folder": folder}).encode() + b"\n")
            lines.stdin.flush()
            done = json.loads(lines.stdout.readline())
            yield done["status"], base64.b64decode(done["out"]), base64.b64decode(done["err"])
        lines.stdin.close()


def frees_in_order(answered):
    """The answer with what is freed between two allocations in the order of its numbers."""
    lines = answered[1].split(b"\n")
    begin = 0
    for i, line in enumerate(lines):
        if b', "free", ' not in line:
            lines[begin:i] = sorted(lines[begin:i])
            begin = i + 1
    return answered[0], b"\n".join(lines), answered[2]


def main():
    words = sys.argv[2:]
    in_lines = words[0] == "--lines"
    first, second = [os.path.realpath(sys.argv[1])], [word if "/" not in word else os.path.realpath(word) for word in words[in_lines:]]
    asked = list(questions())
    different = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        (pathlib.Path(folder) / "small.yml").write_text(CONFIG.format(1))
        (pathlib.Path(folder) / "large.yml").write_text(CONFIG.format(512))
        others = answers_in_lines(second, asked, folder) if in_lines else pool.map(lambda q: answer(second, q, folder), asked)
        for question, one, other in zip(asked, pool.map(lambda q: answer(first, q, folder), asked), others):
            if in_lines and "--events" in question:
                one, other = frees_in_order(one), frees_in_order(other)
            if one != other:
                different += 1
                print(f"different: vramfit {question} ({one[0]}, {len(one[1])} bytes; {other[0]}, {len(other[1])} bytes)")
    print(f"{len(asked)} questions, {different} answered differently")
    sys.exit(1 if different or len(asked) < 100 else 0)


main()
