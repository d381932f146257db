"""Values on the host beside tensors of the device: of small tensors whose values follow from the inputs.

What the code reads of those is exact. Everything else that it may ask has no value, and the answer is an assumption.
"""
from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

MOST = 1 << 16  # elements
torch.set_num_threads(1)  # such tensors are small: several threads wait for one another longer than they compute

# Results depend on what is in memory, or on chance.
WITHOUT_VALUES = {"empty", "empty_like", "new_empty", "empty_strided", "rand", "randn", "randint", "rand_like", "randn_like", "multinomial", "bernoulli", "dropout",
                  "normal_", "uniform_", "bernoulli_", "random_", "exponential_"}
# The size of a result follows from values.
SIZED_BY_VALUES = {"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "bincount", "repeat_interleave", "where", "__getitem__"}
READS = {"item", "__bool__", "tolist", "__int__", "__float__", "__index__", "numpy", "is_nonzero", "equal", "allclose", "__contains__"}


def of(t: Any) -> torch.Tensor | None:
    return getattr(t, "_host", None)


def give(t: torch.Tensor, value: torch.Tensor | None) -> torch.Tensor:
    t._host = value
    return t


def zeros_of(mask: torch.Tensor) -> int:
    """How many elements of a value are zero."""
    with unset_fake_temporarily():
        return mask.numel() - int(mask.count_nonzero())


def to_host(x: Any) -> Any:
    """An argument as the host has it; raises KeyError where it has no value."""
    if isinstance(x, torch.Tensor):
        value = of(x)
        if value is None:
            raise KeyError
        return value
    if isinstance(x, torch.device):
        return torch.device("cpu")
    if isinstance(x, str) and x.startswith("cuda"):
        return "cpu"
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple, torch.Size):
        return type(x)(map(to_host, x)) if type(x) is not torch.Size else x
    if isinstance(x, slice):
        return slice(to_host(x.start), to_host(x.stop), to_host(x.step))
    if isinstance(x, dict):
        return {k: to_host(v) for k, v in x.items()}
    return x


def compute(function: Any, name: str, args: Any, kwargs: Any) -> Any:
    """What the function gives on the host, or None where that is not known."""
    if name in WITHOUT_VALUES:
        return None
    try:
        args, kwargs = to_host(tuple(args)), to_host(dict(kwargs))
    except KeyError:
        return None
    kwargs.pop("non_blocking", None)
    kwargs.pop("pin_memory", None)
    try:
        with unset_fake_temporarily(), torch.no_grad():
            return function(*args, **kwargs)
    except Exception:  # noqa: BLE001  whatever it is, the device's own call says it again
        return None


def attach(out: Any, value: Any) -> None:
    if isinstance(out, torch.Tensor) and isinstance(value, torch.Tensor):
        if out.shape == value.shape and value.numel() <= MOST:
            give(out, value)
    elif isinstance(out, (list, tuple)) and isinstance(value, (list, tuple)) and len(out) == len(value):
        for o, v in zip(out, value):
            attach(o, v)
