"""What a class makes on the device while the loader goes over modules whose parameters a checkpoint holds.

transformers 5.17.0 modeling_utils.py, _initialize_missing_keys: _init_weights runs for all modules, its functions leave parameters alone that are loaded,
but values that are computed for one are made before that is asked (modeling_qwen3_5.py, A_log).
"""
from __future__ import annotations

import weakref
from typing import Any, Iterator

import torch
from torch.overrides import TorchFunctionMode, resolve_name

FACTORIES = {f"torch.{name}" for name in ("empty", "zeros", "ones", "full", "rand", "randn", "tensor", "arange", "empty_like", "zeros_like", "ones_like")}
FACTORIES.add("torch.Tensor.contiguous")  # of a row that is repeated (modeling_mamba.py init_mamba_weights, A)


class Made(TorchFunctionMode):
    """Tensors that factories make on the device, and how many of their size and dtype are there at once with what is computed of them."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[tuple[torch.Size, torch.dtype]] = []
        self.most: dict[tuple[torch.Size, torch.dtype], int] = {}
        self.there: list[weakref.ref[torch.Tensor]] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if not isinstance(out, torch.Tensor) or out.device.type != "cuda" or isinstance(out, torch.nn.Parameter):
            return out
        kind = out.shape, out.dtype
        if resolve_name(function) in FACTORIES and all(out is not t for t in args):
            self.kinds.append(kind)
        there = [t for t in (one() for one in self.there) if t is not None]
        if all(t is not out for t in there) and out._base is None and kind in self.kinds:
            self.there.append(weakref.ref(out))
            self.most[kind] = max(self.most.get(kind, 0), 1 + sum((t.shape, t.dtype) == kind for t in there))
        return out


def owned(module: Any, model: Any) -> Iterator[tuple[Any, Any]]:
    """Each module and the model around it whose _init_weights it gets (modeling_utils.py, smart_apply): a part's configuration is its own."""
    model = module if hasattr(module, "_init_weights") else model
    yield module, model
    for child in module.children():
        yield from owned(child, model)


def mark_initial(network: Any) -> None:
    """Gives a parameter the dtype of a tensor of its size that is made for it, and how many there are at once, as `_initial`. To be called under the fake mode."""
    try:
        from transformers import initialization  # noqa: F401  older ones ask before they compute
    except ImportError:
        return
    for module, model in owned(network, network):
        own = [p for p in module._parameters.values() if p is not None]
        for p in own:
            p._is_hf_initialized = True
        with Made() as made, torch.no_grad():
            model._init_weights(module)
        for p in own:
            del p._is_hf_initialized
        for shape, dtype in made.kinds:
            of = next((p for p in reversed(own) if p.shape == shape), None)
            if of is not None:
                of._initial = {"initial": str(dtype).removeprefix("torch."), **({"initials": most} if (most := made.most[shape, dtype]) > 1 else {})}
