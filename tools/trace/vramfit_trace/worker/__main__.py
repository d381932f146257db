"""Runs the libraries for one job and writes its trace: python -m vramfit_trace.worker JOB OUT."""
from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from ..job import BATCHES, Job, JobError, read_job
from .device import Device
from .libraries import trainer_makes_adapters, versions

SCHEMA = "vramfit.trace/1"


def first_sentence(error: BaseException) -> str:
    """What a refusal says."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text.split('. ')[0].rstrip('.')}"


def is_ours(error: BaseException) -> bool:
    """Whether the tracer itself raised it: a defect here, not a refusal."""
    here = Path(__file__).parent
    frames = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    while frames and frames[-1] == here / "values.py":  # calls every function of torch
        frames.pop()
    return bool(frames) and frames[-1].is_relative_to(here.parent)


def prepare(job: Job, device: Device) -> None:
    """Imports the libraries: that they are not there is no refusal."""
    if job["loop"]["kind"] == "unsloth":  # changes the other libraries while they are imported
        import unsloth  # noqa: F401

        from . import unsloth_lengths

        unsloth_lengths.know()
    from .attention import use_flash_stand_in

    use_flash_stand_in(job, device)  # before transformers looks for the package
    from .preferences import use_vllm_stand_in

    use_vllm_stand_in(job, device)
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    from . import cut_loss, llama_factory

    if llama_factory.is_asked(job):
        llama_factory.prepare()
    cut_loss.put_in(job, device)


def train(job: Job, device: Device, options: argparse.Namespace) -> dict[str, Any]:
    """Windows and what belongs to them, of a run that ends or runs out of memory."""
    import torch

    from . import attention, batch, experts, model, plain, processes, trainer, unsloth_model
    from .labels import Labels
    from .recorder import Recorder

    device.tell_byte(batch.told_byte(job))
    experts.balance(job, device)
    torch.manual_seed(0)
    recorder = Recorder(device, options.events or options.labels, Labels(options.events) if options.labels else None)
    card = torch.cuda.get_device_properties(0)
    if options.limit:
        # The allocator takes the whole bytes of fraction times total.
        torch.cuda.set_per_process_memory_fraction((options.limit + 0.5) / card.total_memory)
    recorder.window("start")
    loads_first = bool(job["distributed"]) and job["distributed"]["load_first"]
    if job["distributed"] and not loads_first:
        processes.start(job, device)
    held: list[Any] = [] if device.real else [attention.cudnn_without_device()]
    free = torch.cuda.mem_get_info(0)[0]
    counted, failed = None, False
    kept = None
    if job["loop"]["kind"] in BATCHES:  # trl loads the reference model from the policy's checkpoint
        held.append(folder := tempfile.TemporaryDirectory())
        kept = folder.name
    known: list[Any] = []

    def know_arguments() -> None:
        """DeepSpeed and FSDP have to be known before the model is loaded."""
        if job["distributed"] and not job["distributed"]["load_first"]:
            folder = tempfile.TemporaryDirectory()
            held.append(folder)
            known.append(batch.training_arguments(job, folder.name))

    with attention.forced_kernel(job):
        try:
            network = unsloth_model.build(job, recorder) if job["loop"]["kind"] == "unsloth" else model.build(job, recorder, know_arguments, kept)
            if loads_first:  # TrainingArguments make the group of processes, which the loader's warm-up asks about
                processes.start(job, device)
            attention.repeat_heads(job)
            counted = model.counts(network)
            if job["distributed"] and job["distributed"]["kind"] == "pipeline":
                from . import pipeline

                held.append(pipeline.run(job, network, recorder, device))
            elif job["loop"]["kind"] == "plain":
                held.append(plain.run(job, network, recorder))
            else:
                held.append(trainer.run(job, network, recorder, device, *known))
            if trainer_makes_adapters(job):
                counted = model.counts(held[-1].model)
        except torch.cuda.OutOfMemoryError:
            failed = True
    about = {"name": card.name, "capability": f"{card.major}.{card.minor}", "multiprocessors": card.multi_processor_count,
             "total": card.total_memory, "free": free}
    return {"counts": counted, "device": about, **recorder.finish(failed, options.snapshot)}


def trace(job: Job, options: argparse.Namespace) -> dict[str, Any]:
    """The whole document; a choice that the libraries refuse is an outcome too."""
    began = time.time()
    device = Device()
    prepare(job, device)
    head = {"schema": SCHEMA, "job": job, "backend": "cuda" if device.real else "null"}
    try:
        body = train(job, device, options)
    except JobError:
        raise
    except Exception as error:
        if is_ours(error):
            raise
        traceback.print_exc()
        body = {"outcome": {"refused": first_sentence(error)}, "windows": []}
    return {**head, "versions": versions(), "seconds": round(time.time() - began, 1), **body}


def options_of(arguments: list[str]) -> argparse.Namespace:
    """The command line, which the tracer's commands write."""
    out = argparse.ArgumentParser(prog="vramfit_trace.worker", description=__doc__)
    out.add_argument("job", type=Path)
    out.add_argument("out", type=Path)
    out.add_argument("--events", action="store_true", help="also every allocation and free")
    out.add_argument("--labels", action="store_true", help="what each window holds at its peak, and of which modules; with --events what each allocation is")
    out.add_argument("--limit", type=int, metavar="BYTES", help="what the allocator may take: set_per_process_memory_fraction")
    out.add_argument("--snapshot", type=Path, help="takes the allocator's own history, as torch.cuda.memory dumps it")
    return out.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    status, job = 0, None
    try:
        job = read_job(options.job.read_text())
        options.out.write_text(json.dumps(trace(job, options)))
    except JobError as error:
        print(error, file=sys.stderr)
        status = 2
    except Exception:
        traceback.print_exc()
        status = 1
    if job and job["distributed"]:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # threads of the process group wait for the other ranks
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
