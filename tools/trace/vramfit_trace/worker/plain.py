"""A training loop written out: it keeps the model's output until the next forward has returned."""
from __future__ import annotations

import tempfile
from typing import Any

import torch
import transformers

from ..job import Job, JobError
from .batch import micro_batch, training_arguments
from .model import DEVICE
from .recorder import Recorder
from .stages import Stages


def check(job: Job) -> None:
    if job["training"]["fp16"]:
        raise JobError("the plain loop scales no loss: fp16 is not traced with it")
    if job["training"]["use_liger_kernel"]:
        raise JobError("use_liger_kernel belongs to Trainer, not to the plain loop")


def ready(job: Job, model: torch.nn.Module) -> None:
    """What a loop does with a loaded model before its first step."""
    training = job["training"]
    if training["gradient_checkpointing"] and not job["load"]["gradient_checkpointing"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=training["gradient_checkpointing_kwargs"])
    if job["loop"]["input_require_grads"]:
        model.enable_input_require_grads()
    model.train()


def make_optimizer(job: Job, model: torch.nn.Module, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """The class and arguments that Trainer would take, over one group of parameters."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = training_arguments(job, folder)
        cls, options = transformers.Trainer.get_optimizer_cls_and_kwargs(arguments, model)
    return cls(parameters, **options)


def on_device(host: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies the batch; an object that stands there twice is copied once."""
    copies = {id(tensor): tensor.to(DEVICE) for tensor in host.values()}
    return {key: copies[id(tensor)] for key, tensor in host.items()}


def run(job: Job, model: torch.nn.Module, recorder: Recorder) -> Any:
    """The steps. Returns what is still held at the end; the last batch is given back when this returns."""
    check(job)
    training, loop = job["training"], job["loop"]
    micros = training["gradient_accumulation_steps"]
    stages = Stages(job, model, recorder)
    ready(job, model)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = make_optimizer(job, model, parameters)
    recorder.reading("resident")
    host = micro_batch(job)
    batch = output = loss = None
    if loop["batch"] == "once":
        recorder.window("batch")
        batch = on_device(host)
    for stages.step in range(loop["steps"]):
        for stages.micro in range(micros):
            stages.inputs()
            if loop["zero_grad"] == "before_forward" and stages.micro == 0:
                optimizer.zero_grad()
            if loop["batch"] == "every_step":
                batch = on_device(host)
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=training["bf16"]):
                output = model(**batch)
            loss = output.loss / micros if micros > 1 else output.loss
            recorder.reading(f"step{stages.step}.after_forward")
            stages.backward()
            loss.backward()
        recorder.reading(f"step{stages.step}.after_backward")
        if training["max_grad_norm"]:
            stages.enter("clip")
            torch.nn.utils.clip_grad_norm_(parameters, training["max_grad_norm"])
        stages.enter("optimizer")
        optimizer.step()
        stages.enter("zero_grad")
        if loop["output"] == "until_step_end":
            output = loss = None
        if loop["zero_grad"] == "after_step":
            optimizer.zero_grad()
        recorder.reading(f"step{stages.step}.after_optimizer")
    recorder.window("train_end")
    recorder.reading("allocated_end")
    return optimizer, output, loss
