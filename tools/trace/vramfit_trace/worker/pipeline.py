"""A training loop over torch.distributed.pipelining: this process has one stage of a network that is split by hand."""
from __future__ import annotations

import copy
import functools
from typing import Any

import torch
from torch.distributed import pipelining

from ..job import Job, JobError
from .batch import micro_batch
from .device import Device
from .model import DEVICE
from .plain import check, make_optimizer, ready
from .recorder import Recorder
from .stages import entry

SCHEDULES = {"gpipe": pipelining.ScheduleGPipe, "1f1b": pipelining.Schedule1F1B, "interleaved_1f1b": pipelining.ScheduleInterleaved1F1B}


class Stage(torch.nn.Module):
    """Some layers of a causal language model; the first stage has the embedding, the last one norm and head."""

    def __init__(self, causal: torch.nn.Module, index: int, count: int, autocast: bool) -> None:
        super().__init__()
        total = causal.config.num_hidden_layers
        self.first_layer, self.end = index * total // count, (index + 1) * total // count
        self.is_first, self.is_last, self.autocast = index == 0, index == count - 1, autocast
        self.inner = causal.model
        self.inner.layers = torch.nn.ModuleList(list(self.inner.layers)[self.first_layer : self.end])
        self.inner.config = copy.copy(causal.config)
        self.inner.config.num_hidden_layers = self.end - self.first_layer
        if not self.is_first:
            self.inner.embed_tokens = None
        if not self.is_last:
            self.inner.norm = torch.nn.Identity()
        self.lm_head = causal.lm_head if self.is_last else None

    def forward(self, x: torch.Tensor, attention_mask: torch.Tensor | None = None) -> torch.Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.autocast):
            given = {"input_ids": x} if self.is_first else {"inputs_embeds": x}
            hidden = self.inner(**given, attention_mask=attention_mask, use_cache=False).last_hidden_state
            return self.lm_head(hidden) if self.is_last else hidden


class Windows:
    """Hooks in the stages, and the windows of a chunk's forward and backward."""

    def __init__(self, job: Job, recorder: Recorder, device: Device) -> None:
        self.recorder, self.device = recorder, device
        self.of_masks = 0 if "padded" in job["batch"]["attention_mask"] else 1
        self.step = self.micro = 0
        self.in_backward = False
        self.phase = ""  # there are no other windows

    def enter(self, name: str, of_micro: bool = True) -> None:
        self.recorder.window(f"step{self.step}." + (f"micro{self.micro}." if of_micro else "") + name)

    def watch(self, stage: pipelining.PipelineStage, module: Stage) -> None:
        for place, layer in enumerate(module.inner.layers, module.first_layer):
            below = f"backward.{place - 1}" if place > module.first_layer else "backward.embedding"
            layer.register_forward_pre_hook(entry(self, f"forward.{place}", below), with_kwargs=True)
        if module.is_last:
            module.inner.norm.register_forward_pre_hook(entry(self, "head", f"backward.{module.end - 1}"), with_kwargs=True)
        forward, backward = stage.forward_one_chunk, stage.backward_one_chunk
        top = "backward.loss" if module.is_last else f"backward.{module.end - 1}"

        @functools.wraps(forward)
        def forward_in_window(chunk: int, *args: Any, **kwargs: Any) -> Any:
            self.micro, self.in_backward = chunk, False
            self.device.tell_byte(self.of_masks)  # what is read in the forward is about masks
            self.enter("embedding")
            return forward(chunk, *args, **kwargs)

        @functools.wraps(backward)
        def backward_in_window(chunk: int, *args: Any, **kwargs: Any) -> Any:
            self.micro, self.in_backward = chunk, True
            self.enter(top)
            return backward(chunk, *args, **kwargs)

        stage.forward_one_chunk, stage.backward_one_chunk = forward_in_window, backward_in_window


def boundary(job: Job, causal: torch.nn.Module, index: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What a stage takes and gives, for one micro batch: without them the stages would ask each other in the first step."""
    rows, length = job["training"]["per_device_train_batch_size"], job["batch"]["sequence_length"]
    compute = torch.bfloat16 if job["training"]["bf16"] else causal.dtype
    hidden = torch.empty(rows, length, causal.config.hidden_size, dtype=causal.dtype, device="meta")
    ids = torch.empty(rows, length, dtype=torch.int64, device="meta")
    logits = torch.empty(rows, length, causal.config.vocab_size, dtype=compute, device="meta")
    return (hidden if index else ids), (hidden if index < count - 1 else logits)


def make_schedule(job: Job, model: torch.nn.Module, windows: Windows) -> tuple[Any, list[Stage]]:
    """The schedule over this rank's stages, which are moved to the device."""
    processes = job["distributed"]
    options = processes["pipeline"]
    causal = model.get_base_model() if job["peft"] is not None else model
    local = options["virtual_stages"]
    count = processes["world_size"] * local
    if local > 1 and options["schedule"] != "interleaved_1f1b":
        raise JobError("distributed.pipeline.virtual_stages belongs to interleaved_1f1b")
    if count > causal.config.num_hidden_layers:
        raise JobError("more stages than layers")
    indices = [processes["rank"] + place * processes["world_size"] for place in range(local)]
    shells = [copy.deepcopy(causal) for _ in indices[1:]] + [causal]
    modules = [Stage(shell, index, count, job["training"]["bf16"]) for shell, index in zip(shells, indices)]
    stages = []
    for module, shell, index in zip(modules, shells, indices):
        module.to(DEVICE)
        takes, gives = boundary(job, shell, index, count)
        stages.append(pipelining.PipelineStage(module, index, count, DEVICE, input_args=takes, output_args=gives))
        windows.watch(stages[-1], module)
    loss = functools.partial(loss_of, causal.loss_function, causal.config.vocab_size)
    single = options["schedule"] != "interleaved_1f1b"
    return SCHEDULES[options["schedule"]](stages[0] if single else stages, options["micro_batches"], loss_fn=loss), modules


def loss_of(function: Any, vocabulary: int, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The model's own loss."""
    return function(logits=logits, labels=labels, vocab_size=vocabulary)


def refuse(job: Job) -> None:
    """Choices of the plain loop that this one has not."""
    if job["training"]["gradient_accumulation_steps"] != 1:
        raise JobError("micro batches take the place of gradient_accumulation_steps")
    for section, key, only in (("loop", "zero_grad", "after_step"), ("loop", "batch", "every_step"), ("batch", "labels", "copy")):
        if job[section][key] != only:
            raise JobError(f"a pipeline is traced with {section}.{key} {only}")


def whole_batch(job: Job) -> dict[str, torch.Tensor]:
    """All micro batches of a step, in host memory."""
    full = copy.deepcopy(job)
    full["training"]["per_device_train_batch_size"] *= job["distributed"]["pipeline"]["micro_batches"]
    return micro_batch(full)


def run(job: Job, model: torch.nn.Module, recorder: Recorder, device: Device) -> Any:
    """The steps. Returns what is still held at the end."""
    check(job)
    refuse(job)
    training, loop = job["training"], job["loop"]
    windows = Windows(job, recorder, device)
    ready(job, model)
    recorder.window("trainer")
    schedule, modules = make_schedule(job, model, windows)
    parameters = [parameter for module in modules for parameter in module.parameters() if parameter.requires_grad]
    optimizer = make_optimizer(job, model, parameters)
    recorder.reading("resident")
    host = whole_batch(job)
    takes = [host["input_ids"]] if modules[0].is_first else []
    output = losses = None
    for windows.step in range(loop["steps"]):
        windows.enter("inputs", False)
        ids = [ids.to(DEVICE) for ids in takes]
        labels = host["labels"].to(DEVICE) if modules[-1].is_last else None
        mask = {"attention_mask": host["attention_mask"].to(DEVICE)} if "attention_mask" in host else {}
        losses = []
        output = schedule.step(*ids, target=labels, losses=losses, return_outputs=job["distributed"]["pipeline"]["return_outputs"], **mask)
        recorder.reading(f"step{windows.step}.after_backward")
        if training["max_grad_norm"]:
            windows.enter("clip", False)
            torch.nn.utils.clip_grad_norm_(parameters, training["max_grad_norm"])
        windows.enter("optimizer", False)
        optimizer.step()
        windows.enter("zero_grad", False)
        if loop["output"] == "until_step_end":
            output = losses = None
        optimizer.zero_grad()
        recorder.reading(f"step{windows.step}.after_optimizer")
    recorder.window("train_end")
    recorder.reading("allocated_end")
    return optimizer, schedule, output, losses
