"""What is to be known of torch functions: which look, which write, which sizes follow from values."""
from __future__ import annotations

import sys
from typing import Any, Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensor

from . import values

# They look at a tensor and make nothing.
LOOKS = {f"torch.Tensor.{n}" for n in (
    "device.__get__ dim ndim.__get__ ndimension is_floating_point is_complex requires_grad.__get__ layout.__get__ is_cuda.__get__ "
    "is_cpu.__get__ numel nelement __len__ grad.__get__ grad_fn.__get__ data_ptr stride is_contiguous is_leaf.__get__ is_meta.__get__ names.__get__ element_size "
    "storage_offset untyped_storage storage is_sparse.__get__ is_quantized.__get__ is_mps.__get__ is_xpu.__get__ is_npu.__get__ __hash__ __format__ __repr__ _version.__get__ "
    "get_device is_nested.__get__ is_inference is_pinned _backward_hooks.__get__ itemsize.__get__ nbytes.__get__ is_signed _base.__get__ is_hpu.__get__ "
    "is_xla.__get__ is_mkldnn.__get__ is_shared is_tensor is_same_size __dir__ __reduce_ex__ has_names is_set_to output_nr.__get__ retain_grad register_hook "
    "requires_grad.__set__ grad.__set__ is_distributed").split()} | {
    "torch.is_floating_point", "torch.is_complex", "torch.numel", "torch.is_tensor", "torch.result_type", "torch.can_cast", "torch.promote_types",
    "torch.get_device", "torch.is_nonzero_static", "torch.is_storage", "torch.is_inference", "torch.is_same_size", "torch.get_default_dtype"}
OF_DATA = {"torch.tensor", "torch.as_tensor", "torch.Tensor.new_tensor", "torch.from_numpy"}  # what the host gives them is no part of the program
MODES = {"_set_grad_enabled", "torch._C._set_grad_enabled", "torch.set_grad_enabled", "torch.set_default_dtype", "torch.set_default_device", "torch._C._set_autograd_fallback_mode"}


def leaves(x: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of arguments or results, with the places where they stand."""
    join = f"{path}." if path else ""
    if isinstance(x, torch.Tensor):
        yield path, x
    elif isinstance(x, dict):
        for key, value in x.items():
            yield from leaves(value, f"{join}{key}")
    elif isinstance(x, (list, tuple)):
        for i, value in enumerate(x):
            yield from leaves(value, f"{join}{i}")


def grouped_mm(mat_a: torch.Tensor, mat_b: torch.Tensor, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> torch.Tensor:
    """torch.nn.functional.grouped_mm: torch's own for tensors without memory knows bfloat16 only (torch 2.11 _meta_registrations.py).
    Autocast does not know it."""
    rows = [offs.shape[0]] if mat_a.dim() == mat_b.dim() == 2 else [mat_a.shape[0]] if mat_a.dim() == 3 else []
    return torch.empty([*rows, mat_a.shape[-2], mat_b.shape[-1]], dtype=out_dtype or mat_a.dtype, device=mat_a.device)


def in_loss() -> bool:
    """Whether a loss function of transformers makes the call that is being recorded, below the network's own forward."""
    frame = sys._getframe(2)
    for _ in range(6):
        if frame is None or frame.f_code.co_name == "forward":
            return False
        if frame.f_code.co_filename.endswith("loss_utils.py"):
            return True
        frame = frame.f_back
    return False


def writes(short: str, kwargs: Any) -> bool:
    """Whether what it gives back is one of its arguments, always."""
    in_place = short.endswith("_") and not short.startswith("__") or short.startswith("__i") and short.endswith("__") and short != "__invert__"
    return in_place or short == "__setitem__" or kwargs.get("out") is not None or kwargs.get("inplace") is True


def renamed(out: Any, given: set[int]) -> Any:
    """What a function gives back unchanged, as another tensor: a cast that has nothing to do, contiguous, dropout of nothing.

    Whether it has something to do depends on dtypes and strides; that the result has a name of its own does not.
    """
    if isinstance(out, torch.Tensor):
        if id(out) not in given or not isinstance(out, FakeTensor):
            return out
        with values.unset_fake_temporarily():
            meta = torch.empty(0, dtype=out.dtype, device="meta").set_(out.untyped_storage(), out.storage_offset(), out.size(), out.stride())
        other = FakeTensor(out.fake_mode, meta, out.device)
        if values.of(out) is not None:
            values.give(other, values.of(out))
        return other
    if isinstance(out, (list, tuple)) and type(out) in (list, tuple):
        return type(out)(renamed(o, given) for o in out)
    return out


def storage_of(t: torch.Tensor) -> int:
    try:
        return t.untyped_storage()._cdata
    except Exception:  # noqa: BLE001  tensors without storage
        return 0


def may_be_known(args: Any, kwargs: Any, short: str) -> bool:
    """Whether it can have a value: no tensor without one among its arguments, and one or a factory."""
    def all_known(x: Any) -> bool:
        if isinstance(x, torch.Tensor):
            return values.of(x) is not None
        if isinstance(x, (list, tuple)):
            return all(map(all_known, x))
        return True
    return all_known(args) and all(all_known(v) for v in kwargs.values())


def is_sized_by_values(short: str, args: Any, kwargs: Any) -> bool:
    if short == "where":
        return len(args) + len(kwargs) == 1
    if short == "repeat_interleave":
        return len(args) > 1 and isinstance(args[1], torch.Tensor) or isinstance(kwargs.get("repeats"), torch.Tensor)
    if short == "__getitem__":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        return any(isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8) for i in index)
    return True
