"""The package flash_attn as its functions: they are recorded by name and give tensors of the right sizes."""
from __future__ import annotations

import contextlib
import importlib.machinery
import sys
import types
from typing import Any, Iterator

import torch
from torch.overrides import handle_torch_function, has_torch_function

from .device import replaced


def flash_attn_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False,
                    window_size: Any = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None, deterministic: bool = False,
                    return_attn_probs: bool = False, **kwargs: Any) -> Any:
    if has_torch_function((q, k, v)):
        return handle_torch_function(flash_attn_func, (q, k, v), q, k, v, dropout_p=dropout_p, softmax_scale=softmax_scale, causal=causal,
                                     window_size=window_size, softcap=softcap, deterministic=deterministic, **kwargs)
    return torch.empty((*q.shape[:-1], v.shape[-1]), dtype=q.dtype, device=q.device)


def flash_attn_varlen_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, max_seqlen_q: Any = None,
                           max_seqlen_k: Any = None, dropout_p: float = 0.0, softmax_scale: float | None = None, causal: bool = False,
                           window_size: Any = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None, deterministic: bool = False,
                           return_attn_probs: bool = False, block_table: Any = None, **kwargs: Any) -> Any:
    if has_torch_function((q, k, v)):
        return handle_torch_function(flash_attn_varlen_func, (q, k, v), q, k, v, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, max_seqlen_q=max_seqlen_q,
                                     max_seqlen_k=max_seqlen_k, dropout_p=dropout_p, softmax_scale=softmax_scale, causal=causal, window_size=window_size,
                                     softcap=softcap, deterministic=deterministic, **kwargs)
    return torch.empty((*q.shape[:-1], v.shape[-1]), dtype=q.dtype, device=q.device)


def not_recorded(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("only flash_attn_func and flash_attn_varlen_func are recorded")


def package() -> dict[str, types.ModuleType]:
    main, padding = types.ModuleType("flash_attn"), types.ModuleType("flash_attn.bert_padding")
    for function in (flash_attn_func, flash_attn_varlen_func):
        function.__module__, function.__qualname__ = "flash_attn", f"flash_attn.{function.__name__}"
        setattr(main, function.__name__, function)
    main.flash_attn_with_kvcache = not_recorded
    main.__version__ = "2.8.3"
    padding.pad_input = padding.unpad_input = padding.index_first_axis = not_recorded
    for module in (main, padding):
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    main.__path__ = []
    main.bert_padding = padding
    return {"flash_attn": main, "flash_attn.bert_padding": padding}


@contextlib.contextmanager
def flash_attention() -> Iterator[None]:
    """For a while the package is installed."""
    from transformers import modeling_flash_attention_utils as utils

    there = package()
    old = {name: sys.modules.get(name) for name in there}
    sys.modules.update(there)
    try:
        with replaced([(utils, "is_flash_attn_2_available", lambda *a, **k: True), (utils, "is_flash_attn_available", lambda *a, **k: True)]):
            yield
    finally:
        for name, module in old.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
