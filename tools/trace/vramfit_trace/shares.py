"""What the named peaks are made of: a labelled trace beside vramfit's prediction."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .peaks import Contents, at_peaks

#: The share of a peak's bytes that has to be in the right category.
WANTED = 0.99


@dataclass
class PeakDifference:
    """A named peak: bytes in it, and by category those of the trace and ours where they differ."""

    peak: str
    window: str
    total: int
    right: int
    categories: dict[str, tuple[int, int]]
    tensors: list[str] = field(default_factory=list)  # large ones that only one side has

    @property
    def share(self) -> float:
        return self.right / self.total if self.total else 1.0

    def text(self) -> str:
        parts = [f"{name} {ours - traced:+} of {traced}" for name, (traced, ours) in self.categories.items()]
        return f"{self.peak} ({self.window}): {self.share:.2%} right; " + "; ".join([*parts, *self.tensors])


def peak_of(name: str, window: str, traced: Contents, ours: Contents) -> PeakDifference:
    differing = {category: (traced.shares[category], ours.shares[category]) for category in sorted({*traced.shares, *ours.shares})
                 if traced.shares[category] != ours.shares[category]}
    right = sum((traced.shares & ours.shares).values())
    tensors = []
    for sign, only in (("traced", traced.tensors - ours.tensors), ("vramfit", ours.tensors - traced.tensors)):
        tensors += [f"only {sign}: {count} x {size} {category} {module or '-'}" for (size, category, module), count in only.items()]
    return PeakDifference(name, window, max(traced.total, ours.total), right, differing, tensors)


def traced_contents(window: dict[str, Any]) -> Contents:
    tensors = Counter({(size, category, module): count for size, category, module, count in window["tensors"]})
    return Contents(window["peak"], Counter(window["shares"]), tensors)


def compare_shares(trace: dict[str, Any], prediction: dict[str, Any], timeline: dict[str, Any]) -> list[PeakDifference]:
    """Every named peak. Our large tensors are those of the timeline, which has events; what other streams have used is free later than
    they say: large tensors are left to the program's own test there."""
    peaks = [window["requested"]["peak"] for window in timeline["windows"]]
    waits = any(event[1] == "record_stream" for event in timeline["events"])
    ours = [] if waits else at_peaks(timeline["events"], peaks)
    names = [window["name"] for window in timeline["windows"]]
    traced = {window["name"]: window for window in trace["windows"]}
    out = []
    for peak in prediction["peaks"]:
        window = traced.get(peak["window"])
        shares = Counter({share["category"]: share["bytes"] for share in peak["shares"]})
        found = traced_contents(window) if window else Contents()
        tensors = found.tensors if waits else ours[names.index(peak["window"])].tensors
        out.append(peak_of(peak["name"], peak["window"], found, Contents(peak["requested"], shares, tensors)))
    return out
