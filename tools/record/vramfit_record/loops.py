"""Loops over a count that was read off a shape: their rounds as they happen, and all rounds behind the first one as one.

A loop that has as many rounds in all passes stays written out. Else it becomes a Repeat: values from number `first` on belong to it, each round makes
`made` of them. Of a round behind the first one, the values of the round before have the numbers of the first round, its own those behind; behind the
loop the last round's have the numbers of the first. Values that a list collects, and that are used together behind the loop (`torch.stack(outputs)`), are `kept`:
there their number in the first round means those of all rounds.
"""
from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterator

import torch

from .sizes import Number


class Index(int):
    """The number of a round, and what is computed from it: another one each time."""


def _computed(name: str) -> None:
    plain = getattr(int, name)

    def compute(self: Index, *others: Any) -> Any:
        answer = plain(self, *others)
        return Index(answer) if type(answer) is int else answer
    setattr(Index, name, compute)


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "mod", "rmod", "neg"):
    _computed(f"__{_name}__")


@dataclass(frozen=True)
class Rounds:
    """In place of a list with a value of each round: its number in the first one."""
    number: int


class Varies:
    """In place of an index in a program."""


@dataclass
class Loop:
    """What happened in each round."""
    rounds: list[list[Any]]


@dataclass
class Looped:
    """The same in a draft. `made`: how many values each round makes."""
    first: int
    made: list[int]
    rounds: list[list[Any]]


@dataclass
class Repeat:
    """Rounds under the numbers of the first two."""
    count: int
    first: int
    made: int
    rounds: list[list[Any]]
    kept: list[int]


class NotALoop(Exception):
    """Why rounds cannot be written as one."""


class TooFewRounds(NotALoop):
    """A pass of one round shows nothing: longer rows are wanted."""


class Counted:
    """In place of `range` in the modules of a network's code. `begin` is asked for the rounds of a loop over a number of a shape."""

    def __init__(self, begin: Callable[[int], Iterator[Index]]) -> None:
        self.begin = begin

    def __call__(self, *bounds: Any) -> Any:
        rounds = bounds[1:] if len(bounds) == 2 and bounds[0] == 0 else bounds
        return self.begin(rounds[0]) if len(rounds) == 1 and type(rounds[0]) is Number else range(*bounds)

    def put(self, network: torch.nn.Module) -> list[dict[str, Any]]:
        names = {type(m).__module__ for m in network.modules()}
        places = [vars(sys.modules[name]) for name in sorted(names) if not name.startswith("torch.") and name in sys.modules and "range" not in vars(sys.modules[name])]
        for place in places:
            place["range"] = self
        return places


def moved(event: Any, number: Callable[[int], int]) -> Any:
    """An event of a draft whose values have other numbers. Indices of rounds become `Varies`."""
    from .passes import Condition, Free
    from .programs import Local, Made

    def inside(x: Any) -> Any:
        if isinstance(x, Index):
            return Varies
        if isinstance(x, Local):
            return x if x.name else Local(number(x.number))
        if isinstance(x, Rounds):
            return Rounds(number(x.number))
        if isinstance(x, list):
            return [inside(y) for y in x]
        if isinstance(x, dict):
            return {k: inside(v) for k, v in x.items()}
        return slice(inside(x.start), inside(x.stop), inside(x.step)) if isinstance(x, slice) else x
    if isinstance(event, Free):
        return Free(number(event.value))
    if isinstance(event, Condition):
        return event
    if isinstance(event, Made):
        results = [replace(r, local=inside(r.local), view_of=inside(r.view_of)) for r in event.results]
        asked = [inside(a) for a in event.asked if a.name or number(a.number) >= 0]
        return replace(event, args=inside(event.args), kwargs=inside(event.kwargs), results=results, asked=asked)
    return replace(event, given=[inside(x) for x in event.given], results=[inside(x) for x in event.results])


def folded(drafts: list[Any]) -> list[Any]:
    """Drafts of one region, whose loops are written out where they have the same rounds in all of them, else as one round."""
    while True:
        places = [next((i for i, e in enumerate(d.code) if isinstance(e, Looped)), None) for d in drafts]
        if all(at is None for at in places):
            return drafts
        if len(set(places)) > 1:
            raise NotALoop("loops at other places")
        at = places[0]
        counts = {len(d.code[at].rounds) for d in drafts}
        if len(counts) == 1:
            drafts = [replace(d, code=[*d.code[:at], *(e for r in d.code[at].rounds for e in r), *d.code[at + 1:]]) for d in drafts]
        elif min(counts) < 2:
            raise TooFewRounds("a loop has a single round")
        elif len({n for d in drafts for n in d.code[at].made}) > 1:
            raise NotALoop("rounds make other numbers of values")
        else:
            drafts = [as_one(d, at) for d in drafts]


def as_one(draft: Any, at: int) -> Any:
    from .programs import Called

    loop: Looped = draft.code[at]
    p, c, n = loop.first, loop.made[0], len(loop.rounds)
    if any(isinstance(e, (Called, Looped)) for r in loop.rounds for e in r):
        raise NotALoop("a loop calls modules, or has a loop inside")

    behind_it, kept = collected(draft.code[at + 1:], p, c, n)

    def of_round(r: int) -> Callable[[int], int]:
        def number(v: int) -> int:
            if p <= v < p + (r - 1) * c:
                raise NotALoop("a round uses what an earlier one than the last has made")
            return v if v < p else v - max(0, r - 1) * c
        return number

    def behind(v: int) -> int:
        if v in kept:
            return v
        if p <= v < p + (n - 1) * c or v - (n - 1) * c in kept:
            raise NotALoop("what is behind a loop uses what an earlier round than the last has made")
        return v if v < p else v - (n - 1) * c if v < p + n * c else v - (n - 2) * c

    def later(event: Any) -> Any:
        if isinstance(event, Looped):
            return Looped(behind(event.first), event.made, [[later(e) for e in r] for r in event.rounds])
        return without_old(event)

    def without_old(event: Any) -> Any:
        """Values that were asked for a dtype rounds ago say nothing any more."""
        return moved(with_asked(event, lambda v: not p <= v < p + (n - 1) * c), behind)
    rounds = [[moved(with_asked(e, lambda v, r=r: not p <= v < p + (r - 1) * c), of_round(r)) for e in events] for r, events in enumerate(loop.rounds)]
    code = [*draft.code[:at], Repeat(n, p, c, rounds, sorted(kept)), *map(later, behind_it)]
    outputs = [(key, x if x.name else replace(x, number=behind(x.number))) for key, x in draft.outputs]
    return replace(draft, code=code, outputs=outputs, keeps=[replace(x, number=behind(x.number)) for x in draft.keeps])


def collected(code: list[Any], first: int, made: int, count: int) -> tuple[list[Any], set[int]]:
    """What is behind a loop, where a list with a value of each round is `Rounds`; the ends of its values, round by round from the last on (CPython's list_dealloc), are those of the
    first round. With a view that is collected stays what it is a view of."""
    from .programs import Local, Made

    kept: set[int] = set()

    def inside(x: Any) -> Any:
        if isinstance(x, list):
            numbers = [y.number for y in x if isinstance(y, Local) and not y.name]
            if len(numbers) == len(x) == count and first <= numbers[0] < first + made and all(v == numbers[0] + i * made for i, v in enumerate(numbers)):
                kept.add(numbers[0])
                return Rounds(numbers[0])
            return [inside(y) for y in x]
        return {k: inside(v) for k, v in x.items()} if isinstance(x, dict) else x
    out: list[Any] = []
    at = 0
    while at < len(code):
        event = code[at]
        group = ends_of_rounds(code[at:], first, made, count) if kept else []
        if kept & {e.value for e in group}:
            out += group
            kept |= {e.value for e in group}
            at += len(group) * count
            continue
        out.append(replace(event, args=inside(event.args), kwargs=inside(event.kwargs)) if isinstance(event, Made) else event)
        at += 1
    return out, kept


def ends_of_rounds(code: list[Any], first: int, made: int, count: int) -> list[Any]:
    """The ends of values of the first round, if these are ends of the same values of all rounds, the last round's first."""
    from .passes import Free

    last = range(first + (count - 1) * made, first + count * made)
    each = next((i for i, e in enumerate(code) if not (isinstance(e, Free) and e.value in last)), len(code))
    for n in range(1, each + 1):
        rows = [[e.value for e in code[r * n:r * n + n] if isinstance(e, Free)] for r in range(count)]
        if all(row == [v - r * made for v in rows[0]] and len(row) == n for r, row in enumerate(rows)):
            return [Free(v) for v in rows[-1]]
    return []


def with_asked(event: Any, known: Callable[[int], bool]) -> Any:
    from .programs import Made

    return replace(event, asked=[a for a in event.asked if a.name or known(a.number)]) if isinstance(event, Made) else event
