"""Which operator asked for each allocation: torch's profiler, matched with the allocator's history by address."""
from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from .history import Event

#: Operators that only pass on the wish of their caller.
MAKERS = ("aten::empty", "aten::empty_strided", "aten::empty_like", "aten::resize_")
NOT_OPERATORS = ("autograd::", "Optimizer", "ProfilerStep")
NODE = "evaluate_function: "


def profiler() -> Any:
    """Watches operators and memory from the host's side."""
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, record_shapes=True)


def inputs_of(event: Any) -> list[tuple[list[int], str]]:
    """Shapes and dtypes of the tensors among an operator's inputs."""
    tensors = (i for i in event.extra_fields.inputs if hasattr(i, "sizes") and hasattr(i, "dtype"))
    return [(list(t.sizes), str(t.dtype).removeprefix("torch.")) for t in tensors]


def describe(calls: Sequence[Any]) -> dict[str, Any]:
    """The innermost operator that is not a mere maker, its inputs, the autograd node, and the way from the outermost in."""
    operators = [call for call in calls if not call.name.startswith(NOT_OPERATORS)]
    inner = next((call for call in reversed(operators) if call.name not in MAKERS), None)
    node = next((call.name.split(NODE)[1] for call in reversed(calls) if NODE in call.name), None)
    return {
        "op": inner.name if inner else None,
        "node": node,
        "path": [call.name for call in operators if call.name.startswith("aten::")],
        "inputs": inputs_of(inner) if inner else [],
    }


def allocations(profile: Any) -> list[tuple[int, dict[str, Any]]]:
    """(address, description) of every allocation on the device, in order of time."""
    from torch._C._profiler import _EventType

    def walk(event: Any, calls: tuple[Any, ...]) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
        if event.tag == _EventType.Allocation:
            fields = event.extra_fields
            if fields.device.type == "cuda" and fields.alloc_size > 0:
                yield event.start_time_ns, fields.ptr, calls
        elif event.tag == _EventType.TorchOp:
            calls = (*calls, event)
        for child in event.children:
            yield from walk(child, calls)

    sys.setrecursionlimit(100_000)
    found = [entry for root in profile.profiler.kineto_results.experimental_event_tree() for entry in walk(root, ())]
    return [(address, describe(calls)) for _, address, calls in sorted(found, key=lambda entry: entry[0])]


def name_allocations(events: Sequence[Event], addresses: Sequence[int], profile: Any) -> None:
    """Appends a description to each allocation that the profiler saw; it does not see the threads of a loader."""
    seen = allocations(profile)
    at = 0
    for event, address in zip(events, addresses):
        if at < len(seen) and seen[at][0] == address:
            event.append(seen[at][1])
            at += 1
    if at < len(seen):
        raise RuntimeError(f"the profile fits the history only up to its allocation {at} of {len(seen)}")
