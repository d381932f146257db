"""How many tokens of a batch Unsloth's loss scores: it asks the device for them by nonzero(), from 2026.10.9 on.

The original runs; nonzero() then finds as many as the collator's labels have.
"""
from __future__ import annotations

from typing import Any

import torch

from .device import Device

NAME = "_vramfit_scored"


def scored(labels: torch.Tensor, lengths: torch.Tensor | None) -> int:
    """Labels that a token before them predicts: all but the first of each row, and of each of the rows that are put together."""
    rows = labels.reshape(-1).split(lengths.reshape(-1).tolist()) if lengths is not None else list(labels)
    return sum(int((row[1:] != -100).sum()) for row in rows)


def remember(there: Any, batch: Any) -> None:
    """The labels on the device know how many of the host's are scored."""
    labels, lengths = batch.get("labels"), batch.get("packed_seq_lengths")
    if isinstance(labels, torch.Tensor) and not labels.is_cuda:
        setattr(there["labels"], NAME, scored(labels, lengths))


class Scored:
    """What is scored of the batch that the network has now."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.count: int | None = None

    def watch(self, model: torch.nn.Module) -> None:
        """From now on the loss is told, where the release asks."""
        try:
            from unsloth_zoo.fused_losses import fused_linear
        except ImportError:
            return
        if self.device.real:
            return
        original = fused_linear._keep_index

        def keep_index(*args: Any, **kwargs: Any) -> Any:
            assert self.count is not None
            with self.device.counting(self.count):
                return original(*args, **kwargs)

        fused_linear._keep_index = keep_index
        model.register_forward_pre_hook(self.see, with_kwargs=True)

    def see(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        self.count = getattr(kwargs.get("labels"), NAME, None)
