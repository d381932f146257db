"""Windows of trl's trainers of preferences and rewards, where functions of trl begin and end."""
from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

from .recorder import Recorder
from .stages import Stages

#: While the trainer is built. Functions of the trainer's module: adapters and the preparation of quantized weights (trl up to 0.28),
#: the reference model (create_model_from_path; a copy by create_reference_model in trl 0.24).
BUILDING = {"get_peft_model": "adapters", "prepare_model_for_kbit_training": "prepare",
            "create_model_from_path": "load_reference", "create_reference_model": "load_reference"}
#: A method of the trainer's class, which runs the reference over the data while the trainer is built (trl 0.29 and later).
PRECOMPUTES = "_precompute_ref_logps"
#: Methods of the trainer during training, with what comes behind them.
METHODS = {
    "get_train_dataloader": ("precompute_reference", "inputs"),  # trl 0.24, with precompute_ref_log_probs only
    "compute_ref_log_probs": ("reference_forward", "loss"),
}
#: Context managers around the reference's forward with adapters: a function of the trainer's module, a method.
SWITCHES = ("use_adapter", "null_ref_context")


def marked(function: Callable[..., Any], enter: Callable[[], Any]) -> Callable[..., Any]:
    """The function inside of the context that `enter` makes."""

    @functools.wraps(function)  # trainers look at signatures
    def call(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return function(*args, **kwargs)

    return call


def mark_building(cls: Any, recorder: Recorder) -> None:
    """Windows inside of `trainer`."""
    module = sys.modules[cls.__module__]

    @contextlib.contextmanager
    def window(name: str) -> Any:
        recorder.window(name)
        yield
        recorder.window("trainer")

    for name, stage in BUILDING.items():
        if hasattr(module, name):
            setattr(module, name, marked(getattr(module, name), functools.partial(window, stage)))
    if hasattr(cls, PRECOMPUTES):
        setattr(cls, PRECOMPUTES, marked(getattr(cls, PRECOMPUTES), functools.partial(window, "precompute_reference")))


def mark(trainer: Any, stages: Stages) -> None:
    """Windows of a step: the reference's forward and the loss behind the policy's."""
    trainer.model.register_forward_hook(lambda *_: stages.of_forward("loss"))
    reference = getattr(trainer, "ref_model", None)
    if reference is not None:
        reference.forward = marked(reference.forward, functools.partial(stages.within, "reference_forward", "loss"))
    mark_switches(trainer, stages)


def mark_switches(trainer: Any, stages: Stages) -> None:
    """With adapters the reference is the policy without them."""
    for owner in (sys.modules[type(trainer).__module__], trainer):
        for name in SWITCHES:
            if hasattr(owner, name):
                setattr(owner, name, switched(getattr(owner, name), stages))
    for name, (phase, then) in METHODS.items():
        if hasattr(trainer, name) and applies(trainer, name):
            setattr(trainer, name, marked(getattr(trainer, name), functools.partial(stages.within, phase, then)))


def applies(trainer: Any, name: str) -> bool:
    """Whether the loader is what computes the reference."""
    return name != "get_train_dataloader" or bool(getattr(trainer, "precompute_ref_log_probs", False))


def switched(switch: Callable[..., Any], stages: Stages) -> Callable[..., Any]:
    """The context manager inside of the phase."""

    @contextlib.contextmanager
    def call(*args: Any, **kwargs: Any) -> Any:
        with stages.within("reference_forward", "loss"), switch(*args, **kwargs) as out:
            yield out

    return call
