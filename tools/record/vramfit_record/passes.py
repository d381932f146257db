"""One forward pass as it happens: calls of modules and torch functions, results, and when each tensor's last name ends.

A TorchFunctionMode sees each call that Python makes, before autograd, autocast and dispatch. Every call runs without autograd, which would keep
what it saves; the code around it sees the grad mode that it set. A weak reference to each result says when it ends.
"""
from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from dataclasses import dataclass, field
from typing import Any, Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode, resolve_name

from . import values
from .sizes import Number, shape_of
from .device import CUDA, replaced

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


@dataclass
class Value:
    """A tensor that the pass has made or was given."""
    number: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    host: bool
    storage: int
    place: int
    owner: str  # the parameter that it is a view of


@dataclass(frozen=True)
class Ref:
    """A value, or a parameter or buffer by its name."""
    value: int = -1
    name: str = ""


@dataclass
class Free:
    value: int


@dataclass
class Condition:
    """What a number that was read off a shape was compared with: it decides which way the code takes."""
    sign: str
    left: int
    right: int
    holds: bool


@dataclass
class Call:
    """A torch function: what it was given and gave back. `read`: what the host was told instead."""
    function: str
    args: Any
    kwargs: Any
    out: Any = None
    no_grad: bool = False
    autocast: bool = False
    read: Any = None
    loss: bool = False
    assumed: bool = False
    asked: tuple[Ref, ...] = ()


@dataclass
class Region:
    """A custom autograd function, or a module: what is called inside of it."""
    kind: str
    name: str
    of_class: str
    inputs: list[tuple[str, Any]] = field(default_factory=list)
    outputs: list[tuple[str, Any]] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    no_grad: bool = False
    autocast: bool = False
    asked: list[Ref] = field(default_factory=list)


class Refused(Exception):
    """Why a network cannot be recorded."""


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


class Pass(TorchFunctionMode):
    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.names: dict[int, list[str]] = {}
        self.owners: dict[int, str] = {}  # parameters by their storage
        self.storages: dict[int, list[int]] = {}  # a storage's number, and how many values are on it
        for named in (network.named_parameters, network.named_buffers):
            for name, t in named(remove_duplicate=False):
                self.names.setdefault(id(t), []).append(name)
                self.owners[storage_of(t)] = name
        self.paths = {id(m): n for n, m in network.named_modules(remove_duplicate=False)}
        self.paths.update({id(m): n for n, m in network.named_modules()})
        self.values: list[Value] = []
        self.root = Region("module", "", "")
        self.open = [self.root]
        self.watched: dict[int, Any] = {}
        self.constants: dict[str, tuple[int, ...]] = {}
        self.network = network
        self.done = False

    # Values

    def born(self, t: torch.Tensor) -> Ref:
        known = self.ref(t)
        if known is not None:
            return known
        number = len(self.values)
        place = storage_of(t)
        storage = self.storages.setdefault(place, [number, 0])
        storage[1] += 1
        self.values.append(Value(number, tuple(t.shape), t.dtype, t.device.type != "cuda", storage[0], place, self.owners.get(place, "")))
        t._number = number
        self.watched[number] = weakref.ref(t, lambda _, n=number: self.ended(n))
        return Ref(number)

    def ref(self, t: torch.Tensor) -> Ref | None:
        names = self.names.get(id(t))
        if names:
            prefix = self.open[-1].name + "."
            return Ref(name=next((n for n in names if n.startswith(prefix)), names[0]))
        number = getattr(t, "_number", None)
        return None if number is None else Ref(number)

    def ended(self, number: int) -> None:
        del self.watched[number]
        place = self.values[number].place
        self.storages[place][1] -= 1
        if self.storages[place][1] == 0:
            del self.storages[place]
        if not self.done:
            self.open[-1].events.append(Free(number))

    def compared(self, sign: str, left: int, right: int, holds: bool) -> None:
        self.open[-1].events.append(Condition(sign, left, right, holds))

    def described(self, x: Any) -> Any:
        """Arguments, with references in place of tensors."""
        if isinstance(x, torch.Tensor):
            return self.ref(x) or self.constant(x)
        if type(x) in (list, tuple, torch.Size):
            return [self.described(y) for y in x]
        if isinstance(x, dict):
            return {str(k): self.described(v) for k, v in x.items()}
        if isinstance(x, slice):
            return slice(self.described(x.start), self.described(x.stop), self.described(x.step))
        return x

    def constant(self, t: torch.Tensor) -> Ref:
        """A tensor that was there before: an attribute of a module, of a closure, of Python."""
        ref = self.born(t)
        outer = self.root if self.open[0] is self.root else self.open[0]
        outer.inputs.append((f"constant.{ref.value}", ref))
        return ref

    def results(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return self.born(x)
        if isinstance(x, (list, tuple)):
            return [self.results(y) for y in x]
        return None

    # Calls

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = resolve_name(function) or getattr(function, "__qualname__", str(function))
        if name in MODES:
            return function(*args, **kwargs)
        if name in LOOKS:
            return function(*args, **kwargs)
        if name == "torch.Tensor.shape.__get__":
            return shape_of(args[0])
        if name == "torch.Tensor.size":
            at = args[1] if len(args) > 1 else kwargs.get("dim")
            return shape_of(args[0]) if at is None else Number(function(*args, **kwargs))
        short = name.rsplit(".", 1)[-1]
        if name == "torch.Tensor.dtype.__get__":
            ref = self.ref(args[0])
            if ref is not None:
                self.open[-1].asked.append(ref)
            return function(*args, **kwargs)
        if name.endswith(".__get__") and short == "__get__" and name.split(".")[-2] not in ("data", "T", "mT", "H", "mH", "real", "imag"):
            return function(*args, **kwargs)
        call = Call(name, self.described(("data", *args[1:]) if name in OF_DATA and args else args), self.described(kwargs), no_grad=not torch.is_grad_enabled(),
                    autocast=torch.is_autocast_enabled("cuda"), asked=tuple(self.open[-1].asked[-12:]),
                    loss=len(self.open) == 2 and in_loss(sys._getframe(1)))
        out = self.carry_out(function, short, args, kwargs, call)
        call.out = self.results(out)
        self.open[-1].events.append(call)
        return out

    def carry_out(self, function: Any, short: str, args: Any, kwargs: Any, call: Call) -> Any:
        report, Number.report = Number.report, None
        try:
            return self.carried_out(function, short, args, kwargs, call)
        finally:
            Number.report = report

    def carried_out(self, function: Any, short: str, args: Any, kwargs: Any, call: Call) -> Any:
        known = values.compute(function, short, args, kwargs) if may_be_known(args, kwargs, short) else None
        if short in values.READS:
            return self.read(short, args, known, call)
        grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            if short in values.SIZED_BY_VALUES and is_sized_by_values(short, args, kwargs):
                return self.sized(function, short, args, kwargs, known, call)
            out = grouped_mm(*args, **kwargs) if short in ("grouped_mm", "_grouped_mm") else function(*args, **kwargs)
            if not writes(short, kwargs):
                out = renamed(out, {id(t) for _, t in leaves([list(args), kwargs])})
            if short.endswith("_") and not short.startswith("__") or short == "__setitem__":
                if args and isinstance(args[0], torch.Tensor) and values.of(args[0]) is not None and known is None:
                    values.give(args[0], None)
            elif known is not None:
                values.attach(out, known)
            return out
        finally:
            torch._C._set_grad_enabled(grad)

    def read(self, short: str, args: Any, known: Any, call: Call) -> Any:
        if known is None:
            call.assumed = True
            t = args[0]
            if short in ("tolist", "numpy"):
                zeros = torch.zeros(t.shape, dtype=t.dtype if not t.dtype.is_floating_point else torch.float32, device="cpu")
                known = values.compute(getattr(torch.Tensor, short), short, (values.give(zeros, None),), {})
                with values.unset_fake_temporarily():
                    zeros = torch.zeros(tuple(t.shape), dtype=t.dtype)
                    known = zeros.tolist() if short == "tolist" else zeros.numpy()
            else:
                known = False if t.dtype == torch.bool or short in ("__bool__", "equal", "allclose", "__contains__", "is_nonzero") else 0
        call.read = known if isinstance(known, (bool, int, float)) else "list"
        return known

    def sized(self, function: Any, short: str, args: Any, kwargs: Any, known: Any, call: Call) -> Any:
        """A result whose size follows from values."""
        if known is None and short == "repeat_interleave" and kwargs.get("output_size") is not None:
            return function(*args, **kwargs)
        if known is None:
            raise Refused(f"the size of what {call.function} gives back depends on values that only a real run has")

        def make(v: Any) -> Any:
            if isinstance(v, torch.Tensor):
                return values.give(torch.empty(tuple(v.shape), dtype=v.dtype, device=CUDA), v)
            return type(v)(map(make, v)) if isinstance(v, (list, tuple)) else v
        if short == "__getitem__" and not values.of(args[0]) is not None:
            raise Refused(f"{call.function}: values")
        return make(known)

    # Modules

    def enter(self, module: torch.nn.Module, args: Any, kwargs: Any) -> Region:
        region = Region("module", self.paths[id(module)], type(module).__name__, no_grad=not torch.is_grad_enabled(),
                        autocast=torch.is_autocast_enabled("cuda"))
        for key, t in [*leaves(list(args)), *leaves(kwargs)]:
            region.inputs.append((key, self.ref(t) or self.constant(t)))
        self.open[-1].events.append(region)
        self.open.append(region)
        return region

    def checkpoint(self, function: Any, args: Any, kwargs: Any) -> Any:
        """A checkpointed unit: what it is called with, and inside of it the module."""
        region = Region("checkpoint", self.open[-1].name, "checkpoint", no_grad=not torch.is_grad_enabled())
        for key, t in leaves(list(args)):
            region.inputs.append((key, self.ref(t) or self.constant(t)))
        self.open[-1].events.append(region)
        self.open.append(region)
        out = function(*args, **kwargs)
        self.leave(region, out)
        return out

    def leave(self, region: Region, out: Any) -> None:
        region.outputs = [(key, self.born(t)) for key, t in leaves(out)]
        self.open.pop()


def grouped_mm(mat_a: torch.Tensor, mat_b: torch.Tensor, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> torch.Tensor:
    """torch.nn.functional.grouped_mm: torch's own for tensors without memory knows bfloat16 only (torch 2.11 _meta_registrations.py).
    Autocast does not know it."""
    rows = [offs.shape[0]] if mat_a.dim() == mat_b.dim() == 2 else [mat_a.shape[0]] if mat_a.dim() == 3 else []
    return torch.empty([*rows, mat_a.shape[-2], mat_b.shape[-1]], dtype=out_dtype or mat_a.dtype, device=mat_a.device)


def in_loss(frame: Any) -> bool:
    """Whether a loss function of transformers calls, below the network's own forward."""
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


@contextlib.contextmanager
def watching(record: Pass) -> Iterator[None]:
    """Modules and custom autograd functions report to the pass."""
    call_module = torch.nn.Module.__call__
    apply_function = torch.autograd.Function.__dict__["apply"].__func__

    def called(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if id(self) not in record.paths:  # one that the forward has made for itself
            return call_module(self, *args, **kwargs)
        region = record.enter(self, args, kwargs)
        out = call_module(self, *args, **kwargs)
        record.leave(region, out)
        return out

    def applied(cls: Any, *args: Any, **kwargs: Any) -> Any:
        region = Region("function", record.open[-1].name, cls.__name__, no_grad=not torch.is_grad_enabled())
        for key, t in leaves(list(args)):
            region.inputs.append((key, record.ref(t) or record.constant(t)))
        record.open[-1].events.append(region)
        record.open.append(region)
        with torch.no_grad():
            out = apply_function(cls, *args, **kwargs)
        record.leave(region, out)
        return out

    with replaced([(torch.nn.Module, "__call__", called), (torch.autograd.Function, "apply", classmethod(applied))]):
        yield


def run_pass(network: torch.nn.Module, inputs: dict[str, Any], options: dict[str, Any], holder: list[Any]) -> Pass:
    """The network called once with these inputs, as a training step calls it."""
    record = Pass(network)
    holder.append(record)
    for key, t in inputs.items():
        record.root.inputs.append((key, record.born(t)))
    gc.collect()
    gc.disable()
    Number.report = record.compared
    try:
        with watching(record), record:
            out = network(**inputs, **options)
            record.root.outputs = [(key, record.born(t)) for key, t in leaves(out)]
            del out
        record.done = True
    finally:
        Number.report = None
        gc.enable()
    return record
