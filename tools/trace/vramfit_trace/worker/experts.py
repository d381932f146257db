"""Mixtures of experts whose loop asks the host how many tokens an expert has: all have equally many, the first ones one more where they cannot."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

from ..job import Job
from .device import Device


def shares(rows: int, experts: int) -> list[int]:
    """How many of these rows each expert has."""
    return [rows // experts + (i < rows % experts) for i in range(experts)]


def balance(job: Job, device: Device) -> None:
    """Whatever the library's Python asks about experts."""
    if device.real:
        return
    asked = ASKED.get(job["model"]["model_type"])
    if asked:
        asked(importlib.import_module("transformers.models.{0}.modeling_{0}".format(MODULES.get(job["model"]["model_type"], job["model"]["model_type"]))), device)
    elif experts := job["model"].get("num_local_experts"):
        count_masks(experts, device)


def count_masks(experts: int, device: Device) -> None:
    """Answers torch.where(mask of one expert), a mask [experts of a token, tokens] (transformers 4)."""
    original = torch.where

    def where(*args: Any, **kwargs: Any) -> Any:
        mask = args[0] if len(args) == 1 and not kwargs else None
        if mask is None or not mask.is_cuda or mask.dim() != 2:
            return original(*args, **kwargs)
        with device.counting(mask.numel() // experts):
            return original(mask)

    torch.where = where


def jetmoe(module: Any, device: Device) -> None:
    """Answers tolist() of the numbers of all experts in JetMoeTopKGating.forward."""
    forward, tolist = module.JetMoeTopKGating.forward, torch.Tensor.tolist

    def gating(self: Any, hidden_states: torch.Tensor) -> Any:
        def listed(tensor: torch.Tensor) -> Any:
            tolist(tensor)
            return shares(len(hidden_states) * self.top_k, self.num_experts)
        torch.Tensor.tolist = listed
        try:
            return forward(self, hidden_states)
        finally:
            torch.Tensor.tolist = tolist
    module.JetMoeTopKGating.forward = gating


def aria(module: Any, device: Device) -> None:
    """sequential_experts_gemm is told on the host how many tokens each expert has."""
    original = module.sequential_experts_gemm

    def gemm(token_states: torch.Tensor, expert_weights: torch.Tensor, tokens_per_expert: torch.Tensor) -> torch.Tensor:
        return original(token_states, expert_weights, torch.tensor(shares(len(token_states), len(expert_weights))))
    module.sequential_experts_gemm = gemm


def longcat_flash(module: Any, device: Device) -> None:
    in_turn(module.LongcatFlashExperts, "total_experts", device)


def dbrx(module: Any, device: Device) -> None:
    in_turn(module.DbrxExperts, "num_experts", device)


def in_turn(cls: Any, number: str, device: Device) -> None:
    """Answers in the forward of a class of experts, whose attribute says their number, which of them have tokens, and which tokens they are."""
    forward, where, nonzero, item = cls.forward, torch.where, torch.Tensor.nonzero, torch.Tensor.item

    def experts(self: Any, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor) -> torch.Tensor:
        counts = [count for count in shares(top_k_index.numel(), getattr(self, number)) if count]
        asked = iter(range(len(counts)))
        found = iter(counts)

        def hit(tensor: torch.Tensor, **kwargs: Any) -> torch.Tensor:
            with device.counting(len(counts)):
                return nonzero(tensor, **kwargs)

        def read(tensor: torch.Tensor) -> int:
            torch.Tensor.item = item  # which a mode of functions looks up again
            item(tensor)
            torch.Tensor.item = read
            return next(asked)

        def places(mask: torch.Tensor) -> Any:
            with device.counting(next(found)):
                return where(mask)
        torch.where, torch.Tensor.nonzero, torch.Tensor.item = places, hit, read
        try:
            return forward(self, hidden_states, top_k_index, top_k_weights)
        finally:
            torch.where, torch.Tensor.nonzero, torch.Tensor.item = where, nonzero, item
    cls.forward = experts


ASKED: dict[str, Callable[[Any, Device], None]] = {"jetmoe": jetmoe, "aria_text": aria, "longcat_flash": longcat_flash, "dbrx": dbrx}
#: Model types whose modules have another name.
MODULES = {"aria_text": "aria"}
