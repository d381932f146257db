"""Windows of trl's trainers of preferences and rewards, where functions of trl begin and end."""
from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from .recorder import Recorder
from .rows import Completions
from .stages import Stages

#: While the trainer is built. Functions of the trainer's module: adapters and the preparation of quantized weights,
#: the reference model (create_model_from_path; a copy by create_reference_model in trl 0.24).
BUILDING = {"get_peft_model": "adapters", "prepare_model_for_kbit_training": "prepare",
            "create_model_from_path": "load_reference", "create_reference_model": "load_reference"}
#: A method of the trainer's class, which runs the reference over the data while the trainer is built (trl 0.29 and later).
PRECOMPUTES = "_precompute_ref_logps"
#: Methods of the trainer during training. What a phase calls is part of it.
METHODS = {
    "get_train_dataloader": "precompute_reference",  # trl 0.24, with precompute_ref_log_probs
    "compute_ref_log_probs": "reference_forward",  # DPO of trl 0.24
    "_compute_kl_logps": "kl_forward",  # KTO: on completions of other rows, of the policy and of the reference
    "_generate": "generation",  # GRPO, RLOO
    "_generate_single_turn": "generation",
    "generate_on_policy_outputs": "generation",  # GKD: of the student, or of the teacher
    "_generate_completions": "generation",  # GRPO of ms-swift
    "_calculate_rewards": "reward",
    "_compute_rewards_per_func": "reward",  # GRPO of ms-swift
    "_calculate_rewards_from_functions": "reward",  # online DPO
    "_get_per_token_logps_and_entropies": "log_probabilities",  # before the loss: of the policy that generated
}
#: Methods that are a phase without gradients only; with them they are the policy's forward.
WITHOUT_GRADIENTS = ("_get_per_token_logps_and_entropies",)
#: Context managers around the reference's forward with adapters: a function of the trainer's module, a method.
SWITCHES = ("use_adapter", "null_ref_context")


def marked(function: Callable[..., Any], enter: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside of the context that `enter` makes of its arguments."""

    @functools.wraps(function)  # trainers look at signatures
    def call(*args: Any, **kwargs: Any) -> Any:
        with enter(*args):
            return function(*args, **kwargs)

    return call


def mark_building(cls: Any, recorder: Recorder) -> None:
    """Windows inside of `trainer`; what a trainer is made from calls functions of its own module, or of the one that prepares models."""
    modules = [sys.modules[name] for name in dict.fromkeys(base.__module__ for base in cls.__mro__) if name.startswith("trl.")]
    modules += [sys.modules[module.prepare_peft_model.__module__] for module in modules if hasattr(module, "prepare_peft_model")]  # of trl.experimental

    @contextlib.contextmanager
    def window(name: str, *_: Any) -> Any:
        recorder.window(name)
        yield
        recorder.window("trainer")

    for module in modules:
        for name, stage in BUILDING.items():
            if hasattr(module, name):
                setattr(module, name, marked(getattr(module, name), functools.partial(window, stage)))
    if hasattr(cls, PRECOMPUTES):
        setattr(cls, PRECOMPUTES, marked(getattr(cls, PRECOMPUTES), functools.partial(window, "precompute_reference")))


def mark(trainer: Any, stages: Stages, completions: Completions | None) -> None:
    """Windows of a step: the library's phases, and the loss behind the policy's forward."""
    trainer.model.register_forward_hook(lambda *_: stages.of_forward("loss"))
    reference = getattr(trainer, "ref_model", None)
    if reference is not None:
        reference.forward = marked(reference.forward, lambda *_: stages.within("reference_forward"))
    teacher = getattr(trainer, "teacher_model", None)
    if teacher is not None:
        end = trainer.generation_config.eos_token_id  # as the student's config has it, not the tokenizer
        if completions and end is not None:
            completions.end = end[0] if isinstance(end, list) else end
        teacher.forward = marked(teacher.forward, lambda *_: stages.within("teacher_forward"))
    for name in METHODS:
        if hasattr(trainer, name) and (name != "get_train_dataloader" or precomputes_in_loader(trainer)):
            setattr(trainer, name, marked(getattr(trainer, name), functools.partial(of_method, trainer, name, stages, completions)))
    if type(trainer).__name__ == "OnlineDPOTrainer" and reference is None:
        trainer.model.disable_adapter = switched(trainer.model.disable_adapter, stages)
    module = sys.modules[type(trainer).__module__]
    for owner in (module, trainer):
        for name in SWITCHES:
            if hasattr(owner, name):
                setattr(owner, name, switched(getattr(owner, name), stages))


def of_method(trainer: Any, name: str, stages: Stages, completions: Completions | None, *args: Any) -> Any:
    """The phase of a method's call."""
    phase = METHODS[name]
    if name in WITHOUT_GRADIENTS and torch.is_grad_enabled():
        return contextlib.nullcontext()
    if phase == "generation" and completions:
        completions.restart()
    if phase == "log_probabilities" and args and args[0] is getattr(trainer, "ref_model", None):
        phase = "reference_forward"
    return stages.within(phase)


def precomputes_in_loader(trainer: Any) -> bool:
    """Whether the making of the loader runs the reference over the data (trl 0.24)."""
    return not hasattr(trainer, PRECOMPUTES) and bool(getattr(trainer, "precompute_ref_log_probs", False))


def switched(switch: Callable[..., Any], stages: Stages) -> Callable[..., Any]:
    """The context manager inside of the phase."""

    @contextlib.contextmanager
    def call(*args: Any, **kwargs: Any) -> Any:
        with stages.within("reference_forward"), switch(*args, **kwargs) as out:
            yield out

    return call
