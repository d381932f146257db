"""A second network in the job: reward models of GRPO, RLOO and PPO, the teacher of GKD, PPO's value model."""
from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers

from ..job import Job
from .checkpoint import made_from_config, write_second
from .libraries import dtype_key
from .model import quantization
from .recorder import Recorder

#: A reward model's checkpoint is a classifier's of one number.
CLASSES = {"reward_models": transformers.AutoModelForSequenceClassification, "teacher": transformers.AutoModelForCausalLM,
           "value_model": transformers.AutoModelForSequenceClassification}
#: The window in which it comes onto the device, and what its weights are.
WINDOWS = {"reward_models": "load_reward", "teacher": "load_teacher", "value_model": "load_value"}


def empty_network(auto: Any, fields: dict[str, Any]) -> torch.nn.Module:
    """As from_config makes it, on the meta device, in the config's dtype (bfloat16 if it names none)."""
    fields = dict(fields)
    stored = getattr(torch, fields.get("dtype") or fields.get("torch_dtype") or "bfloat16")
    if auto is transformers.AutoModelForSequenceClassification:
        fields["num_labels"] = 1
    return made_from_config(auto, fields, stored)


def arguments_of(wanted: Job) -> dict[str, Any]:
    """Of from_pretrained, as far as the job names them."""
    out: dict[str, Any] = {key: wanted[key] for key in ("attn_implementation", "device_map") if wanted[key] is not None}
    if wanted["dtype"]:
        out[dtype_key()] = getattr(torch, wanted["dtype"])
    if wanted["quantization_config"]:
        out["quantization_config"] = quantization(wanted["quantization_config"])
        out.setdefault("device_map", {"": 0})
    return out


class Seconds:
    """The networks beside the one that is trained. The folders live as long as this does."""

    def __init__(self) -> None:
        self.folders: list[tempfile.TemporaryDirectory[str]] = []

    def make(self, kind: str, wanted: Job, recorder: Recorder, by_name: bool = True) -> Any:
        """What the trainer is given: the checkpoint's name where from_pretrained has nothing to be told and the trainer takes one, else the
        network."""
        auto = CLASSES[kind]
        folder = tempfile.TemporaryDirectory()
        self.folders.append(folder)
        write_second(empty_network(auto, wanted["model"]), Path(folder.name))
        arguments = arguments_of(wanted)
        if not arguments and by_name:
            return folder.name
        if "device_map" in arguments:
            recorder.window(WINDOWS[kind])
        model = auto.from_pretrained(folder.name, **({} if kind == "teacher" else {"num_labels": 1}), **arguments)
        recorder.window("trainer")
        return model


def mark_placing(recorder: Recorder, has_teacher: bool) -> None:
    """accelerate moves a network to the device that is only evaluated: the window in which the second one comes there."""
    import accelerate

    prepare = accelerate.Accelerator.prepare_model

    def marked(self: Any, model: Any, *args: Any, evaluation_mode: bool = False, **kwargs: Any) -> Any:
        kind = kind_of(model, has_teacher) if evaluation_mode else None
        if kind is None:
            return prepare(self, model, *args, evaluation_mode=evaluation_mode, **kwargs)
        recorder.window(WINDOWS[kind])
        out = prepare(self, model, *args, evaluation_mode=evaluation_mode, **kwargs)
        recorder.know_second(out, kind)
        recorder.window("trainer")
        return out

    accelerate.Accelerator.prepare_model = marked  # type: ignore[method-assign]


def kind_of(model: Any, has_teacher: bool) -> str | None:
    """Which of them it is; None: a reference."""
    if type(model).__name__.endswith("ForSequenceClassification"):
        return "reward_models"
    return "teacher" if has_teacher else None
