"""DeepSpeed without its compiled optimizers, and the marks around its step."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from .device import Device
from .processes import carry_contents
from .stages import Stages

#: DeepSpeed compiles them when they are first used; their kernels work in place.
COMPILED = (
    "CPUAdamBuilder",
    "FusedAdamBuilder",
    "CPUAdagradBuilder",
    "CPULionBuilder",
    "FusedLionBuilder",
    "FusedLambBuilder",
)


class Kernels:
    """Any function of a compiled module: nothing to do, nothing to allocate."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: 0


class SameOnAll:
    """deepspeed.comm of a process that compares what rank 0 sends with what it holds."""

    def __getattr__(self, name: str) -> Any:
        import deepspeed.comm

        return (lambda *_: 0) if name == "get_rank" else getattr(deepspeed.comm, name)


def stand_in(device: Device) -> None:
    """Before the engine is made. The Python classes around the kernels are DeepSpeed's own."""
    import deepspeed.runtime.zero.utils as comparisons
    from deepspeed.accelerator import get_accelerator

    comparisons.dist = SameOnAll()
    order_waits()
    for name in ("get_lst_from_rank0", "assert_lst_len_same_as_other_ranks"):
        carry_contents(comparisons, name, device)
    # runtime/utils.py empty_cache would begin the window's highest values anew in the middle of it.
    get_accelerator().reset_peak_memory_stats = lambda *_: None
    for name in COMPILED:
        builder = get_accelerator().get_op_builder(name)
        builder.load = lambda self, verbose=True: Kernels()
        builder.is_compatible = lambda self, verbose=False: True


def order_waits() -> None:
    """ZeRO-3 waits for a module's parameters in the order of a set, that of their addresses, which no two runs share. A leaf's come out
    of several gathers, whose memory goes with the last parameter that is waited for. The order that needs the most: first one of
    each gather that has others left, then those that are the last of theirs."""
    import deepspeed.runtime.zero.parameter_offload as offload
    import deepspeed.runtime.zero.partitioned_param_coordinator as coordinator

    registries: list[dict[Any, Any]] = []  # a reference has an engine of its own

    class Registry(coordinator.InflightParamRegistry):
        def __init__(self) -> None:
            super().__init__()
            registries.append(self.data)

    class Waits(set):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Any]:
            members = list(super().__iter__())
            if not all(hasattr(member, "ds_id") for member in members):
                return iter(members)
            in_flight = {param: handle for registry in registries for param, handle in registry.items()}
            left = Counter(id(handle) for handle in in_flight.values())
            opened: set[int] = set()

            def turn(param: Any) -> int:
                handle = in_flight.get(param)
                if handle is None:
                    return 2
                if left[id(handle)] == 1:
                    return 1
                first = id(handle) not in opened
                opened.add(id(handle))
                return 0 if first else 2

            return iter(sorted(sorted(members, key=lambda member: member.ds_id), key=turn))

    offload.InflightParamRegistry = Registry
    coordinator.set = Waits


def mark_engine(stages: Stages) -> None:
    """DeepSpeed clips and steps at the end of its backward; the optimizer that Trainer calls does nothing."""
    from accelerate.utils import DeepSpeedOptimizerWrapper
    from deepspeed.runtime.engine import DeepSpeedEngine

    step, nothing = DeepSpeedEngine.step, DeepSpeedOptimizerWrapper.step

    def marked_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.is_gradient_accumulation_boundary():
            stages.enter("optimizer")
        return step(self, *args, **kwargs)

    def marked_nothing(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = nothing(self, *args, **kwargs)
        stages.enter("zero_grad")
        return out

    DeepSpeedEngine.step, DeepSpeedOptimizerWrapper.step = marked_step, marked_nothing
