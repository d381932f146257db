"""vramfit: does this LLM fine-tuning fit on this GPU?

    import vramfit

    prediction = vramfit.predict("qwen3-8b", method="qlora", seq=2048, gpu="RTX 4090")
    prediction.verdict, prediction.peak.reserved

Every flag of the program is a keyword, with underscores: `--mixed-precision bf16` is `mixed_precision="bf16"`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ._display import Answer
from ._documents import Check, Plan, Prediction, Sweep, Timeline
from ._program import InvalidQuestion, Problem, Unsupported, VramfitError, arguments, program, run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import CheckFlags, PlanFlags, PredictFlags, SweepFlags, TimelineFlags

    Model = str | os.PathLike[str] | None

__all__ = [
    "Answer", "Check", "InvalidQuestion", "Plan", "Prediction", "Problem", "Sweep", "Timeline", "Unsupported",
    "VramfitError", "check", "gpus", "models", "plan", "predict", "program", "stacks", "sweep", "timeline", "version",
]  # fmt: skip

AnswerT = TypeVar("AnswerT", bound=Answer)


def _ask(make: Callable[[Any], AnswerT], words: list[str], flags: Any) -> AnswerT:
    question = arguments(words, flags)
    document = json.loads(run([*question.words, "--format=json"], question.text))
    answer = make(document)
    answer._keep(document, question)
    return answer


def _model(model: Model) -> list[str]:
    return [] if model is None else [f"--model={os.fspath(model)}"]


def predict(model: Model = None, **flags: Unpack[PredictFlags]) -> Prediction:
    """The peak GPU memory of one fine-tuning run, and whether it fits."""
    return _ask(Prediction.from_json, ["predict", *_model(model)], flags)


def sweep(model: Model = None, **flags: Unpack[SweepFlags]) -> Sweep:
    """Many configurations of a model, those that fit ranked; `sweep(...).rows` is a table for pandas."""
    return _ask(Sweep.from_json, ["sweep", *_model(model)], flags)


def plan(model: Model = None, **flags: Unpack[PlanFlags]) -> Plan:
    """The ways to share a run among several GPUs, compared."""
    return _ask(Plan.from_json, ["plan", *_model(model)], flags)


def check(*files: str | os.PathLike[str], **flags: Unpack[CheckFlags]) -> Check:
    """Whether the run that a trainer's config files describe fits. What is refused raises Unsupported."""
    return _ask(Check.from_json, ["check", *(os.fspath(file) for file in files)], flags)


def timeline(model: Model = None, **flags: Unpack[TimelineFlags]) -> Timeline:
    """The memory of a run over time, window by window."""
    return _ask(Timeline.from_json, ["timeline", *_model(model)], flags)


def _table(command: str, text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(run([command, *([text] if text else []), "--format=json"]))[command]
    return rows


def models(text: str = "") -> list[dict[str, Any]]:
    """The built-in models, or those with this text in their name."""
    return _table("models", text)


def gpus(text: str = "") -> list[dict[str, Any]]:
    """The GPUs that are known by name."""
    return _table("gpus", text)


def stacks(text: str = "") -> list[dict[str, Any]]:
    """The named sets of library versions."""
    return _table("stacks", text)


def version() -> str:
    """The program's version."""
    return run(["--version"]).split()[-1]
