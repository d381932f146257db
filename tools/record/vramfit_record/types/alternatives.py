"""Trees of one type recorded with different configurations as one: what is the same once, what differs by the choices that explain it."""
from __future__ import annotations

import itertools
import json
from typing import Any, Sequence

from .trees import Tree

#: A configuration that was recorded: the state of each choice, by name.
Chosen = dict[str, Any]


class NotExplained(Exception):
    """Trees differ in a way that no choices say."""


def as_key(x: Any) -> str:
    return json.dumps(x, sort_keys=True, separators=(",", ":"))


class Alternatives:
    """`nodes`: {"body": number} or {"by": choices, "cases": [[states, number]]}, with what is below by name. `bodies`: each once."""

    def __init__(self) -> None:
        self.bodies: dict[str, int] = {}
        self.nodes: dict[str, int] = {}
        self.together: set[tuple[str, ...]] = set()  # choices that decide about the same body

    def body(self, body: Any) -> int:
        return self.bodies.setdefault(json.dumps(body, separators=(",", ":")), len(self.bodies))

    def merged(self, recorded: Sequence[tuple[Chosen, Tree]]) -> int:
        """The number of the node that all these trees are."""
        texts = [as_key(tree["body"]) for _, tree in recorded]
        by = explaining([chosen for chosen, _ in recorded], texts)
        row: dict[str, Any] = {}
        if by:
            self.together.add(by)
            cases = {as_key([chosen[f] for f in by]): (chosen, tree) for chosen, tree in recorded}
            row = {"by": list(by), "cases": [[[chosen[f] for f in by], self.body(tree["body"])] for chosen, tree in cases.values()]}
        else:
            row = {"body": self.body(recorded[0][1]["body"])}
        names = dict.fromkeys(name for _, tree in recorded for name in tree["below"])
        below = {name: self.merged([(c, t["below"][name]) for c, t in recorded if name in t["below"]]) for name in names}
        if below:
            row["below"] = below
        return self.nodes.setdefault(json.dumps(row, separators=(",", ":")), len(self.nodes))


    def written(self) -> dict[str, Any]:
        """The tables as they are written: each instruction once, programs with their numbers."""
        numbers: dict[str, int] = {}

        def short(code: list[Any]) -> list[Any]:
            return [numbers.setdefault(json.dumps(one, separators=(",", ":")), len(numbers)) for one in code]
        bodies = [json.loads(body) for body in self.bodies]
        for body in bodies:
            if isinstance(body, dict) and "code" in body:
                body["code"] = [["layers", *one[1:3], short(one[3]), {k: short(v) for k, v in one[4].items()}, one[5] and short(one[5])] if one[0] == "layers" else short([one])[0]
                                for one in body["code"]]
        return {"instructions": [json.loads(one) for one in numbers], "bodies": bodies, "nodes": [json.loads(node) for node in self.nodes]}


def explaining(chosen: Sequence[Chosen], texts: Sequence[str]) -> tuple[str, ...]:
    """The choices that the texts follow from: those that change it alone, and no others unless these do not say it."""
    if len(set(texts)) == 1:
        return ()
    names = [f for f in chosen[0] if len({as_key(c[f]) for c in chosen}) > 1]
    alone = [f for f in names if any(a != b and differ_in(x, y) == [f] for (x, a), (y, b) in itertools.combinations(zip(chosen, texts), 2))]
    for more in range(len(names) - len(alone) + 1):
        for others in itertools.combinations([f for f in names if f not in alone], more):
            by = tuple(f for f in names if f in alone or f in others)
            found: dict[str, str] = {}
            if by and all(found.setdefault(as_key([c[f] for f in by]), t) == t for c, t in zip(chosen, texts)):
                return by
    raise NotExplained("recordings of the same choices differ")


def differ_in(x: Chosen, y: Chosen) -> list[str]:
    return [f for f in x if as_key(x[f]) != as_key(y[f])]
