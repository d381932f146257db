"""The tree of modules: kinds of modules with their parameters, buffers and children, each kind once."""
from __future__ import annotations

from typing import Any, Sequence

import torch

from .merge import Point, Table, dtype_name
from .sizes import Fit


def leaf_of(module: torch.nn.Module) -> str | None:
    """What the engine keeps as its own, since adapters, quantizers and methods that shard wrap it."""
    classes = [c.__name__ for c in type(module).__mro__]
    if isinstance(module, torch.nn.Linear):
        return "linear"
    if "Conv1D" in classes:
        return "conv1d"
    if isinstance(module, torch.nn.Embedding):
        return "embedding"
    if isinstance(module, torch.nn.LayerNorm):
        return "layer_norm"
    own = [p for p in module._parameters.values() if p is not None]
    if next(module.children(), None) is None and "Norm" in classes[0] and len(own) <= 2:
        return "norm"
    if any(p.dim() == 3 for p in own):
        return "experts"
    return None


def kind_of(modules: Sequence[torch.nn.Module], points: Sequence[Point], kinds: Table, fit: Fit) -> int:
    """The number of the kind of a module that was made with each of the points' dtypes."""
    first = modules[0]
    row: dict[str, Any] = {"class": type(first).__name__}
    leaf = leaf_of(first)
    if leaf:
        row["leaf"] = leaf
    parents = [c.__name__ for c in type(first).__mro__]
    if "GradientCheckpointingLayer" in parents:
        row["checkpointed"] = True
    parameters = [[name, dtype_of([m._parameters[name].dtype for m in modules], points), sizes_of([m._parameters[name] for m in modules], fit), *flags_of([m._parameters[name] for m in modules], points)]
                  for name, p in first._parameters.items() if p is not None]
    buffers = [[name, dtype_of([m._buffers[name].dtype for m in modules], points), sizes_of([m._buffers[name] for m in modules], fit),
                *([{"persistent": False}] if name in first._non_persistent_buffers_set else [])]
               for name, b in first._buffers.items() if b is not None]
    children = [[name, kind_of([m._modules[name] for m in modules], points, kinds, fit)] for name, c in first._modules.items() if c is not None]
    for key, rows in (("parameters", parameters), ("buffers", buffers), ("children", children)):
        if rows:
            row[key] = rows
    return kinds.add(row)


def flags_of(parameters: Sequence[torch.nn.Parameter], points: Sequence[Point]) -> list[dict[str, Any]]:
    """What is unusual about it."""
    p = parameters[0]
    flags = {**({} if p.requires_grad else {"requires_grad": False}), **getattr(p, "_initial", {})}
    if "initial" in flags:
        flags["initial"] = dtype_of([getattr(torch, one._initial["initial"]) for one in parameters], points)
    return [flags] if flags else []


def sizes_of(tensors: Sequence[torch.Tensor], fit: Fit) -> list[Any]:
    """Numbers, or formulas of the configuration's keys."""
    found = [fit(ns) for ns in zip(*(t.shape for t in tensors))]
    return [f"={n}" if isinstance(n, str) else n if n is not None else "?" for n in found]


def dtype_of(dtypes: Sequence[torch.dtype], points: Sequence[Point]) -> str:
    if len(set(dtypes)) == 1 and len({p.weights for p in points}) > 1:
        return dtype_name(dtypes[0])
    if all(d == p.weights for d, p in zip(dtypes, points)):
        return "weights"
    return "/".join(map(dtype_name, dtypes))


def ties(network: torch.nn.Module) -> list[list[str]]:
    """Names of parameters that are one tensor."""
    names: dict[int, list[str]] = {}
    for name, p in network.named_parameters(remove_duplicate=False):
        names.setdefault(id(p), []).append(name)
    return [group for group in names.values() if len(group) > 1]
