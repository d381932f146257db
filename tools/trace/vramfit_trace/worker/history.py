"""The allocator's own history, turned into the events of a trace and into requested bytes of every window."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

#: The caching allocator rounds every request up to a multiple of this (c10/cuda/CUDACachingAllocator.h, kMinBlockSize).
BLOCK = 512

Event = list[Any]


@dataclass
class Level:
    """A sum with the highest value it had."""

    now: int = 0
    peak: int = 0

    def add(self, amount: int) -> None:
        self.now += amount
        self.peak = max(self.peak, self.now)

    def restart(self) -> None:
        self.peak = self.now


@dataclass
class Requested:
    """Requested bytes of a window, and the same with every request rounded to blocks."""

    peak: int = 0
    end: int = 0
    peak_rounded: int = 0
    end_rounded: int = 0


@dataclass
class History:
    """Events in order, and beside each allocation its address."""

    events: list[Event] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    failed_request: int | None = None
    freed_later: list[int] = field(default_factory=list)  # numbers of allocations that are freed after the last window

    def allocations(self) -> list[Event]:
        return [event for event in self.events if event[1] == "alloc"]


def read(entries: Iterable[dict[str, Any]], ends: Sequence[int], stop: bool) -> History:
    """Events from the allocator's trace.

    `ends[w]`: how many allocations and frees the allocator had made when window w ended. `stop`: leave out what came
    after the last of them (what unwinding freed after the allocator gave up).
    """
    out = History()
    living: dict[int, tuple[int, int]] = {}
    window = calls = number = 0
    over = False
    for entry in entries:
        action, size = entry["action"], entry["size"]
        if action in ("alloc", "free_completed"):
            over = over or (stop and calls == ends[-1])
            if over:
                if action == "free_completed" and entry["addr"] in living:
                    out.freed_later.append(living.pop(entry["addr"])[0])
                continue
            while window + 1 < len(ends) and calls >= ends[window]:
                window += 1
            calls += 1
        if action == "alloc":
            number += 1
            living[entry["addr"]] = (number, size)
            out.addresses.append(entry["addr"])
            out.events.append([window, "alloc", number, size])
        elif action == "free_completed":
            out.events.append([window, "free", *living.pop(entry["addr"])])
        elif action in ("segment_alloc", "segment_free") and not over:
            out.events.append([window, action, 0, size])
        elif action == "oom":
            out.failed_request = size
    return out


def requested(events: Iterable[Event], windows: int) -> list[Requested]:
    """The levels of every window."""
    out: list[Requested] = []
    exact, rounded = Level(), Level()

    def close() -> None:
        out.append(Requested(exact.peak, exact.now, rounded.peak, rounded.now))
        exact.restart()
        rounded.restart()

    for window, kind, _, size, *_ in events:
        if kind not in ("alloc", "free"):
            continue
        while len(out) < window:
            close()
        sign = 1 if kind == "alloc" else -1
        exact.add(sign * size)
        rounded.add(sign * (-(-size // BLOCK) * BLOCK))
    while len(out) < windows:
        close()
    return out
