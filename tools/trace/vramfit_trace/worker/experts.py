"""Mixtures of experts whose loop asks the host how many tokens an expert has (transformers 4): all have equally many."""
from __future__ import annotations

from typing import Any

import torch

from ..job import Job
from .device import Device


def balance(job: Job, device: Device) -> None:
    """Answers torch.where(mask of one expert), a mask [experts of a token, tokens]."""
    experts = job["model"].get("num_local_experts")
    if device.real or not experts:
        return
    original = torch.where

    def where(*args: Any, **kwargs: Any) -> Any:
        mask = args[0] if len(args) == 1 and not kwargs else None
        if mask is None or not mask.is_cuda or mask.dim() != 2:
            return original(*args, **kwargs)
        with device.counting(mask.numel() // experts):
            return original(mask)

    torch.where = where
