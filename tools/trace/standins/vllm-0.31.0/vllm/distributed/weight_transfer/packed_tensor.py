"""vllm distributed/weight_transfer/packed_tensor.py, of the trainer's side: tensors as bytes, one behind the other, in buffers of more
than a gibibyte, of which two are under way on a stream each."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch

FULL = 1024 * 1024 * 1024
BUFFERS = 2


@cache
def _streams(device: int) -> tuple[torch.cuda.Stream, ...]:
    """One for each buffer; kept for all calls, so that what one call has had serves the next."""
    return tuple(torch.cuda.Stream(device=device) for _ in range(BUFFERS))


def _pack(tensors: Iterator[tuple[str, torch.Tensor]], of: Callable[[tuple[str, torch.Tensor]], torch.Tensor]) -> torch.Tensor | None:
    taken: list[torch.Tensor] = []
    while sum(piece.numel() for piece in taken) <= FULL:
        named = next(tensors, None)
        if named is None:
            break
        taken.append(of(named).contiguous().view(torch.uint8).view(-1))
        del named
    return torch.cat(taken, dim=0) if taken else None


def packed_nccl_broadcast_producer(iterator: Iterator[tuple[str, torch.Tensor]], group: Any, src: int,
                                   post_iter_func: Callable[[tuple[str, torch.Tensor]], torch.Tensor]) -> None:
    streams = _streams(torch.accelerator.current_device_index())
    under_way: list[torch.Tensor | None] = [None] * BUFFERS
    turn = 0
    while True:
        streams[turn].synchronize()
        under_way[turn] = None
        with torch.cuda.stream(streams[turn]):
            packed = _pack(iterator, post_iter_func)
            if packed is None:
                break
            group.broadcast(packed, src=src)
            under_way[turn] = packed
            turn = (turn + 1) % BUFFERS
    for stream in streams:
        stream.synchronize()
