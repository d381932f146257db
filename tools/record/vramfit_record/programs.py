"""Programs of modules: what happened in a region of a pass, with names of its own for its values."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .loops import Loop, Looped
from .passes import Call, Condition, Free, Pass, Ref, Region


@dataclass
class Local:
    """A value by its number inside of one program, or a parameter or buffer by its name from there."""
    number: int = -1
    name: str = ""


@dataclass
class Result:
    local: Local
    shape: tuple[int, ...]
    dtype: Any
    host: bool
    view_of: Local | None


@dataclass
class Draft:
    """A program with the numbers of one pass."""
    kind: str
    of_class: str
    name: str = ""
    inputs: list[tuple[str, Result]] = field(default_factory=list)
    code: list[Any] = field(default_factory=list)
    outputs: list[tuple[str, Local]] = field(default_factory=list)
    keeps: list[Local] = field(default_factory=list)
    no_grad: bool = False
    autocast: bool = False
    # By the numbers of the pass: what it is given, what is left of it, what it ends that others made.
    given: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)
    left_dtypes: list[Any] = field(default_factory=list)


@dataclass
class Called:
    """A call of a child: its draft, which values it is given and gives back."""
    path: str
    draft: Draft
    given: list[Local]
    results: list[Local]
    takes: list[int]


@dataclass
class Made:
    """A call of a torch function."""
    call: Call
    args: Any
    kwargs: Any
    results: list[Result]
    asked: list[Local]


class Builder:
    """The draft of one region."""

    def __init__(self, record: Pass, region: Region) -> None:
        self.record, self.region = record, region
        self.draft = Draft(region.kind, region.of_class, region.name, no_grad=region.no_grad, autocast=region.autocast)
        self.numbers: dict[int, int] = {}
        self.alive: list[int] = []
        self.storages: dict[int, int] = {}
        self.buried: set[int] = set()

    def number(self, value: int) -> int:
        """The value's local number; one that is not known here is given to the program."""
        if value in self.numbers:
            return self.numbers[value]
        local = self.take(value)
        self.draft.inputs.append(("", self.result(Ref(value), local)))
        self.draft.given.append(value)
        return local

    def take(self, value: int) -> int:
        local = self.numbers[value] = len(self.numbers)
        self.storages.setdefault(self.record.values[value].storage, value)
        return local

    def local(self, ref: Ref) -> Local:
        if ref.name:
            own = self.region.name + "."
            if not self.region.name:
                return Local(name=ref.name)
            return Local(name=ref.name[len(own):] if ref.name.startswith(own) else "/" + ref.name)
        return Local(self.number(ref.value))

    def result(self, ref: Ref, local: int | None = None) -> Result:
        value = self.record.values[ref.value]
        return Result(Local(self.numbers[ref.value] if local is None else local), value.shape, value.dtype, value.host, None)

    def described(self, x: Any) -> Any:
        if isinstance(x, Ref):
            return self.local(x)
        if isinstance(x, list):
            return [self.described(y) for y in x]
        if isinstance(x, dict):
            return {k: self.described(v) for k, v in x.items()}
        if isinstance(x, slice):
            return slice(self.described(x.start), self.described(x.stop), self.described(x.step))
        return x

    def build(self) -> Draft:
        draft = self.draft
        for key, ref in self.region.inputs:
            if ref.name:
                continue
            known = ref.value in self.numbers
            local = self.numbers[ref.value] if known else self.take(ref.value)
            draft.inputs.append((key, self.result(ref, local)))
            if not known:
                draft.given.append(ref.value)
        for event in self.region.events:
            self.add(event)
        draft.outputs = [(key, self.local(ref)) for key, ref in self.region.outputs]
        given, back = set(draft.given), {ref.value for _, ref in self.region.outputs if not ref.name}
        survivors = [v for v in self.alive if v not in self.buried]
        kept = [v for v in survivors if v not in back]
        draft.keeps = [Local(self.numbers[v]) for v in kept]
        draft.left = [v for v in dict.fromkeys(ref.value for _, ref in self.region.outputs if not ref.name) if v not in given] + kept
        draft.left_dtypes = [self.record.values[v].dtype for v in draft.left]
        return draft

    def add(self, event: Any) -> None:
        code = self.draft.code
        if isinstance(event, Free):
            if event.value not in self.numbers:
                self.number(event.value)
            if event.value not in self.alive:
                self.draft.ended.add(event.value)
            self.buried.add(event.value)
            code.append(Free(self.numbers[event.value]))
        elif isinstance(event, Condition):
            code.append(event)
        elif isinstance(event, Call):
            args, kwargs = self.described(event.args), self.described(event.kwargs)
            asked = [self.local(r) for r in event.asked if r.name or r.value in self.numbers]
            results: list[Result] = []
            self.made(event.out, results)
            code.append(Made(event, args, kwargs, results, asked))
        elif isinstance(event, Loop):
            looped = Looped(len(self.numbers), [], [])
            for events in event.rounds:
                before, self.draft.code = len(self.numbers), []
                for one in events:
                    self.add(one)
                looped.rounds.append(self.draft.code)
                looped.made.append(len(self.numbers) - before)
            self.draft.code = code
            code.append(looped)
        else:
            child = Builder(self.record, event).build()
            given = [Local(self.number(v)) for v in child.given]
            takes = [i for i, v in enumerate(child.given) if v in child.ended]
            for v in child.ended:
                if v not in self.alive:
                    self.draft.ended.add(v)
                self.buried.add(v)
            results = []
            for v in child.left:
                if v not in self.numbers:
                    self.take(v)
                    self.alive.append(v)
                results.append(Local(self.numbers[v]))
            own = self.region.name + "." if self.region.name else ""
            path = event.name[len(own):] if event.name.startswith(own) else "/" + event.name
            code.append(Called("" if event.kind == "function" else path, child, given, results, takes))

    def made(self, out: Any, results: list[Result]) -> None:
        if isinstance(out, list):
            for o in out:
                self.made(o, results)
        elif isinstance(out, Ref):
            if out.name:
                results.append(Result(self.local(out), (), None, False, None))
                return
            storage, owner = self.record.values[out.value].storage, self.record.values[out.value].owner
            base = self.storages.get(storage)
            if out.value not in self.numbers:
                self.take(out.value)
                self.alive.append(out.value)
            result = self.result(out)
            if owner:
                result.view_of = self.local(Ref(name=owner))
            elif base is not None and base != out.value:
                result.view_of = Local(self.numbers[base])
            results.append(result)


def draft_of(record: Pass) -> Draft:
    """The program of the whole network in one pass: the only thing that its caller does is to call it."""
    outer = Builder(record, record.root).build()
    calls = [c for c in outer.code if isinstance(c, Called)]
    assert len(calls) == 1, "the network is called once"
    return calls[0].draft
