"""Attention: the kernel that a job forces, repeated heads, and stand-ins for libraries that need a device."""
from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from ..job import BATCHES, Job, JobError
from .device import Device
from .libraries import version

STAND_INS = Path(__file__).resolve().parents[2] / "standins"
BACKENDS = {"flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION", "math": "MATH"}


def forced_kernel(job: Job) -> contextlib.AbstractContextManager[Any]:
    """Switches every kernel of sdpa off but the one that the job names."""
    kernel = job["load"]["sdpa_kernel"]
    if kernel is None:
        return contextlib.nullcontext()
    if version("torch") < (2, 3):
        if kernel == "cudnn":
            raise JobError("this PyTorch has no cudnn attention")
        return torch.backends.cuda.sdp_kernel(enable_flash=kernel == "flash", enable_mem_efficient=kernel == "efficient",
                                              enable_math=kernel == "math")
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backend = getattr(SDPBackend, BACKENDS[kernel], None)
    if backend is None:
        raise JobError("this PyTorch has no cudnn attention")
    return sdpa_kernel(backend)


def repeat_heads(job: Job) -> None:
    """Repeats key and value heads to the full number before sdpa, where the job asks for it."""
    if not job["load"]["sdpa_expand_kv"]:
        return
    functional = torch.nn.functional
    original = functional.scaled_dot_product_attention

    def repeated(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        groups = query.size(-3) // key.size(-3)
        if groups > 1:
            key, value = key.repeat_interleave(groups, dim=-3), value.repeat_interleave(groups, dim=-3)
            kwargs.pop("enable_gqa", None)
        return original(query, key, value, *args, **kwargs)

    functional.scaled_dot_product_attention = repeated


def cudnn_without_device() -> torch.library.Library | None:
    """cuDNN's attention as an operator that makes its tensors, and on capability 9.0 the workspaces that cuDNN 9.19 was seen to ask for
    on an H200; elsewhere none, which only cuDNN knows.

    Returns what must be kept as long as it is wanted. Written from the operator's signature since torch 2.5.
    """
    operator = getattr(torch.ops.aten, "_scaled_dot_product_cudnn_attention", None)
    if operator is None or "attn_bias" not in {argument.name for argument in operator.default._schema.arguments}:
        return None

    def in_order_of(query: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        order = sorted(range(4), key=query.stride, reverse=True)
        laid_out = torch.empty([shape[dim] for dim in order], dtype=query.dtype, device=query.device)
        return laid_out.permute([order.index(dim) for dim in range(4)])

    def plan(query: torch.Tensor, size: int) -> None:
        if torch.cuda.get_device_capability(query.device) == (9, 0):
            torch.empty(size, dtype=torch.uint8, device=query.device)

    def forward(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_bias: torch.Tensor | None,
                compute_log_sumexp: bool, dropout_p: float = 0.0, is_causal: bool = False, return_debug_mask: bool = False,
                scale: float | None = None) -> tuple[Any, ...]:
        batch, heads, length, _ = query.shape
        seed, offset = (torch.empty((), dtype=torch.int64, device=query.device) for _ in range(2))
        output = in_order_of(query, (batch, heads, length, value.shape[-1]))
        sums = (batch, heads, length, 1) if compute_log_sumexp else (0,)
        kept = torch.empty(sums, dtype=torch.float32, device=query.device)
        plan(query, 256)
        return output, kept, None, None, length, key.shape[2], seed, offset, None

    def backward(grad_out: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any,
                 **__: Any) -> tuple[torch.Tensor, ...]:
        gradients = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
        batch, heads, length, width = query.shape
        rows = batch * heads * length  # dQ in float32, a float for each row; dK and dV of every query head where heads are grouped
        grouped = 4 * batch * heads * key.shape[2] * width if key.shape[1] != heads else 0
        plan(query, rows * (width + 1) * 4 + grouped + 256)
        return gradients

    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an implementation is replaced
        library.impl("_scaled_dot_product_cudnn_attention", forward, "CUDA")
        library.impl("_scaled_dot_product_cudnn_attention_backward", backward, "CUDA")
    return library


def use_flash_stand_in(job: Job, device: Device) -> None:
    """Puts the stand-in for the package flash_attn in front, before transformers looks for the package."""
    if job["load"]["attn_implementation"] != "flash_attention_2" or device.real:
        return
    if job["loop"]["kind"] not in BATCHES and "padded" in job["batch"].get("attention_mask", "padded"):
        raise JobError("flash_attention_2 with a padded mask reads the number of tokens from the device: it is not traced")
    release = "2.7.3" if version("torch") >= (2, 4) else "2.5.9.post1"
    sys.path[:0] = [str(STAND_INS), str(STAND_INS / "releases" / release)]
    answer_any(device)


def answer_any(device: Device) -> None:
    """transformers asks all() and any() of masks and positions. all() is answered with yes, so any() needs its no.

    A result of any() (or bool(), of a sum in transformers 5) is remembered; when the host reads it, the answer is changed.
    """
    tensor = torch.Tensor

    def remembered(original: Any) -> Any:
        @functools.wraps(original)  # modes ask for the name
        def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            out = original(self, *args, **kwargs)
            if out.is_cuda and out.dim() == 0 and out is not self:
                out.asks_any = True
            return out
        return call

    def answered(original: Any) -> Any:
        @functools.wraps(original)
        def call(self: torch.Tensor) -> Any:
            if not getattr(self, "asks_any", False):
                return original(self)
            device.tell_byte(0)
            try:
                return original(self)
            finally:
                device.tell_byte(1)
        return call

    tensor.any, tensor.bool = remembered(tensor.any), remembered(tensor.bool)
    tensor.item, tensor.__bool__ = answered(tensor.item), answered(tensor.__bool__)
