"""Results of torch functions by what they were called with: their sizes, strides and dtypes, and whose memory they lie on.

The same calls come again in each layer, variant and configuration, and torch's own tensors without memory take most of a recording's time.
"""
from __future__ import annotations

from typing import Any, Callable

import torch
from torch._subclasses.fake_tensor import FakeTensor

from . import values


class NotRemembered(Exception):
    """Arguments of which nothing can be said in advance."""


class Remembered:
    """`rows`: by function and arguments, how each result is made. One for all passes of a process."""

    def __init__(self) -> None:
        self.rows: dict[Any, Any] = {}

    def call(self, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        given: list[FakeTensor] = []
        try:
            key = name, _key(args, given), _key(kwargs, given), torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda")
            if not given:
                return function(*args, **kwargs)
            places = [t.untyped_storage()._cdata for t in given]
            key = *key, tuple(map(places.index, places))
            row = self.rows.get(key)
        except (NotRemembered, TypeError):  # TypeError: what cannot be a key
            return function(*args, **kwargs)
        if row is None:
            out = function(*args, **kwargs)
            try:
                row = self.rows[key] = _row(out, given, places)
            except NotRemembered:
                return out
        with values.unset_fake_temporarily():
            return _made(row, given)


def _key(x: Any, given: list[FakeTensor]) -> Any:
    if isinstance(x, torch.Tensor):
        if not isinstance(x, FakeTensor) or x.constant is not None:
            raise NotRemembered
        given.append(x)
        return tuple(x.shape), x.stride(), x.dtype, x.storage_offset(), x.device.type
    if isinstance(x, (list, tuple)):
        return type(x).__name__, *(_key(y, given) for y in x)
    if isinstance(x, dict):
        return *((k, _key(v, given)) for k, v in x.items()),
    if isinstance(x, slice):
        return "slice", _key(x.start, given), _key(x.stop, given), _key(x.step, given)
    if isinstance(x, bool) or x is None:
        return "constant", x
    if isinstance(x, int):
        return "int", int(x)
    return type(x).__name__, x


def _row(out: Any, given: list[FakeTensor], places: list[int]) -> Any:
    """How it is made of the arguments: an argument as it is, a view of one's memory, or memory of its own."""
    if isinstance(out, FakeTensor):
        for i, t in enumerate(given):
            if out is t:
                return "given", i
        if out.constant is not None:
            raise NotRemembered
        place = out.untyped_storage()._cdata
        layout = tuple(out.shape), out.stride(), out.dtype, out.storage_offset(), out.device
        if place not in places:
            return "own", -1, *layout
        of = places.index(place)
        if out._base is None or (out._base is not given[of] and out._base is not _base_of(given[of])):
            raise NotRemembered  # detach, which keeps its base in another way
        return "view", of, *layout
    if type(out) in (list, tuple) and all(isinstance(o, FakeTensor) for o in out):
        rows = [_row(o, given, places) for o in out]
        own = [o.untyped_storage()._cdata for o, row in zip(out, rows) if row[0] == "own"]
        if len(set(own)) < len(own):
            raise NotRemembered
        return "several", type(out), rows
    raise NotRemembered


def _made(row: Any, given: list[FakeTensor]) -> Any:
    if row[0] == "given":
        return given[row[1]]
    if row[0] == "several":
        return row[1](_made(one, given) for one in row[2])
    _, of, shape, stride, dtype, offset, device = row
    if row[0] == "own":
        return FakeTensor(given[0].fake_mode, torch.empty_strided(shape, stride, dtype=dtype, device="meta"), device)
    view = FakeTensor(given[0].fake_mode, torch.empty(0, dtype=dtype, device="meta").set_(given[of].untyped_storage(), offset, shape, stride), device)
    view._keeps = given[of]
    return view


def _base_of(t: FakeTensor) -> torch.Tensor:
    """What a view of this tensor keeps: the tensor that all views of it are views of."""
    base = getattr(t, "_keeps", None)
    return base if base is not None else t._base if t._base is not None else t
