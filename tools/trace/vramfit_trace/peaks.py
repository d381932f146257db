"""What a window holds at the first instant of its peak: bytes by category, and the large tensors one by one."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: A tensor is large from this share of the peak on.
LARGE = 0.01


@dataclass
class Contents:
    """Requested bytes at one instant."""

    total: int = 0
    shares: Counter[str] = field(default_factory=Counter)
    #: (bytes, category, module) and how many
    tensors: Counter[tuple[int, str, str]] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        return {"shares": dict(sorted(self.shares.items())), "tensors": [[*tensor, count] for tensor, count in sorted(self.tensors.items())]}


def contents(living: dict[int, tuple[int, dict[str, Any]]]) -> Contents:
    out = Contents(sum(size for size, _ in living.values()))
    for size, about in living.values():
        category = about.get("category", "unattributed")
        out.shares[category] += size
        if size >= LARGE * out.total:
            out.tensors[size, category, about.get("module", "")] += 1
    return out


def at_peaks(events: Sequence[list[Any]], peaks: Sequence[int]) -> list[Contents]:
    """The contents of every window; `peaks`: the most that each requests. A window begins with what the one before left."""
    out: list[Contents] = []
    living: dict[int, tuple[int, dict[str, Any]]] = {}
    now = 0

    def look(window: int) -> None:
        """Windows up to this one whose peak is what is held now."""
        if len(out) == window and now == peaks[window]:
            out.append(contents(living))

    for window, kind, number, size, *about in events:
        if kind not in ("alloc", "free"):
            continue
        while len(out) <= window:
            before = len(out)
            look(before)
            if len(out) == before:
                if before == window:
                    break
                raise ValueError(f"the events do not reach the peak of window {before}")
        if kind == "alloc":
            living[number] = (size, about[0] if about else {})
            now += size
        else:
            living.pop(number, None)
            now -= size
        look(window)
    while len(out) < len(peaks):
        before = len(out)
        look(before)
        if len(out) == before:
            raise ValueError(f"the events do not reach the peak of window {before}")
    return out
