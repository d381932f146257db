"""Traces jobs of one card in forked copies of a process that has the libraries: python -m vramfit_trace.worker.forks
[unsloth | llama-factory | flash-attention].

Reads one request a line, {"job", "out", "log"}: file names, "options": more of the worker's, "environment": more variables; answers
each with the worker's exit status.
"""
from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from ..job import SCHEMA, Job, complete
from .__main__ import main as work
from .__main__ import prepare
from .device import Device


def import_libraries(of: str) -> None:
    """All that a job imports; the imports of transformers are lazy."""
    job: Job = {"schema": SCHEMA, "model": {"model_type": "llama"}}
    if of == "unsloth":
        job.update(loop={"kind": "unsloth"}, peft={})
    if of == "llama-factory":
        job.update(loop={"kind": "dpo"}, trl={"trainer": "llama-factory"})
    if of == "flash-attention":
        job.update(load={"attn_implementation": "flash_attention_2"}, batch={"sequence_length": 8, "attention_mask": "ones"})
    prepare(complete(job), Device())
    import accelerate  # noqa: F401
    import bitsandbytes  # noqa: F401
    import peft  # noqa: F401
    import torch
    import transformers.models.auto.modeling_auto  # noqa: F401
    from transformers import Trainer, TrainingArguments  # noqa: F401

    # Importing counts devices, after which torch takes CUDA for broken in forks. There is no driver that could be.
    torch.cuda._is_in_bad_fork = lambda: False


def run(request: dict[str, Any]) -> int:
    """The worker's status; what the libraries print goes to the log."""
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(json.loads(Path(request["job"]).read_text())["environment"])
    os.environ.update(request["environment"])
    try:
        return work([request["job"], request["out"], *request["options"]])
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    import_libraries("".join(sys.argv[1:]))
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(run(json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)


if __name__ == "__main__":
    main()
