"""One forward pass as it happens: calls of modules and torch functions, results, and when each tensor's last name ends.

A TorchFunctionMode sees each call that Python makes, before autograd, autocast and dispatch. Every call runs without autograd, which would keep
what it saves; the code around it sees the grad mode that it set. A weak reference to each result says when it ends.
"""
from __future__ import annotations

import contextlib
import gc
import weakref
from dataclasses import dataclass, field
from typing import Any, Iterator

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from . import experts, values
from .device import CUDA, replaced
from .functions import LOOKS, MODES, OF_DATA, grouped_mm, in_loss, is_sized_by_values, leaves, may_be_known, renamed, storage_of, writes
from .loops import Counted, Index, Loop
from .remembered import Remembered
from .sizes import Number, shape_of

REMEMBERED = Remembered()


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
        self.zeros = 0  # of the batch's mask
        self.buffers: dict[tuple[int, str], tuple[torch.nn.Module, str, torch.Tensor]] = {}  # those that the pass has replaced, as they were
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
                    loss=len(self.open) == 2 and in_loss())
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
            function = grouped_mm if short in ("grouped_mm", "_grouped_mm") else function
            if writes(short, kwargs):
                out = function(*args, **kwargs)
            else:
                out = REMEMBERED.call(call.function, function, args, kwargs)
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
        if short == "__getitem__" and self.is_picked(args[0], args[1]):
            return self.picked(args[0], args[1])
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

    def is_picked(self, t: torch.Tensor, index: Any) -> bool:
        """Whether these are the places of a mask of which none is missing, or as many as the batch's own mask has zeros."""
        mask = values.of(index) if isinstance(index, torch.Tensor) and index.dtype == torch.bool else None
        if mask is None:
            return False
        missing = values.zeros_of(mask)
        return missing == self.zeros if missing else values.of(t) is None

    def picked(self, t: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """t[mask] with all places, the most that there can be: how many of a batch are padding only a real run knows."""
        return torch.empty((mask.numel(), *t.shape[mask.dim():]), dtype=t.dtype, device=CUDA)

    def replaced(self, module: torch.nn.Module, name: str, t: Any) -> None:
        """A buffer becomes a tensor that the pass has made, for all passes behind it."""
        own = module._buffers[name]
        if isinstance(t, torch.Tensor) and own is not None and self.ref(own) is not None and t is not own:
            self.open[-1].events.append(Call("torch.nn.Module.register_buffer", [self.ref(own), self.ref(t)], {}, no_grad=True))
            self.buffers.setdefault((id(module), name), (module, name, own))

    def put_back(self) -> None:
        """The next pass finds the buffers that this one has found."""
        for module, name, own in self.buffers.values():
            module._buffers[name] = own

    def rounds(self, count: int) -> Iterator[Index]:
        """A loop over a number of a shape: what happens in each round is kept apart."""
        region, outer = self.open[-1], self.open[-1].events
        loop = Loop([])
        outer.append(loop)
        for i in range(count):
            region.events = []
            loop.rounds.append(region.events)
            yield Index(i)
        region.events = outer

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
        """A checkpointed unit: what it is called with, and inside of it the module. From transformers 5.23 on (modeling_layers.py forward_with_checkpointing) the module is called first: its forward is
        checkpointed, so that hooks run once. What happens without hooks is the same, and is written as before."""
        called_first = bool(getattr(function, "args", ()))
        caller = self.open[-2 if called_first else -1]
        region = Region("checkpoint", caller.name, "checkpoint", no_grad=not torch.is_grad_enabled())
        for key, t in leaves(list(args)):
            region.inputs.append((key, self.ref(t) or self.constant(t)))
        if called_first:
            region.events.append(caller.events.pop())
        caller.events.append(region)
        self.open.insert(len(self.open) - called_first, region)
        out = function(*args, **kwargs)
        region.outputs = [(key, self.born(t)) for key, t in leaves(out)]
        del self.open[-1 - called_first]
        return out

    def leave(self, region: Region, out: Any) -> None:
        region.outputs = [(key, self.born(t)) for key, t in leaves(out)]
        self.open.pop()


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

    set_attribute = torch.nn.Module.__setattr__

    def set_buffer(self: torch.nn.Module, name: str, value: Any) -> None:
        if name in self.__dict__.get("_buffers", ()) and id(self) in record.paths:
            record.replaced(self, name, value)
        set_attribute(self, name, value)

    places = Counted(record.rounds).put(record.network)
    try:
        with replaced([(torch.nn.Module, "__call__", called), (torch.nn.Module, "__setattr__", set_buffer), (torch.autograd.Function, "apply", classmethod(applied)), *experts.replacements(record.network)]):
            yield
    finally:
        for place in places:
            del place["range"]


def run_pass(network: torch.nn.Module, inputs: dict[str, Any], options: dict[str, Any], holder: list[Any]) -> Pass:
    """The network called once with these inputs, as a training step calls it."""
    record = Pass(network)
    if "attention_mask" in inputs:
        record.zeros = values.zeros_of(values.of(inputs["attention_mask"]))
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
        record.put_back()
        Number.report = None
        gc.enable()
    return record
