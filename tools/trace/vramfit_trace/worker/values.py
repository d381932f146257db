"""Values of whole numbers and masks on the device: what the host reads of them follows from the job's rows.

A tensor of integers or booleans that came from the host carries a copy there, and every operation on such tensors runs on the
copies too. Nothing of it is on the device.
"""
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

from .device import Device
from .rows import Completions

NAME = "_vramfit_values"
#: Copies of more elements are not kept.
LIMIT = 1 << 22
#: What the host reads. Anything else that is no tensor (a size, a stride) is the same for a copy.
READS = ("item", "tolist", "__bool__", "__int__", "__index__", "__float__", "is_nonzero", "equal", "cpu", "numpy")
#: Without an input on the device.
MADE = ("to", "cuda", "tensor", "as_tensor", "arange", "zeros", "ones", "full", "eye", "scalar_tensor")
#: Of an input's shape alone.
FILLED = ("full_like", "zeros_like", "ones_like", "new_zeros", "new_ones", "new_full", "new_tensor")
#: Of numbers that are not known; none is infinite.
FINITE = {"isnan": False, "isinf": False, "isfinite": True}
IN_PLACE = ("__setitem__", "__iadd__", "__imul__", "__isub__", "__ior__", "__iand__")


def of(tensor: Any) -> torch.Tensor | None:
    """The values of a tensor on the device, if they are known."""
    return getattr(tensor, NAME, None)


#: Values of masks by address and shape, for backward: hooks on saved tensors give it another object.
MASKS: dict[tuple[int, torch.Size], torch.Tensor] = {}


def know(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """From now on these are the tensor's values."""
    setattr(tensor, NAME, values)
    if tensor.dtype == torch.bool:
        MASKS[tensor.data_ptr(), tensor.shape] = values


def of_saved(mask: torch.Tensor) -> torch.Tensor | None:
    """The values of a mask that a node of the backward pass has kept."""
    return MASKS.get((mask.data_ptr(), mask.shape)) if torch._C._current_autograd_node() is not None else None


def on_device(thing: Any) -> bool:
    return isinstance(thing, torch.Tensor) and thing.is_cuda


def can_have(thing: Any) -> bool:
    """Whether values are kept of it: of other numbers only a single one, which may be a count (BCO's of rows)."""
    if not on_device(thing) or thing.dtype.is_complex:
        return False
    return thing.numel() <= (1 if thing.dtype.is_floating_point else LIMIT)


def on_host(thing: Any) -> Any:
    """The copy of a tensor, the host in place of the device."""
    if on_device(thing):
        values = of(thing)
        return torch.empty(thing.shape, dtype=thing.dtype) if values is None else values
    if isinstance(thing, torch.device) and thing.type == "cuda" or isinstance(thing, str) and thing.startswith("cuda"):
        return torch.device("cpu")
    return thing


class Values(TorchFunctionMode):
    """Runs what has known values on their copies too. `completions` know what is drawn at random."""

    def __init__(self, device: Device, completions: Completions | None) -> None:
        super().__init__()
        self.device = device
        self.completions = completions

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        with self.answering(name, args):
            out = function(*args, **kwargs)
        given = [thing for thing in tree_flatten((args, kwargs))[0] if on_device(thing)]
        if given and all(of(thing) is not None for thing in given):
            return self.run_beside(function, name, args, kwargs, out)
        if name in IN_PLACE or name.endswith("_") and not name.endswith("__"):
            self.forget(args)
        elif name in MADE and not given or name in FILLED:
            if can_have(out):
                know(out, self.copy(function, args, kwargs).clone())
        elif name in FINITE and can_have(out):
            know(out, torch.full(out.shape, FINITE[name]))
        elif name == "multinomial" and self.completions:
            know(out, torch.tensor(self.completions.draw(len(out)), dtype=out.dtype).reshape(out.shape))
        if on_device(out) and out.dtype == torch.bool and of(out) is None:
            MASKS.pop((out.data_ptr(), out.shape), None)  # of a mask that is gone
        return out

    def answering(self, name: str, args: Any) -> Any:
        """Indexing by one boolean reads it inside of torch."""
        values = of(args[1]) if name == "__getitem__" else None
        if values is None or values.dtype != torch.bool or values.dim():
            return contextlib.nullcontext()
        return self.device.answering(int(values))

    def run_beside(self, function: Any, name: str, args: Any, kwargs: Any, out: Any) -> Any:
        """The same on the copies: the answer to a read, or values of what came out."""
        outs = out if isinstance(out, (tuple, list)) else [out]
        tensors = [thing for thing in outs if isinstance(thing, torch.Tensor)]
        if not tensors and name not in READS and name not in IN_PLACE:
            return out
        if tensors and not any(can_have(thing) or not thing.is_cuda for thing in tensors):
            return out
        values = self.copy(function, args, kwargs)
        if not tensors:
            return values if name in READS else out
        for made, known in zip(outs, values if isinstance(values, (tuple, list)) else [values]):
            if can_have(made) and isinstance(known, torch.Tensor) and known.shape == made.shape:
                know(made, known)
        return values.clone() if isinstance(values, torch.Tensor) and not out.is_cuda else out

    @staticmethod
    def copy(function: Any, args: Any, kwargs: Any) -> Any:
        """The function's result on the host."""
        there, named = tree_map(on_host, (tuple(args), {key: value for key, value in kwargs.items() if key not in ("non_blocking", "pin_memory")}))
        if getattr(function, "__name__", "") == "cuda":
            return there[0]
        with torch.no_grad():
            return function(*there, **named)

    @staticmethod
    def forget(args: Any) -> None:
        """What was changed by something that is not known is not known either."""
        if args and on_device(args[0]) and of(args[0]) is not None:
            delattr(args[0], NAME)
            MASKS.pop((args[0].data_ptr(), args[0].shape), None)


def count_by_values(device: Device) -> Any:
    """nonzero(), also where indexing by a mask calls it and in backward, finds as many elements as the mask's values have."""
    kernel = torch.library.get_kernel("aten::nonzero", "CUDA")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)

    def nonzero(mask: torch.Tensor) -> torch.Tensor:
        values = of(mask)
        if values is None:
            values = of_saved(mask)
        if values is None:
            return kernel.call_boxed(keys, mask)
        with device.counting(int(values.count_nonzero())):
            return kernel.call_boxed(keys, mask)

    library = torch.library.Library("aten", "IMPL")  # the replacement lasts as long as this
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an implementation is replaced
        library.impl("nonzero", nonzero, "CUDA", allow_override=True)
    return library


class Drawn(TorchFunctionMode):
    """A real device draws at random: the job's completions are written over what it drew."""

    def __init__(self, completions: Completions) -> None:
        super().__init__()
        self.completions = completions

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if getattr(function, "__name__", "") == "multinomial":
            out.copy_(torch.tensor(self.completions.draw(len(out)), dtype=out.dtype).reshape(out.shape))
        return out


def gather_values() -> Any:
    """What several processes gather has the values of this one over and over: all ranks have the same rows."""
    from accelerate.utils import operations

    inner = operations._gpu_gather

    def gathered(tensor: Any) -> Any:
        out = inner(tensor)
        for made, own in zip(tree_flatten(out)[0], tree_flatten(tensor)[0]):
            values = of(own)
            if can_have(made) and values is not None:
                own_rows = values.reshape(1) if values.dim() == 0 else values
                know(made, torch.cat([own_rows] * (made.numel() // values.numel())))
        return out

    operations._gpu_gather = gathered
    return inner


@contextlib.contextmanager
def beside(device: Device, completions: Completions | None) -> Iterator[None]:
    """Values are known while this lasts; a real device has its own, but for what is drawn."""
    if device.real:
        with Drawn(completions) if completions else contextlib.nullcontext():
            yield
        return
    from accelerate.utils import operations

    library, gather = count_by_values(device), gather_values()
    try:
        with Values(device, completions):
            yield
    finally:
        library._destroy()
        operations._gpu_gather = gather
