"""One of several processes, alone: the process group is PyTorch's own, and the other ranks are always there and agree."""
from __future__ import annotations

import datetime
import functools
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed

from ..job import Job
from .device import Device
from .rows import SAMPLED
from .stages import Stages

#: An ncclUniqueId, which rank 0 would have sent.
UNIQUE_ID = b"\1" * 128
#: They compare or exchange small values of the host through the device: a module and the function's name.
EXCHANGES = (
    ("torch.distributed", "all_gather_object"),
    ("torch.distributed", "broadcast_object_list"),
    ("torch.distributed", "gather_object"),
    ("torch.distributed.distributed_c10d", "all_gather_object"),
    ("torch.distributed.distributed_c10d", "broadcast_object_list"),
    ("torch.distributed.distributed_c10d", "gather_object"),
    ("torch.distributed.utils", "_verify_param_shape_across_processes"),
    ("torch.nn.parallel.distributed", "_verify_param_shape_across_processes"),
)
#: What the process group holds on to.
held: list[Any] = []


class Store(torch.distributed.Store):
    """A rendezvous whose other members have written all that anybody asks for."""

    def __init__(self, members: int) -> None:
        super().__init__()
        self.members = members
        self.values: dict[str, bytes] = {}

    def set(self, key: str, value: str | bytes) -> None:
        self.values[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key: str) -> bytes:
        return self.values.get(key, UNIQUE_ID)

    def add(self, key: str, amount: int) -> int:
        self.values[key] = str(self.members).encode()
        return self.members

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        self.set(key, desired)
        return self.values[key]

    def check(self, keys: list[str]) -> bool:
        return all(key in self.values for key in keys)

    def wait(self, *_: Any) -> None:
        """Nothing is missing."""

    def delete_key(self, key: str) -> bool:
        return self.values.pop(key, None) is not None

    def num_keys(self) -> int:
        return len(self.values)

    def set_timeout(self, timeout: Any) -> None:
        """Nobody is late."""


def carry_contents(owner: Any, name: str, device: Device) -> None:
    """While this function runs, small copies and collectives carry contents, in place of values that are known (`values.py`).

    torch 2.15 spreads what it has gathered by a kernel, which does nothing here: DDP then sees other ranks without parameters.
    """
    inner: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        with device.contents(), torch._C.DisableTorchFunction():
            try:
                return inner(*args, **kwargs)
            except RuntimeError as error:
                if "has inconsistent 0 params" not in str(error):
                    raise

    setattr(owner, name, outer)


def wait_for_watchdog(owner: Any, name: str) -> None:
    """ProcessGroupNCCL's watchdog, which looks every 100 ms, lets go of the buckets whose reduction has ended.

    A step of a device takes longer than that; without one a small model's may not.
    """
    inner: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.25)
        return inner(*args, **kwargs)

    setattr(owner, name, outer)


def count_cards(of_node: int) -> None:
    """FSDP1's hybrid strategies cut over the cards that a process sees; here it sees one, of as many as the job says."""
    from torch.distributed.fsdp import _init_utils

    inner = _init_utils._init_intra_and_inter_node_groups

    @functools.wraps(inner)
    def outer(group: Any, _: int) -> Any:
        return inner(group, of_node)

    _init_utils._init_intra_and_inter_node_groups = outer


def prepare_as_axolotl() -> None:
    """What loaders/patch_manager.py of axolotl 0.18 puts in the place of accelerate's and torch's FSDP2."""
    from axolotl.monkeypatch import fsdp2_qlora
    from axolotl.monkeypatch.accelerate import fsdp2, parallelism_config

    fsdp2.log_gpu_memory_usage = lambda *_: None  # which resets the allocator's peaks
    fsdp2.patch_initialize_missing_keys_for_fsdp()
    parallelism_config.patch_parallelism_config()
    fsdp2.patch_accelerate_fsdp2()
    fsdp2_qlora.apply_init_sharded_param_patch()
    fsdp2_qlora.apply_init_unsharded_param_patch()
    fsdp2_qlora.apply_init_dtype_attrs_patch()


def start(job: Job, device: Device) -> None:
    """init_process_group, as torchrun and accelerate lead to it."""
    import importlib

    import torch.testing._internal.distributed.fake_pg  # noqa: F401  (the backend of tensors in host memory)

    processes = job["distributed"]
    torch.cuda.set_device(0)
    held.append(Store(processes["world_size"]))
    # accelerate's group has no backend of the host, but for FSDP that offloads (state.py PartialState): what trl gathers as Python
    # objects goes through the device.
    offloads = processes["kind"].startswith("fsdp") and processes["fsdp_config"].get("cpu_offload")
    backend = "nccl" if job["loop"]["kind"] in SAMPLED and not offloads else "cpu:fake,cuda:nccl"
    torch.distributed.init_process_group(backend, store=held[0], rank=processes["rank"],
                                         world_size=processes["world_size"], timeout=datetime.timedelta(hours=24))
    for module, name in EXCHANGES:
        carry_contents(importlib.import_module(module), name, device)
    carry_contents(torch.distributed.Reducer, "_rebuild_buckets", device)
    wait_for_watchdog(torch.distributed.Reducer, "_rebuild_buckets")
    device.tell_byte(0)
    if processes["kind"] == "fsdp1":  # a node has all processes where nothing is said
        count_cards(processes["local_world_size"] or processes["world_size"])
    if processes["prepared_by"] == "axolotl":
        prepare_as_axolotl()
    if processes["kind"] == "deepspeed":
        from . import zero

        zero.stand_in(device)


def sees_padding(job: Job) -> bool:
    """Whether this rank's part of the sequence has padded places, an eighth at one of its ends.

    Context parallelism gives the i-th rank the i-th part of the front and of the back.
    """
    if "padded" not in job["batch"]["attention_mask"]:
        return False
    size, length = job["distributed"]["cp_size"], job["batch"]["sequence_length"]
    return size == 1 or job["distributed"]["rank"] % size * (length // (2 * size)) < max(1, length // 8)


def answer_by_pass(job: Job, stages: Stages, device: Device) -> None:
    """Bytes that are read in the forward are about masks; those that are read later ask whether anything overflowed."""
    of_masks = 0 if sees_padding(job) else 1
    inputs, backward = stages.inputs, stages.backward

    def answered_inputs() -> None:
        device.tell_byte(of_masks)
        inputs()

    def answered_backward() -> None:
        device.tell_byte(0)
        backward()

    stages.inputs, stages.backward = answered_inputs, answered_backward  # type: ignore[method-assign]
