"""flash_attn's two entry points as autograd functions that allocate in the order of 2.5.9 to 2.7.3 and launch no kernel of theirs.

From flash_attn_interface.py and csrc/flash_attn/flash_api.cpp (mha_fwd, mha_varlen_fwd, mha_bwd, mha_varlen_bwd).
PyTorch's own operators pad, copy, fill with zeros and sum over the heads of a group, as the package's do.
"""
from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import Any

import torch

from .splitting import key_block, parts

#: 2.6 laid out the softmax's sums of packed rows anew and counts each multiprocessor twice where it divides the keys.
SINCE_2_6 = tuple(map(int, importlib.metadata.version("flash_attn").split(".")[:2])) >= (2, 6)
ROWS = 128  # backward's scratch has whole blocks of rows
Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Packed:
    """Rows of several lengths in one: how many there are, and the longest."""

    rows: int
    longest: int
    longest_keys: int


def up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def scratch_head(head: int) -> int:
    """The head size of fp32 accumulators."""
    return up(head, 32) if head <= 192 else 256


def ready(tensor: torch.Tensor) -> torch.Tensor:
    """Contiguous in the last dimension and padded to a multiple of 8 there."""
    tensor = tensor if tensor.stride(-1) == 1 else tensor.contiguous()
    missing = -tensor.shape[-1] % 8
    return torch.nn.functional.pad(tensor, (0, missing)) if missing else tensor


def floats(like: torch.Tensor, *shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.float32, device=like.device)


def multiprocessors(tensor: torch.Tensor) -> int:
    return int(torch.cuda.get_device_properties(tensor.device).multi_processor_count)


def check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """What the package refuses."""
    if query.dtype not in (torch.float16, torch.bfloat16):
        raise RuntimeError("FlashAttention only support fp16 and bf16 data type")
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError("query, key and value must have the same dtype")
    if torch.cuda.get_device_capability(query.device) < (8, 0):
        raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.")
    if query.shape[-1] > 256:
        raise RuntimeError("FlashAttention forward only supports head dimension at most 256")
    if query.shape[-2] % key.shape[-2]:
        raise RuntimeError("Number of heads in key/value must divide number of heads in query")


def divided_keys(query: torch.Tensor, batch: int, length: int, keys: int) -> Tensors:
    """Accumulators of a forward pass that is divided over the keys; nothing if it is not."""
    heads, head = query.shape[-2:]
    blocks = -(-keys // key_block(head))
    count = parts(batch * heads * -(-length // 64), multiprocessors(query) * (2 if SINCE_2_6 else 1), blocks)
    if count == 1:
        return ()
    return floats(query, count, batch, heads, length), floats(query, count, batch, heads, length, scratch_head(head))


def softmax_sums(query: torch.Tensor, packed: Packed | None) -> torch.Tensor:
    """Forward's logarithms of the sums, which backward reads."""
    heads = query.shape[-2]
    if packed is None:
        return floats(query, query.shape[0], heads, query.shape[1])
    return floats(query, heads, query.shape[0]) if SINCE_2_6 else floats(query, packed.rows, heads, packed.longest)


def backward_sums(query: torch.Tensor, packed: Packed | None) -> torch.Tensor:
    """softmax_d of backward."""
    heads = query.shape[-2]
    if packed is None:
        return floats(query, query.shape[0], heads, up(query.shape[1], ROWS))
    if SINCE_2_6:
        return floats(query, heads, query.shape[0] + ROWS * packed.rows)
    return floats(query, packed.rows, heads, up(packed.longest, ROWS))


def query_accumulator(query: torch.Tensor, packed: Packed | None, deterministic: bool) -> torch.Tensor:
    """dq in fp32; the deterministic kernel adds several of them."""
    heads, head = query.shape[-2:]
    batch = packed.rows if packed else query.shape[0]
    rows = (query.shape[0] + ROWS * packed.rows,) if packed else (batch, up(query.shape[1], ROWS))
    shape = (*rows, heads, scratch_head(head))
    if not deterministic:
        return floats(query, *shape)
    copies = -(-multiprocessors(query) // (batch * heads))
    return torch.zeros((copies, *shape), dtype=torch.float32, device=query.device)


def makes_queries_of_groups(query: torch.Tensor, key: torch.Tensor, packed: Packed | None, dropout: float, windowed: bool) -> bool:
    """One token for each row: heads that share keys become queries of one head (seqlenq_ngroups_swapped)."""
    longest = packed.longest if packed else query.shape[1]
    return longest == 1 and query.shape[-2] > key.shape[-2] and dropout == 0 and not windowed


def attend_in_groups(query: torch.Tensor, key: torch.Tensor, packed: Packed | None) -> Tensors:
    """Output, the softmax's sums and the generator's state of one token for each row."""
    heads, head = query.shape[-2:]
    rows, shared = query.shape[0], key.shape[-2]
    size = heads // shared
    grouped = query.reshape(rows, shared, size, head).transpose(1, 2)
    if packed:
        grouped = grouped.reshape(rows * size, shared, head)
    out = torch.empty_like(grouped)
    sums = floats(query, shared, rows * size) if packed else floats(query, rows, shared, size)
    accumulators = divided_keys(grouped, rows, size, packed.longest_keys if packed else key.shape[1])
    state = torch.empty(2, dtype=torch.int64, device=query.device)
    if packed:
        out = out.reshape(rows, size, shared, head).transpose(1, 2).reshape(rows, heads, head)
        grouped = grouped.reshape(rows, size, shared, head).transpose(1, 2).reshape(rows, heads, head)
        return out, sums.reshape(heads, rows), state
    del accumulators
    return out.transpose(1, 2).reshape(rows, 1, heads, head), sums.reshape(rows, heads, 1), state


class Attention(torch.autograd.Function):
    """One call of the kernels."""

    @staticmethod
    def forward(ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, packed: Packed | None, bounds: Tensors,
                dropout: float, deterministic: bool, windowed: bool) -> torch.Tensor:
        check(query, key, value)
        head = query.shape[-1]
        query, key, value = ready(query), ready(key), ready(value)
        if makes_queries_of_groups(query, key, packed, dropout, windowed):
            out, sums, generator_state = attend_in_groups(query, key, packed)
        else:
            out = torch.empty_like(query)
            sums = softmax_sums(query, packed)
            if packed is None and dropout == 0:
                divided_keys(query, *query.shape[:2], key.shape[1])
            generator_state = torch.empty(2, dtype=torch.int64, device=query.device)
        ctx.save_for_backward(query, key, value, out, sums, *bounds, generator_state)
        ctx.packed, ctx.deterministic = packed, deterministic
        return out[..., :head] if head % 8 else out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, key, value, out, sums, *_ = ctx.saved_tensors
        head = gradient.shape[-1]
        grads = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
        gradient = ready(gradient)
        softmax_d = backward_sums(query, ctx.packed)
        accumulator = query_accumulator(query, ctx.packed, ctx.deterministic)
        heads, groups = query.shape[-2], key.shape[-2]
        if groups != heads:
            of_all_heads = [torch.empty((*key.shape[:-2], heads, key.shape[-1]), dtype=query.dtype, device=query.device) for _ in range(2)]
            for whole, summed in zip(of_all_heads, grads[1:]):
                torch.sum(whole.reshape(*key.shape[:-1], heads // groups, key.shape[-1]), dim=-2, out=summed)
        del softmax_d, accumulator
        return (*(grad[..., :head] for grad in grads), *[None] * 5)


def refuse(**options: Any) -> None:
    asked = [name for name, value in options.items() if value is not None and value is not False]
    if asked:
        raise NotImplementedError(f"not in the stand-in for flash_attn: {', '.join(asked)}")


def flash_attn_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float = 0.0, softmax_scale: float | None = None,
                    causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                    alibi_slopes: torch.Tensor | None = None, deterministic: bool = False, return_attn_probs: bool = False) -> torch.Tensor:
    """Rows of one length."""
    refuse(return_attn_probs=return_attn_probs)
    return Attention.apply(q, k, v, None, (), dropout_p, deterministic, window_size[0] >= 0)


def flash_attn_varlen_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: torch.Tensor, cu_seqlens_k: torch.Tensor,
                           max_seqlen_q: int, max_seqlen_k: int, dropout_p: float = 0.0, softmax_scale: float | None = None,
                           causal: bool = False, window_size: tuple[int, int] = (-1, -1), softcap: float = 0.0,
                           alibi_slopes: torch.Tensor | None = None, deterministic: bool = False, return_attn_probs: bool = False,
                           block_table: torch.Tensor | None = None) -> torch.Tensor:
    """Packed rows."""
    refuse(return_attn_probs=return_attn_probs, block_table=block_table)
    packed = Packed(cu_seqlens_q.numel() - 1, int(max_seqlen_q), int(max_seqlen_k))
    return Attention.apply(q, k, v, packed, (cu_seqlens_q, cu_seqlens_k), dropout_p, deterministic, window_size[0] >= 0)
