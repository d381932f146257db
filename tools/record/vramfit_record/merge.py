"""Several passes of one network as one program: what is the same stays a number, what differs becomes a formula.

Programs are kept in a table by their content, so that layers that do the same share one.
"""
from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from typing import Any, Sequence

import torch

from . import loops
from .passes import Condition, Free
from .programs import Called, Draft, Local, Made, Result
from .sizes import Fit


@dataclass(frozen=True)
class Point:
    """The sizes and dtypes of one pass."""
    batch: int
    length: int
    weights: torch.dtype
    autocast: torch.dtype | None = None
    keys: tuple[tuple[str, int], ...] = ()  # of the configuration, that this pass has set


def places_of(points: Sequence[Point]) -> dict[str, tuple[int, ...]]:
    """What formulas are made of, and its values at the points."""
    places = {"B": tuple(p.batch for p in points), "S": tuple(p.length for p in points)}
    return {**places, **{key: tuple(dict(p.keys)[key] for p in points) for key, _ in points[0].keys}}


@functools.lru_cache(maxsize=64)
def fit_at(points: tuple[Point, ...]) -> Fit:
    """The formulas of numbers at these points: what was found once is known."""
    return Fit(places_of(points))


class Different(Exception):
    """Passes that do not do the same. `where`: module and function."""


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class Table:
    """Programs or kinds of modules, each once."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.known: dict[str, int] = {}

    def add(self, row: Any) -> int:
        key = json.dumps(row, sort_keys=True)
        if key not in self.known:
            self.known[key] = len(self.rows)
            self.rows.append(row)
        return self.known[key]

    def copy(self) -> "Table":
        made = Table()
        made.take(self)
        return made

    def take(self, other: "Table") -> None:
        self.rows, self.known = list(other.rows), dict(other.known)


class Merge:
    def __init__(self, points: Sequence[Point], programs: Table, dtypes: Sequence[dict[int, torch.dtype]] = ()) -> None:
        self.points = list(points)
        self.fit = fit_at(tuple(points))
        self.plain = [i for i, p in enumerate(points) if p.autocast is None] or list(range(len(points)))
        self.programs = programs
        self.where = ""
        self.not_fitted: list[str] = []
        self.value_dtypes: list[dict[Any, torch.dtype]] = []
        self.parameter_dtypes: Sequence[dict[str, torch.dtype]] = dtypes

    # Numbers and dtypes

    def number(self, numbers: Sequence[int]) -> Any:
        found = self.fit(numbers)
        if found is None:
            self.not_fitted.append(f"{self.where}: {list(map(int, numbers))}")
            return "?" + ",".join(str(int(n)) for n in numbers)
        return found if isinstance(found, int) else "=" + found

    def result_dtype(self, dtypes: Sequence[torch.dtype | None]) -> str:
        """Without autocast; the engine knows what autocast makes of it."""
        return self.literal_dtype([dtypes[i] for i in self.plain], [self.points[i] for i in self.plain]) or "?"

    @staticmethod
    def literal_dtype(dtypes: Sequence[Any], points: Sequence[Point]) -> str | None:
        if len(set(dtypes)) == 1 and (len({p.weights for p in points}) > 1 or dtypes[0] != points[0].weights):
            return dtype_name(dtypes[0])
        if all(d == p.weights for d, p in zip(dtypes, points)):
            return "weights"
        return None

    def argument_dtype(self, dtypes: Sequence[torch.dtype], asked: Sequence[Sequence[Local]]) -> str:
        """A dtype that was written down, that of a value that was asked for its dtype, or that of the weights."""
        if len(set(dtypes)) == 1 and (len({p.weights for p in self.points}) > 1 or not asked[0]):
            return "!" + dtype_name(dtypes[0])
        for locals_ in reversed(list(zip(*asked))):
            if len({(x.number, x.name) for x in locals_}) == 1 and all(
                    self.dtype_of(i, x) == d for i, (x, d) in enumerate(zip(locals_, dtypes))):
                return "!" + reference(locals_[0])
        literal = self.literal_dtype(dtypes, self.points)
        if literal:
            return "!" + literal
        if all(d == p.autocast for d, p in zip(dtypes, self.points)):
            return "!autocast"
        self.not_fitted.append(f"{self.where}: {[dtype_name(d) for d in dtypes]}")
        return "!?" + dtype_name(dtypes[0])

    def dtype_of(self, i: int, local: Local) -> torch.dtype | None:
        if not local.name:
            return self.value_dtypes[i].get(local.number)
        name = local.name
        prefix = self.prefixes[i]
        full = name[1:] if name.startswith("/") else prefix + name
        return self.parameter_dtypes[i].get(full) if self.parameter_dtypes else None

    # Arguments

    def argument(self, xs: Sequence[Any], asked: Sequence[Sequence[Local]]) -> Any:
        x = xs[0]
        kinds = {kind_of(y) for y in xs}
        if len(kinds) > 1:
            raise Different(f"{self.where}: an argument is {' or '.join(sorted(kinds))}")
        kind = kinds.pop()
        if kind == "value":
            if len({(y.number, y.name) for y in xs}) > 1:
                raise Different(f"{self.where}: another value is used")
            return reference(x)
        if kind == "rounds":
            return {"rounds": f"%{self.same([y.number for y in xs], 'rounds')}"}
        if kind == "list":
            self.same([len(y) for y in xs], "arguments")
            return [self.argument(ys, asked) for ys in zip(*xs)]
        if kind == "dict":
            self.same([tuple(y) for y in xs], "keywords")
            return {k: self.argument([y[k] for y in xs], asked) for k in x}
        if kind == "slice":
            return {"slice": [self.argument([getattr(y, k) for y in xs], asked) for k in ("start", "stop", "step")]}
        if kind == "int":
            return self.number(xs)
        if kind == "float":
            return one_float(xs)
        if kind == "dtype":
            return self.argument_dtype(xs, asked)
        texts = [constant(y) for y in xs]
        if len(set(map(str, texts))) > 1:
            raise Different(f"{self.where}: an argument is {texts[0]} or {texts[1]}")
        return texts[0]

    def same(self, xs: Sequence[Any], what: str) -> Any:
        if any(x != xs[0] for x in xs):
            raise Different(f"{self.where}: other {what}: {' / '.join(str(x)[:80] for x in dict.fromkeys(map(str, xs)))}")
        return xs[0]

    # Programs

    def program(self, drafts: Sequence[Draft]) -> int:
        """The number of the program that these drafts of one region are."""
        outer = self.value_dtypes, self.where, getattr(self, "prefixes", None)
        first = drafts[0]
        self.where = f"{first.name or 'network'} ({first.of_class})"
        try:
            drafts = loops.folded(list(drafts))
        except loops.TooFewRounds:
            raise
        except loops.NotALoop as reason:
            raise Different(f"{self.where}: {reason}") from None
        first = drafts[0]
        self.value_dtypes = [{} for _ in drafts]
        self.prefixes = [d.name + "." if d.name else "" for d in drafts]
        self.same([d.of_class for d in drafts], "classes")
        self.same([[key for key, _ in d.inputs] for d in drafts], "inputs")
        row: dict[str, Any] = {"class": first.of_class}
        if first.kind != "module":
            row["kind"] = first.kind
        row["inputs"] = [[key, *self.described([d.inputs[i][1] for d in drafts])] for i, (key, _) in enumerate(first.inputs)]
        row["code"] = self.code([d.code for d in drafts])
        row["outputs"] = [[key, reference(local)] for key, local in first.outputs]
        self.same([[(k, reference(v)) for k, v in d.outputs] for d in drafts], "outputs")
        self.same([[k.number for k in d.keeps] for d in drafts], "values left")
        if first.keeps:
            row["keeps"] = [k.number for k in first.keeps]
        self.value_dtypes, self.where, prefixes = outer
        if prefixes is not None:
            self.prefixes = prefixes
        return self.programs.add(row)

    def described(self, results: Sequence[Result]) -> list[Any]:
        """A value: its number, dtype, shape; what it is a view of, and whether it is on the host, if so."""
        self.same([reference(r.local) for r in results], "results")
        first = results[0]
        if first.local.name:
            return [reference(first.local)]
        for dtypes, r in zip(self.value_dtypes, results):
            dtypes[r.local.number] = r.dtype
        self.same([len(r.shape) for r in results], "dimensions")
        row: list[Any] = [first.local.number, self.result_dtype([r.dtype for r in results]), [self.number(ns) for ns in zip(*(r.shape for r in results))]]
        views = {None if r.view_of is None else reference(r.view_of) for r in results}
        extra: dict[str, Any] = {}
        if len(views) == 1 and first.view_of is not None:
            extra["view"] = reference(first.view_of)
        if first.host:
            extra["host"] = True
        return [*row, extra] if extra else row

    def code(self, codes: Sequence[list[Any]]) -> list[Any]:
        out: list[Any] = []
        conditions: set[str] = set()
        kept = [[e for e in code if not isinstance(e, Condition)] for code in codes]
        asides = [conditions_at(code) for code in codes]
        self.compare_lengths(kept)
        for at, events in enumerate(zip(*kept)):
            self.conditions([a.get(at, []) for a in asides], conditions, out)
            first = events[0]
            if isinstance(first, Free):
                if len({e.value for e in events if isinstance(e, Free)}) != 1 or not all(isinstance(e, Free) for e in events):
                    raise Different(f"{self.where}: values end in another order")
                if out and out[-1][0] == "end":
                    out[-1][1].append(first.value)
                else:
                    out.append(["end", [first.value]])
            elif isinstance(first, Made):
                out.append(self.made(events))
            elif isinstance(first, loops.Repeat):
                out.append(self.repeated(events))
            else:
                out.append(self.called(events))
        self.conditions([a.get(len(kept[0]), []) for a in asides], conditions, out)
        return out

    def repeated(self, events: Sequence[loops.Repeat]) -> list[Any]:
        """A loop: its first round, and one for all others."""
        first = events[0]
        self.same([(e.first, e.made) for e in events], "values in a loop")
        begin = self.code([e.rounds[0] for e in events])
        rounds = [self.code([e.rounds[min(r, e.count - 1)] for e in events]) for r in range(1, max(e.count for e in events))]
        if any(r != rounds[0] for r in rounds):
            raise Different(f"{self.where}: the rounds of a loop differ")
        kept = self.same([e.kept for e in events], "values of all rounds")
        return ["repeat", self.number([e.count for e in events]), first.first, first.made, begin, rounds[0], *([kept] if kept else [])]

    def compare_lengths(self, codes: Sequence[list[Any]]) -> None:
        names = [[name_of(e) for e in code] for code in codes]
        for others in names[1:]:
            if others != names[0]:
                at = next((i for i, (a, b) in enumerate(zip(names[0], others)) if a != b), min(len(names[0]), len(others)))
                here = names[0][at] if at < len(names[0]) else "the end"
                there = others[at] if at < len(others) else "the end"
                raise Different(f"{self.where}: {here} or {there}")

    def conditions(self, groups: Sequence[list[Condition]], seen: set[str], out: list[Any]) -> None:
        if len({len(g) for g in groups}) > 1:
            return  # a number was asked more often, and nothing came of it
        for cs in zip(*groups):
            self.same([(c.sign, c.holds) for c in cs], "comparisons of sizes")
            left, right = (self.fit([getattr(c, side) for c in cs]) for side in ("left", "right"))
            if left is None or right is None or left == right or (isinstance(left, int) and isinstance(right, int)):
                continue
            text = f"{left} {cs[0].sign} {right}"
            if text not in seen:
                seen.add(text)
                out.append(["if", text, cs[0].holds])

    def made(self, events: Sequence[Made]) -> list[Any]:
        calls = [e.call for e in events]
        outer, self.where = self.where, f"{self.where}: {calls[0].function}"
        asked = [e.asked for e in events]
        row = ["call", calls[0].function, self.argument([e.args for e in events], asked), self.argument([e.kwargs for e in events], asked)]
        self.same([len(e.results) for e in events], "results")
        row.append([self.described(rs) for rs in zip(*(e.results for e in events))])
        flags: dict[str, Any] = {}
        if self.same([c.no_grad for c in calls], "grad modes"):
            flags["no_grad"] = True
        if any(p.autocast and not c.autocast for p, c in zip(self.points, calls)):
            flags["autocast"] = False
        if calls[0].loss:
            flags["loss"] = True
        if calls[0].read is not None:
            reads = [c.read for c in calls]
            integers = all(isinstance(r, int) and not isinstance(r, bool) for r in reads)
            flags["read"] = self.number(reads) if integers else reads[0] if not isinstance(reads[0], float) else one_float(reads)
            if len({bool(r) for r in reads}) > 1:
                raise Different(f"{self.where}: the host reads {reads}")
            if any(c.assumed for c in calls):
                flags["assumed"] = True
        self.where = outer
        return [*row, flags] if flags else row

    def called(self, events: Sequence[Called]) -> list[Any]:
        first = events[0]
        number = self.program([e.draft for e in events])
        self.same([[reference(x) for x in e.given] for e in events], "values given")
        row: list[Any] = [first.draft.kind, first.path, number, [x.number for x in first.given], [x.number for x in first.results]]
        flags: dict[str, Any] = {}
        if first.takes:
            flags["takes"] = first.takes
        if first.draft.no_grad:
            flags["no_grad"] = True
        self.remember(events)
        return [*row, flags] if flags else row

    def remember(self, events: Sequence[Called]) -> None:
        """The dtypes of what a child has given back."""
        for dtypes, event in zip(self.value_dtypes, events):
            for local, dtype in zip(event.results, event.draft.left_dtypes):
                dtypes[local.number] = dtype


def conditions_at(code: list[Any]) -> dict[int, list[Condition]]:
    places: dict[int, list[Condition]] = {}
    at = 0
    for event in code:
        if isinstance(event, Condition):
            places.setdefault(at, []).append(event)
        else:
            at += 1
    return places


def name_of(event: Any) -> str:
    if isinstance(event, Free):
        return "the end of a value"
    if isinstance(event, loops.Repeat):
        return "a loop"
    return event.call.function if isinstance(event, Made) else f"{event.path or 'a function'} ({event.draft.of_class})"


def reference(local: Local) -> str:
    return "@" + local.name if local.name else f"%{local.number}"


def kind_of(x: Any) -> str:
    if isinstance(x, bool) or x is None:
        return "constant"
    for kind, types in (("value", Local), ("rounds", loops.Rounds), ("list", list), ("dict", dict), ("slice", slice), ("int", int), ("float", float), ("dtype", torch.dtype)):
        if isinstance(x, types):
            return kind
    return "constant"


def one_float(xs: Sequence[float]) -> Any:
    """Its value matters to nothing but a probability of zero."""
    x = xs[0]
    if any(y != x and not (math.isnan(x) and math.isnan(y)) for y in xs):
        return "#varies"
    return x if math.isfinite(x) else f"#{x}"


def constant(x: Any) -> Any:
    if x is None or isinstance(x, bool):
        return x
    if x is Ellipsis:
        return "..."
    if x is loops.Varies:
        return "#varies"
    if isinstance(x, torch.device):
        return "~" + x.type
    if isinstance(x, str):
        return "~" + x.split(":")[0] if x.split(":")[0] in ("cuda", "cpu") else "'" + x
    if isinstance(x, (torch.memory_format, torch.layout)):
        return "'" + str(x)
    return "'" + getattr(x, "__qualname__", type(x).__name__)
