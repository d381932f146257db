"""transformers.Trainer, and the marks around what it does in a step."""
from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..job import BATCHES, Job
from . import llama_factory, phases, ppo, preferences, processes, sft, unsloth_model, unsloth_scored, zero
from .batch import data_set, evaluation_set, told_byte, training_arguments
from .device import Device
from .libraries import trl_makes_adapters
from .recorder import Recorder
from .stages import Stages


class Progress(transformers.TrainerCallback):
    """Counts batches and steps. `stages` is there once the trainer is built."""

    stages: Stages

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def on_pre_optimizer_step(self, *_: Any, **about: Any) -> None:
        self.mark_bare(about["optimizer"], "optimizer")

    def on_optimizer_step(self, *_: Any, **about: Any) -> None:
        self.mark_bare(about["optimizer"], "zero_grad")

    def mark_bare(self, optimizer: Any, stage: str) -> None:
        """Under FSDP1 transformers 4.52 to 4.57 step an optimizer that accelerate has not wrapped."""
        from accelerate.optimizer import AcceleratedOptimizer

        if not isinstance(optimizer, AcceleratedOptimizer):
            self.stages.enter(stage)

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        self.stages.micro += 1
        self.stages.inputs()

    def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
        self.stages.step += 1
        self.stages.micro = 0
        if not control.should_evaluate:
            self.next_step()

    def next_step(self) -> None:
        """Behind a step and its evaluation."""
        if self.stages.step < self.steps:
            self.stages.inputs()
        else:
            self.stages.recorder.window("train_end")

    def on_train_end(self, *_: Any, **__: Any) -> None:
        gc.collect()
        self.stages.recorder.reading("allocated_end")


def mark_accelerator(accelerator: Any, stages: Stages, device: Device, clips: bool) -> None:
    """Backward and, but for DeepSpeed, clipping are calls of the accelerator."""
    backward, clip = accelerator.backward, accelerator.clip_grad_norm_

    def marked_backward(loss: torch.Tensor, **kwargs: Any) -> None:
        stages.backward()
        backward(loss, **kwargs)
        device.tell_count(None)

    def marked_clip(*args: Any, **kwargs: Any) -> Any:
        if clips:
            stages.enter("clip")
        return clip(*args, **kwargs)

    accelerator.backward, accelerator.clip_grad_norm_ = marked_backward, marked_clip


def mark_loop(stages: Stages, steps: int) -> None:
    """The optimizer's step and the fetch of batches are in all versions methods of these classes."""
    from accelerate.data_loader import DataLoaderShard
    from accelerate.optimizer import AcceleratedOptimizer

    step, batches = AcceleratedOptimizer.step, DataLoaderShard.__iter__

    def marked_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        stages.enter("optimizer")
        out = step(self, *args, **kwargs)
        stages.enter("zero_grad")
        return out

    def marked_batches(self: Any) -> Iterator[Any]:
        if stages.evaluation is not None:
            yield from of_evaluation(batches(self), len(self))
            return
        if stages.step < steps:
            stages.inputs()
        yield from batches(self)

    def of_evaluation(fetched: Iterator[Any], count: int) -> Iterator[Any]:
        for number in range(count):
            stages.evaluate(number)
            yield next(fetched)
        yield from fetched

    AcceleratedOptimizer.step, DataLoaderShard.__iter__ = marked_step, marked_batches


def mark_evaluation(job: Job, trainer: Any, progress: Progress, device: Device) -> None:
    """An evaluation is a call of the trainer; what it holds is gone when it returns."""
    evaluate = trainer.evaluate

    def marked_evaluate(*args: Any, **kwargs: Any) -> Any:
        progress.stages.evaluate(0)
        device.tell_byte(told_byte(job, evaluates=True))
        out = evaluate(*args, **kwargs)
        device.tell_byte(told_byte(job))
        progress.stages.evaluation = None
        progress.next_step()
        return out

    trainer.evaluate = marked_evaluate


def make(job: Job, model: torch.nn.Module, arguments: Any, progress: Progress, recorder: Recorder, device: Device) -> Any:
    """The trainer that the job's loop names."""
    if job["loop"]["kind"] in BATCHES:
        return preferences.make(job, model, arguments, progress, recorder)
    if job["loop"]["kind"] == "unsloth":
        return unsloth_model.make_trainer(job, model, arguments, progress)
    rows, evaluated = data_set(job), evaluation_set(job)
    if trl_makes_adapters(job):
        return sft.make_2024(job, model, arguments, rows, progress, recorder)
    if job["loop"]["kind"] == "sft":
        return sft.make(job, model, arguments, rows, evaluated, progress, device, recorder)
    return transformers.Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=evaluated, callbacks=[progress],
                                data_collator=lambda batch: torch.utils.data.default_collate(batch))


def run(job: Job, model: torch.nn.Module, recorder: Recorder, device: Device, known: Any = None) -> Any:
    """Builds the trainer and trains. Returns the trainer, which is still held at the end.

    `known`: the arguments, where they were made before the model.
    """
    steps = job["loop"]["steps"]
    progress = Progress(steps)
    by_deepspeed = bool(job["distributed"]) and job["distributed"]["kind"] == "deepspeed"
    with tempfile.TemporaryDirectory() as folder, preferences.known(job, device) as drawn:
        arguments = known or training_arguments(job, folder)
        if job["loop"]["input_require_grads"]:
            model.enable_input_require_grads()
        recorder.window("trainer")
        trainer = make(job, model, arguments, progress, recorder, device)
        progress.stages = Stages(job, trainer.model, recorder)
        if job["loop"]["kind"] == "unsloth":
            unsloth_model.mark_norm(progress.stages)
            unsloth_scored.Scored(device).watch(trainer.model)
            unsloth_model.know_scale(trainer.accelerator.scaler)
            if job["distributed"]:
                unsloth_model.answer_counts(job, trainer, device)
        if job["distributed"] and job["loop"]["kind"] not in BATCHES:
            processes.answer_by_pass(job, progress.stages, device)
        if by_deepspeed:
            zero.mark_engine(progress.stages)
        mark_accelerator(trainer.accelerator, progress.stages, device, not by_deepspeed)
        mark_loop(progress.stages, steps)
        mark_evaluation(job, trainer, progress, device)
        if job["loop"]["kind"] in BATCHES:
            recorder.know(trainer.model)  # with the adapters that the trainer has made
            (ppo.mark if job["loop"]["kind"] == "ppo" else phases.mark)(trainer, progress.stages, drawn)
            if llama_factory.is_asked(job):
                llama_factory.mark(trainer, progress.stages)
        trainer.train()
    return trainer
