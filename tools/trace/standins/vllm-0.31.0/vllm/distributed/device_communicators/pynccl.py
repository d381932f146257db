"""Weights go to a server's workers over NCCL: collectives by NCCL's own functions, which no allocation of torch is made for."""
from __future__ import annotations

from typing import Any

import torch


class PyNcclCommunicator:
    """vllm distributed/device_communicators/pynccl.py PyNcclCommunicator."""

    def __init__(self, group: Any, device: Any) -> None:
        self.group = group
        number = torch.zeros(1, device=torch.device("cuda", device) if isinstance(device, int) else device)
        self.all_reduce(number)  # a small one to warm up
        torch.cuda.current_stream().synchronize()

    def all_reduce(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(tensor)

    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        pass
