"""What axolotl does around trl's trainers: a reference that it loads itself, and a cache that it empties."""
from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..job import Job
from .recorder import Recorder

#: Of all that loading the reference takes.
WINDOW = "load_reference"

#: The reference, from where it is loaded to where the trainer is built.
references: list[torch.nn.Module] = []


def empty_cache() -> None:
    gc.collect()
    torch.cuda.empty_cache()


def load_reference(job: Job, load: Callable[[], torch.nn.Module], recorder: Recorder) -> None:
    """train.py setup_reference_model of axolotl 0.19; loaders/model.py ModelLoader empties the cache behind each model."""
    if not job["trl"].get("ref_model"):
        return
    empty_cache()
    recorder.window(WINDOW)
    references.append(load())
    empty_cache()


@contextlib.contextmanager
def loaded_reference(job: Job) -> Iterator[dict[str, Any]]:
    """What the trainer is given of it. core/builders/rl.py _get_trainer_cls hands it to DPO alone; else it goes with the builder."""
    given = job["trl"].get("ref_model") == "given"
    yield {"ref_model": references.pop()} if given else {}
    references.clear()


def with_emptied_cache(cls: Any) -> Any:
    """The trainer as axolotl derives its own from trl's (axolotl 0.19 core/trainers/dpo/trainer.py AxolotlDPOTrainer)."""

    class AxolotlTrainer(cls):  # type: ignore[misc]
        def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
            loss = super().training_step(*args, **kwargs)
            empty_cache()
            return loss

    AxolotlTrainer.__module__ = cls.__module__  # where windows are looked for
    return AxolotlTrainer
