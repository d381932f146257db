"""A device that is not there: fake tensors that say "cuda", and what code that asks about the card is told."""
from __future__ import annotations

import contextlib
import logging
import os
from typing import Any, Iterator

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)  # what it logs is raised as well

CUDA = torch.device("cuda", 0)

# What is different on another card are kernels, which a recording does not name.
CAPABILITY = (9, 0)


def fake_mode() -> FakeTensorMode:
    return FakeTensorMode(allow_non_fake_inputs=True)


def on_device(mode: FakeTensorMode, t: torch.Tensor) -> torch.Tensor:
    """A tensor of the device with the sizes, strides and dtype of `t`."""
    with torch.no_grad():
        meta = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta")
    return FakeTensor(mode, meta, CUDA)


def move_network(mode: FakeTensorMode, network: torch.nn.Module) -> None:
    """Parameters, buffers and tensors that are plain attributes become the device's; what is shared stays shared."""
    moved: dict[int, torch.Tensor] = {}
    kept = []

    def move(t: torch.Tensor) -> torch.Tensor:
        if isinstance(t, FakeTensor):
            return t
        if id(t) not in moved:
            there = on_device(mode, t.detach())
            if isinstance(t, torch.nn.Parameter):
                there = torch.nn.Parameter(there, t.requires_grad)
            for key, value in getattr(t, "__dict__", {}).items():
                with contextlib.suppress(AttributeError):
                    setattr(there, key, value)
            kept.append(t)
            moved[id(t)] = there
        return moved[id(t)]

    for module in network.modules():
        for table in (module._parameters, module._buffers):
            for key, t in table.items():
                if t is not None:
                    table[key] = move(t)
        for key, t in list(module.__dict__.items()):
            if isinstance(t, torch.Tensor) and t.device.type in ("meta", "cpu"):
                module.__dict__[key] = move(t)


@contextlib.contextmanager
def replaced(places: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Attributes that have another value for a while; those that a version does not have are left out."""
    old = [(owner, name, getattr(owner, name)) for owner, name, _ in places if hasattr(owner, name)]
    try:
        for owner, name, value in places:
            if hasattr(owner, name):
                setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in old:
            setattr(owner, name, value)


def answers() -> list[tuple[Any, str, Any]]:
    """Questions about the card, and about whether the run is a real one."""
    from transformers.utils import import_utils

    properties = type("Properties", (), {"major": CAPABILITY[0], "minor": CAPABILITY[1], "name": "recorder",
                                         "multi_processor_count": 132, "total_memory": 80 << 30})()
    return [
        (torch.cuda, "get_device_capability", lambda device=None: CAPABILITY),
        (torch.cuda, "get_device_properties", lambda device=None: properties),
        (torch.cuda, "current_device", lambda: 0),
        (torch.cuda, "device_count", lambda: 1),
        (torch.cuda, "is_current_stream_capturing", lambda: False),
        (torch.cuda, "is_bf16_supported", lambda including_emulation=True: True),
        (torch.cuda.amp.common, "amp_definitely_not_available", lambda: False),
        (import_utils, "is_fake_tensor", lambda x: False),
    ]
