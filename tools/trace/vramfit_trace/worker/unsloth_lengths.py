"""The lengths of packed rows, which Unsloth's collator puts on the device and its functions read back there.

The originals run, with all that they do on the device; the host then gets what the collator had.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from . import unsloth_scored

KEY = "packed_seq_lengths"
NAME = "_vramfit_lengths"


def lengths_of(tensor: Any) -> torch.Tensor | None:
    """The lengths of a tensor on the device, if it came from the collator."""
    return getattr(tensor, NAME, None)


def remember_copies() -> None:
    """The copy of a batch keeps the lengths that it had on the host."""
    import accelerate.data_loader
    import accelerate.utils.operations

    original = accelerate.utils.operations.send_to_device

    def send_to_device(batch: Any, *args: Any, **kwargs: Any) -> Any:
        out = original(batch, *args, **kwargs)
        if hasattr(batch, "keys"):
            unsloth_scored.remember(out, batch)
            if isinstance(batch.get(KEY), torch.Tensor):
                setattr(out[KEY], NAME, batch[KEY].cpu().clone())
        return out

    accelerate.utils.operations.send_to_device = accelerate.data_loader.send_to_device = send_to_device


def replace(original: Callable[..., Any], new: Callable[..., Any]) -> None:
    """In every module of Unsloth that has taken the function by its name."""
    name = original.__name__
    for module in list(sys.modules.values()):
        if str(getattr(module, "__name__", "")).lower().startswith("unsloth") and getattr(module, name, None) is original:
            setattr(module, name, new)


def longest(original: Callable[..., Any]) -> Callable[..., Any]:
    """unsloth.utils.packing.get_packed_info_from_kwargs: lengths, their running sums, the longest."""

    def call(kwargs: Any, device: Any) -> Any:
        out, known = original(kwargs, device), lengths_of(kwargs.get(KEY))
        if out is None or known is None:
            return out
        setattr(out[0], NAME, known)
        return out[0], out[1], int(known.max())

    return call


def segments(original: Callable[..., Any]) -> Callable[..., Any]:
    """unsloth.utils.packing.packed_segment_lengths."""
    from unsloth.utils import packing

    def call(info: Any, total_tokens: Any = None) -> Any:
        known = lengths_of(info[0])
        out = original(info, total_tokens)
        return out if known is None else packing._with_padding_segment(tuple(known.tolist()), total_tokens)

    return call


def covered(original: Callable[..., Any]) -> Callable[..., Any]:
    """unsloth.utils.packing.cover_padded_cu_seqlens, told how many places of the rows are padded by what it reads: the sum of the lengths.

    The original runs while the last running sum says so, because it makes a tensor of the padding only where there is some.
    """

    def call(info: Any, total_tokens: int) -> Any:
        known = lengths_of(info[0])
        if known is None:
            return original(info, total_tokens)
        end = int(known.sum())
        with Reading(end):
            return original(info, total_tokens)

    return call


class Reading:
    """While it lasts, Tensor.item() is this number."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.item = torch.Tensor.item

    def __enter__(self) -> None:
        item, value = self.item, self.value

        def call(tensor: torch.Tensor) -> Any:
            item(tensor)
            return value

        torch.Tensor.item = call

    def __exit__(self, *_: Any) -> None:
        torch.Tensor.item = self.item


def of_loss(original: Callable[..., Any]) -> Callable[..., Any]:
    """unsloth_zoo.loss_utils._normalize_packed_seq_lengths: of several rows, on the host."""

    def call(lengths: Any) -> Any:
        out, known = original(lengths), lengths_of(lengths)
        if known is None:
            return out
        known = known.reshape(-1).long()
        known = known[known > 0]
        return known if known.numel() > 1 else None

    return call


def know() -> None:
    """From now on what is read of lengths is right."""
    from unsloth.utils import packing
    from unsloth_zoo import loss_utils

    remember_copies()
    for module, name, answered in ((packing, "get_packed_info_from_kwargs", longest), (packing, "packed_segment_lengths", segments),
                                   (packing, "cover_padded_cu_seqlens", covered), (loss_utils, "_normalize_packed_seq_lengths", of_loss)):
        original = getattr(module, name)
        replace(original, answered(original))
