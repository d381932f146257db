"""vllm distributed/weight_transfer/nccl_common.py, of the trainer's side."""
from __future__ import annotations

from typing import Any

import torch

from ..device_communicators.pynccl import PyNcclCommunicator
from ..utils import StatelessProcessGroup


def trainer_init(_: Any) -> PyNcclCommunicator:
    return PyNcclCommunicator(StatelessProcessGroup.create(), torch.accelerator.current_device_index())
