"""What each allocation of a labelled run is and which module it belongs to: marks and operators of the profile, put in order."""
from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .flat import BUCKET, FLAT, NUMBER
from .history import History
from .labels import INSIDE, MARK, MODULE, Labels
from .names import OF_PEFT, is_adapter

EVALUATE = "autograd::engine::evaluate_function: "
ACCUMULATE = "torch::autograd::AccumulateGrad"
#: Through these a parameter's gradient passes on its way, cast or turned.
CONVERSIONS = ("ToCopyBackward0", "TBackward0", "TransposeBackward0", "PermuteBackward0", "ViewBackward0", "UnsafeViewBackward0")
SUMS = ("aten::add", "aten::add_")
#: What a mark says of its storage, the strongest first; what is only saved may be something better.
HARD = {"workspace": "workspaces", "reward_models": "reward_models", "teacher": "teacher", "optimizer": "optimizer_states", "parameter": "weights", "quantization": "quantization_state",
        "activation": "activation_gradients", "gradient": "gradients", "dequantized": "dequantized_weights"}
INSIDE_OF = {"parameter": "weights", "gradient": "gradients", "temporary": "temporaries", BUCKET: "gradients"}


@dataclass
class Call:
    """An operator or a node of the backward pass in the profile."""

    name: str
    begin: int
    inputs: list[tuple[int, tuple[int, ...], str]]  # addresses, shapes and dtypes of its tensors
    made: list[int] = field(default_factory=list)  # allocations, in it and in what it calls
    sequence: int = -1


@dataclass
class Place:
    """What stands around a point of the profile."""

    module: str = ""
    inside: str = ""
    node: Call | None = None
    recomputed: bool = False
    calls: tuple[Call, ...] = ()
    owner: str = ""  # the module for which a library's function runs


@dataclass
class Mark:
    time: int
    kind: str
    address: int
    name: str


@dataclass
class Profile:
    """One walk over the profile."""

    marks: list[Mark] = field(default_factory=list)
    made: list[tuple[int, int, Place]] = field(default_factory=list)  # time, address
    nodes: list[tuple[Call, Place]] = field(default_factory=list)
    sums: list[Call] = field(default_factory=list)  # of two gradients that meet
    forward: dict[tuple[int, int], list[tuple[int, Place]]] = field(default_factory=dict)  # thread, sequence -> when, where
    embeddings: list[tuple[int, Place]] = field(default_factory=list)  # the same of aten::embedding, whose node has no sequence number


def tensors(extra: Any) -> list[tuple[int, tuple[int, ...], str]]:
    return [(t.storage_data_ptr, tuple(t.sizes), str(t.dtype)) for t in extra.inputs if hasattr(t, "storage_data_ptr") and t.storage_data_ptr]


def read(profile: Any) -> Profile:
    """Marks, allocations with what stands around them, nodes, and where each operator of the forward pass was called."""
    from torch._C._profiler import _EventType

    out = Profile()

    def enter(event: Any, place: Place) -> Place:
        name, extra = event.name, event.extra_fields
        if name.startswith(MARK):
            kind, address, about = name[len(MARK):].split("|", 2)
            out.marks.append(Mark(event.start_time_ns, kind, int(address), about))
            return place
        if name.startswith(MODULE):
            return Place(name[len(MODULE):], place.inside, place.node, place.node is not None, place.calls)
        if name.startswith(INSIDE):
            inside, _, owner = name[len(INSIDE):].partition("|")
            return Place(place.module, inside, place.node, place.recomputed, place.calls, owner)
        call = Call(name, event.start_time_ns, tensors(extra), sequence=extra.sequence_number)
        if name.startswith(EVALUATE):
            call.name = name[len(EVALUATE):]
            inner = Place("", "", call, False, (call,))
            out.nodes.append((call, inner))
            return inner
        if place.node and not place.recomputed and place.calls[-1] is place.node:
            if name == place.node.name:  # only the node itself has its inputs
                place.node.inputs = call.inputs
            elif name in SUMS:
                out.sums.append(call)
        if name == "aten::embedding" and not place.node:
            out.embeddings.append((call.begin, place))
        if call.sequence >= 0 and not (place.node and not place.recomputed):
            out.forward.setdefault((event.start_tid, call.sequence), []).append((call.begin, place))
        return Place(place.module, place.inside, place.node, place.recomputed, (*place.calls, call), place.owner)

    def walk(event: Any, place: Place) -> None:
        if event.tag == _EventType.Allocation:
            extra = event.extra_fields
            if extra.device.type == "cuda" and extra.alloc_size > 0:
                out.made.append((event.start_time_ns, extra.ptr, place))
        inner = enter(event, place) if event.tag == _EventType.TorchOp else place
        for child in event.children:
            walk(child, inner)

    sys.setrecursionlimit(100_000)
    for root in profile.profiler.kineto_results.experimental_event_tree():
        walk(root, Place())
    out.marks.sort(key=lambda mark: mark.time)
    out.made.sort(key=lambda made: made[0])
    return out


def threads_of_nodes(profile: Any) -> dict[int, int]:
    """When a node is evaluated -> the thread in which it was made."""
    return {event.start_ns(): event.fwd_thread_id() for event in profile.profiler.kineto_results.events() if event.name().startswith(EVALUATE)}


class Labelling:
    """The allocations of a history, by number, and what is known of each."""

    def __init__(self, found: History, names: Sequence[str], profile: Any, shapes: set[tuple[int, ...]], parameters: dict[int, str]) -> None:
        self.seen = read(profile)
        self.threads = threads_of_nodes(profile)
        self.names = names
        self.parameters = parameters  # names by id
        self.shapes = shapes  # of parameters with three dimensions (experts)
        self.windows = [event[0] for event in found.allocations()]
        self.sizes = [event[3] for event in found.allocations()]
        self.places: list[Place] = [Place() for _ in self.windows]
        self.at: list[int] = []  # when each was made, or the next one that the profile saw
        self.of_address: dict[int, list[int]] = {}
        self.facts: list[dict[str, str]] = [{} for _ in self.windows]
        self.match(found.addresses)

    def match(self, addresses: Sequence[int]) -> None:
        """The profile does not see the threads of a loader: what they make counts as made right before what it sees next."""
        at = 0
        for number, address in enumerate(addresses):
            self.of_address.setdefault(address, []).append(number)
            if at < len(self.seen.made) and self.seen.made[at][1] == address:
                time, _, place = self.seen.made[at]
                self.places[number] = place
                for call in place.calls:
                    call.made.append(number)
                at += 1
                self.at += [time] * (number + 1 - len(self.at))
        self.at += [sys.maxsize] * (len(addresses) - len(self.at))
        if self.seen.made:  # made by threads after the last that was seen: before the marks that follow it
            last = self.seen.made[-1][0]
            self.at = [min(time, last + 1) for time in self.at]

    def living(self, address: int, time: int) -> int | None:
        """The allocation at an address at that time."""
        there = self.of_address.get(address, [])
        before = bisect_right(self.at, time)
        place = bisect_left(there, before)
        return there[place - 1] if place else None

    def note(self, number: int | None, kind: str, name: str = "") -> None:
        if name.startswith(NUMBER):
            name = self.parameters.get(int(name.removeprefix(NUMBER)), "")
        if number is not None and (kind not in self.facts[number] or not self.facts[number][kind]):
            self.facts[number][kind] = name

    def apply_marks(self) -> None:
        for mark in self.seen.marks:
            if mark.kind == BUCKET:
                self.note_bucket(mark)
            else:
                self.note(self.living(mark.address, mark.time), mark.kind, mark.name)

    def note_bucket(self, mark: Mark) -> None:
        """The first bucket of so many bytes that has no name yet: they are made and marked in one order."""
        for number, place in enumerate(self.places[: bisect_right(self.at, mark.time)]):
            if place.inside == BUCKET and self.sizes[number] == mark.address and FLAT not in self.facts[number]:
                self.note(number, "gradient", mark.name)
                self.note(number, FLAT, mark.name)
                return

    def gradients(self) -> None:
        """What becomes a parameter's gradient, is added to one, or to what becomes one: from the last node to the first."""
        calls = [(call, "node") for call, _ in self.seen.nodes] + [(call, "sum") for call in self.seen.sums]
        for call, what in sorted(calls, key=lambda one: one[0].begin, reverse=True):
            inputs = [(self.living(address, call.begin), shape) for address, shape, _ in call.inputs]
            if what == "node" and call.name == ACCUMULATE:
                for number, shape in inputs:
                    if number is not None and "activation" not in self.facts[number] and self.may_be_parameter(shape):
                        self.note(number, "gradient")
                continue
            results = call.made + [number for number, _ in inputs[:1] if call.name == "aten::add_" and number is not None]
            if (what == "sum" or call.name in CONVERSIONS) and any("gradient" in self.facts[number] for number in results):
                for number, _ in inputs:
                    self.note(number, "gradient")

    def may_be_parameter(self, shape: tuple[int, ...]) -> bool:
        """A leaf that is no parameter is the input of a checkpointed layer or what the embedding gives: batch x length x width."""
        return len(shape) != 3 or shape in self.shapes

    def in_loss(self, place: Place, window: str) -> bool:
        return window.endswith("head") and not place.recomputed and not is_norm(place.module)

    def origin(self, node: Call) -> tuple[Place, str] | None:
        """Where the operator was called whose node this is, and in which window."""
        thread = self.threads.get(node.begin, 0)
        calls = self.seen.forward.get((thread, node.sequence), [])
        before = [call for call in calls if call[0] < node.begin]
        if node.name == "EmbeddingBackward0" and node.sequence < 0 and len({OF_PEFT.sub("", place.module) for _, place in self.seen.embeddings}) == 1:
            before = [call for call in self.seen.embeddings if call[0] < node.begin]
        if not before:
            return None
        begin, place = max(before, key=lambda call: call[0])
        after = bisect_left(self.at, begin)
        window = self.windows[min(after, len(self.windows) - 1)]
        return place, self.names[window]

    def of(self, number: int) -> tuple[str, str]:
        """The category and the module of an allocation."""
        facts, place, window = self.facts[number], self.places[number], self.names[self.windows[number]]
        module = place.module
        origin = self.origin(place.node) if place.node and not place.recomputed else None
        loss = self.in_loss(place, window)
        if origin:
            module = origin[0].module
            loss = self.in_loss(*origin)
        if loss and not is_head(module):
            module = "loss"
        for kind, category in HARD.items():
            if kind in facts:
                named = facts.get(FLAT) or facts[kind] or place.owner or module
                if category == "weights" and is_adapter(named):
                    category = "adapters"
                if category == "workspaces":
                    return category, ""
                return category, without_parameter(named) if facts.get(FLAT) or facts[kind] else named
        if unpacks_8bit(place):
            return "dequantized_weights", module
        if window == "load" and place.inside not in ("temporary", "gradient") and not is_quantizing(place):
            return "weights", module
        if place.inside:
            return INSIDE_OF[place.inside], place.owner or module
        if place.node and not place.recomputed:
            return ("logits_and_loss" if loss and not is_head(module) else "activation_gradients"), module
        if loss:
            return "logits_and_loss", module
        if "saved" in facts:
            return ("recomputed_activations" if place.recomputed else "stored_activations"), module
        return "temporaries", module

    def described(self, number: int) -> tuple[str, str]:
        """The same; what peft puts into a module is the module's."""
        category, module = self.of(number)
        return category, OF_PEFT.sub("", module)


def unpacks_8bit(place: Place) -> bool:
    """MatMul8bitLt.backward casts the packed weight to the input's dtype, and multiplies in place."""
    return any(call.name == "aten::_to_copy" and call.inputs[:1] and call.inputs[0][2].endswith("int8") for call in place.calls)


def is_quantizing(place: Place) -> bool:
    """What bitsandbytes' operators need besides their results, which are labelled."""
    return any(call.name.startswith("bitsandbytes::") for call in place.calls)


def is_norm(module: str) -> bool:
    return module.split(".")[0] in ("norm", "final_layernorm", "final_layer_norm", "ln_f", "norm_f", "embedding_norm", "project_out", "layer_norm")


def is_head(module: str) -> bool:
    return module.split(".")[0] in ("lm_head", "embed_out")


def without_parameter(name: str) -> str:
    """The module of a parameter."""
    return name.rpartition(".")[0]


def label(found: History, names: Sequence[str], profile: Any, labels: Labels) -> None:
    """Adds category and module to what is said of each allocation."""
    labelling = Labelling(found, names, profile, labels.shapes, labels.parameters)
    labelling.apply_marks()
    for number in found.freed_later:
        labelling.note(number - 1, "workspace")
    labelling.gradients()
    for number, event in enumerate(found.allocations()):
        if len(event) == 4:
            event.append({})
        event[4]["category"], event[4]["module"] = labelling.described(number)
