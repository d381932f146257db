"""A trace beside a timeline: which windows differ, and the first event that does."""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .job import WITHOUT_THREADS

LEVELS = ("requested", "allocated", "reserved")
#: How far the peak of `load` may be off where threads load: the order of their copies differs from run to run.
RACE = 0.01


@dataclass
class Difference:
    """One window's values that are not equal: level -> (traced peak, traced end, our peak, our end)."""

    window: str
    values: dict[str, tuple[int, int, int, int]]

    def text(self) -> str:
        parts = []
        for level, (peak, end, our_peak, our_end) in self.values.items():
            parts.append(f"{level} peak {our_peak - peak:+} of {peak}, end {our_end - end:+} of {end}")
        return f"{self.window}: " + ("; ".join(parts) or "missing")


@dataclass
class Comparison:
    """How many windows are equal in each level, and the others."""

    windows: int = 0
    equal: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LEVELS, 0))
    differences: list[Difference] = field(default_factory=list)
    outcome: str = ""  # empty if both ended alike
    refused: str = ""  # the libraries' reason

    @property
    def exact(self) -> bool:
        """Every window's requested peak and end equal, and the same outcome."""
        return not self.outcome and self.equal["requested"] == self.windows

    def first(self, level: str = "requested") -> Difference | None:
        return next((difference for difference in self.differences if level in difference.values or not difference.values), None)

    def as_json(self) -> dict[str, Any]:
        return {"windows": self.windows, **self.equal, "exact": self.exact, "outcome": self.outcome, "refused": self.refused,
                "differences": {level: found.text() for level in LEVELS if (found := self.first(level))}}


def traced_levels(window: dict[str, Any], level: str) -> tuple[int, int]:
    place = window if level == "requested" else window[level]
    return place["peak"], place["end"]


def outcome_of(document: dict[str, Any]) -> tuple[str, str]:
    """("refused" | "out of memory" | "", what is said) of a trace or of a timeline."""
    said = document.get("outcome", document)
    if "refused" in said:
        return "refused", str(said["refused"])
    gone = document.get("out_of_memory") or said.get("oom")
    return ("out of memory", f"in {gone['window']}") if gone else ("", "")


def is_race(trace: dict[str, Any], window: str) -> bool:
    """Whether the window's peak depends on the order of loading threads (4-bit weights, experts)."""
    job = trace["job"]
    return WITHOUT_THREADS not in job.get("environment", {}) and window == "load" and bool(job["load"].get("quantization_config") or any("expert" in key for key in job["model"]))


def paired(trace: dict[str, Any], timeline: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Windows of one name in order; names may repeat."""
    ours = timeline["windows"]
    at = 0
    for window in trace["windows"]:
        found = next((i for i in range(at, len(ours)) if ours[i]["name"] == window["name"]), None)
        yield window, None if found is None else ours[found]
        at = at if found is None else found + 1


def compare(trace: dict[str, Any], timeline: dict[str, Any]) -> Comparison:
    """Compares every window in three levels."""
    out = Comparison()
    (traced, said), (ours, we_say) = outcome_of(trace), outcome_of(timeline)
    if traced != ours or (traced == "out of memory" and said != we_say):
        out.outcome = f"traced: {traced or 'completed'} {said}; vramfit: {ours or 'completed'} {we_say}".replace(" ;", ";").strip()
    if traced == "refused":
        out.refused = said
    if "refused" in (traced, ours):
        return out
    for window, other in paired(trace, timeline):
        out.windows += 1
        values = {}
        for level in LEVELS:
            peak, end = traced_levels(window, level)
            our_peak, our_end = (other[level]["peak"], other[level]["end"]) if other else (0, 0)
            close = is_race(trace, window["name"]) and end == our_end and abs(peak - our_peak) <= RACE * peak
            if (peak, end) == (our_peak, our_end) or close:
                out.equal[level] += 1
            else:
                values[level] = (peak, end, our_peak, our_end)
        if other is None or values:
            out.differences.append(Difference(window["name"], values if other else {}))
    return out


@dataclass
class Group:
    """One allocation, or all frees between two allocations, whose order carries nothing."""

    kind: str
    sizes: list[int]
    about: dict[str, Any] = field(default_factory=dict)

    def same(self, other: Group | None) -> bool:
        return other is not None and (self.kind, self.sizes) == (other.kind, other.sizes)

    def text(self) -> str:
        if self.kind == "free":
            return "-" + " -".join(map(str, self.sizes))
        return f"+{self.sizes[0]} {describe(self.about)}"


def describe(about: dict[str, Any]) -> str:
    """Operator, shapes and dtypes as far as a side knows them."""
    words = [about.get("op") or "?"]
    if "shape" in about:
        words.append(f"-> {about['shape']} {about['dtype']}")
    words += [f"{shape} {dtype}" for shape, dtype in about.get("inputs", [])]
    words += [f"in {about['node']}"] if about.get("node") else []
    words += [f"layer {about['layer']}"] if about.get("layer", -1) >= 0 else []
    return ", ".join(words)


def grouped(document: dict[str, Any]) -> dict[tuple[str, int], list[Group]]:
    """Groups of each window (by name and how often the name came before)."""
    seen: dict[str, int] = {}
    keys = []
    for window in document["windows"]:
        seen[window["name"]] = seen.get(window["name"], -1) + 1
        keys.append((window["name"], seen[window["name"]]))
    out: dict[tuple[str, int], list[Group]] = {key: [] for key in keys}
    events = (event for event in document["events"] if event[1] in ("alloc", "free"))
    for window, inside in itertools.groupby(events, key=lambda event: event[0]):
        for kind, run in itertools.groupby(inside, key=lambda event: event[1]):
            if kind == "free":
                out[keys[window]].append(Group(kind, sorted(event[3] for event in run)))
            else:
                out[keys[window]] += [Group(kind, [event[3]], event[4] if len(event) > 4 else {}) for event in run]
    return out


def first_event(trace: dict[str, Any], timeline: dict[str, Any], context: int = 4) -> str:
    """The first event that differs, with what stands around it on both sides; empty if all events are equal."""
    ours = grouped(timeline)
    for key, groups in grouped(trace).items():
        others = ours.get(key, [])
        if is_race(trace, key[0]):
            continue
        for at, (traced, own) in enumerate(itertools.zip_longest(groups, others)):
            if traced is None or not traced.same(own):
                return around(key[0], at, groups, others, context)
    return ""


def around(window: str, at: int, groups: list[Group], others: list[Group], context: int) -> str:
    """Two lines for every place, the traced above ours."""
    lines = [f"first difference in {window}, at its event {at}:"]
    for place in range(max(0, at - context), at + context + 1):
        traced = groups[place].text() if place < len(groups) else "(no more)"
        own = others[place].text() if place < len(others) else "(no more)"
        if place >= max(len(groups), len(others)):
            break
        mark = ">" if place == at else " "
        lines += [f"{mark} traced   {traced}", f"{mark} vramfit  {own}"]
    return "\n".join(lines)
