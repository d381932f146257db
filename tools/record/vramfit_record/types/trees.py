"""A recording as trees: what a program or kind of module has of its own, and those below it by name, with its decoder layers folded.

A tree is {"body": ..., "below": {name: tree}}. In a body a program or kind is named, not numbered. The layers of the network are written once for
each kind of layer, with `*` for their number, and calls of them as one instruction. Of a network with several lists of layers, a layer is what stands
at one place of all of them.

    ["layers", p, c, first, {kind: middle}, last]

Values from number p on belong to the loop: each layer makes c of them. `middle` has the numbers of the second layer, `last` those of the second of two;
so have the instructions behind it, where a list among the values that end has those of the first layer and means all layers', the last layer's first. Layers of kinds that are `idle` are not among them.
"""
from __future__ import annotations

import json
import re
from typing import Any

from .sharing import with_layer

Tree = dict[str, Any]


class NotFolded(Exception):
    """Why layers cannot be written as one."""


class Trees:
    """`kinds`: the kind of each decoder layer; `towers`: lists of layers that are all alike and that no program runs, and the key with their number; `idle`: kinds that no program runs;
    `lists`: the paths of the lists of layers, where there are several."""

    def __init__(self, document: dict[str, Any], kinds: list[str], towers: dict[str, str] | None = None, idle: list[str] | None = None, lists: tuple[str, ...] = ()) -> None:
        self.document, self.kinds, self.towers = document, kinds, towers or {}
        self.run = [i for i, kind in enumerate(kinds) if kind not in (idle or ())]
        self.list = self.layer_list(document["root"], "")
        if self.list is None:
            raise NotFolded(f"no list of {len(kinds)} layers")
        self.lists = lists or (self.list,)
        self.names = tuple(dict.fromkeys(path.rsplit(".", 1)[-1] for path in self.lists))

    def whole(self) -> Tree:
        """The document: what it says of the class, its modules, and a program for each variant."""
        network = {k: v for k, v in self.document["network"].items() if k not in ("config", "varied")}
        rows = [{k: v for k, v in row.items() if k not in ("program", "because")} for row in self.document["variants"]]
        below = {"network": leaf(network), "ties": leaf([self.tie(names) for names in self.document["ties"]]), "modules": self.kind(self.document["root"], "")}
        below.update({name_of_row(row): self.program(row["program"]) for row in self.document["variants"]})
        return {"body": rows, "below": below}

    def tie(self, names: list[str]) -> list[str]:
        """Of a parameter that all layers of one kind share: its name in the first of them, with the kind in place of the number."""
        found = [re.fullmatch(rf"{re.escape(self.list)}\.(\d+)\.(.*)", name) for name in names]
        if not all(found):
            return names
        layers = [int(f[1]) for f in found if f]
        kind = self.kinds[layers[0]]
        if layers != [i for i, k in enumerate(self.kinds) if k == kind] or len({f[2] for f in found if f}) > 1:
            raise NotFolded(f"{names[0]} is shared by some layers of a kind")
        return [f"{self.list}.*{kind}.{found[0][2]}"]

    # Modules

    def layer_list(self, kind: int, path: str) -> str | None:
        """The path of the module that has the layers."""
        row = self.document["modules"][kind]
        names = [name for name, _ in row.get("children", [])]
        if row["class"] == "ModuleList" and path not in self.towers and names == [str(i) for i in range(len(self.kinds))]:
            return path
        for name, child in row.get("children", []):
            found = self.layer_list(child, f"{path}.{name}" if path else name)
            if found:
                return found
        return None

    def kind(self, number: int, path: str) -> Tree:
        row = dict(self.document["modules"][number])
        below: dict[str, Tree] = {}
        children = row.pop("children", [])
        if path in self.lists:
            for (_, child), kind in zip(children, self.kinds):
                put(below, f"*{kind}", self.kind(child, f"{path}.*"))
            return {"body": {**row, "children": "layers"}, "below": below}
        if path in self.towers:
            for _, child in children:
                put(below, "*", self.kind(child, f"{path}.*"))
            return {"body": {**row, "children": f"={self.towers[path]}"}, "below": below}
        for name, child in children:
            below[name] = self.kind(child, f"{path}.{name}" if path else name)
        return {"body": {**row, "children": [name for name, _ in children]} if children else row, "below": below}

    # Programs

    def layer_of(self, row: Any) -> tuple[int, str] | None:
        """The layer that an instruction runs, itself or inside of a checkpointed unit, and the name of its list."""
        while row[0] == "checkpoint":
            row = self.document["programs"][row[2]]["code"][0]
        if row[0] != "module":
            return None
        found = re.search(rf"(?:^|[./])({'|'.join(map(re.escape, self.names))})\.(\d+)$", row[1])
        return (int(found[2]), found[1]) if found else None

    def program(self, number: int, layer: int | None = None) -> Tree:
        program = self.document["programs"][number]
        if layer is not None:
            program = json.loads(starred(json.dumps(program), self.names, layer))
        below: dict[str, Tree] = {}
        counts: dict[str, int] = {}
        code = []
        layers = []
        for row in program["code"]:
            if row[0] in ("module", "function", "checkpoint"):
                here, part = (layer is None and self.layer_of(row)) or (None, "")
                name = f"{row[0]} {row[1]}" if here is None else f"{row[0]} *{self.kinds[here]}"
                if here is not None:
                    name += f" {part}" if len(self.names) > 1 else ""
                    layers.append((len(code), here))
                    row = json.loads(starred(json.dumps(row), self.names, here))
                else:
                    counts[name] = counts.get(name, 0) + 1
                    name += f" {counts[name]}" if counts[name] > 1 else ""
                put(below, name, self.program(row[2], here if here is not None else layer))
                row = [*row[:2], name, *row[3:]]
            code.append(row)
        program = {**program, "code": code}
        if layers:
            program = self.folded(program, layers)
        return {"body": program, "below": below}

    def folded(self, program: Any, layers: list[tuple[int, int]]) -> Any:
        order = [i for _, i in layers]
        if order != sorted(order) or list(dict.fromkeys(order)) != self.run:
            raise NotFolded(f"{program['class']} runs the layers in another order")
        code = program["code"]

        def behind(at: int) -> int:
            at += 1
            while at < len(code) and is_alias(code[at]):
                at += 1
            return at + (at < len(code) and code[at][0] == "end")
        places = list({i: at for at, i in layers}.values())  # of each layer's last call
        firsts = list({i: at for at, i in reversed(layers)}.values())[::-1]
        between = [row[0] for row in code[behind(places[0]):firsts[1]]] if len(places) > 1 else []
        begin = firsts[0] - len(between)
        if [row[0] for row in code[begin:firsts[0]]] != between:  # the first layer ends nothing of one before it
            begin, others = firsts[0], sum(what != "end" for what in between)
            while others:
                begin -= 1
                others -= code[begin][0] != "end"
        starts = [begin, *map(behind, places)]
        parts = with_layer([code[a:b] for a, b in zip(starts, starts[1:])], self.run)
        results = [len(code[at][4]) + is_alias(code[at + 1]) for at in places]
        outside = min(results)  # values behind these have numbers in front of all others (hoisted)
        made = [sum(map(len, map(made_by, part))) - count + outside for count, part in zip(results, parts)]
        if len(set(made)) > 1:
            raise NotFolded(f"{program['class']}: layers make {sorted(set(made))} values")
        p = len({row[1] for row in program["inputs"]}) + sum(len(made_by(row)) for row in code[:starts[0]]) + sum(results) - outside * len(results)
        c, n = made[0], len(parts)
        middle: dict[str, Any] = {}
        for i in range(1, n - 1):
            part = moved(parts[i], (1 - i) * c, p)
            if middle.setdefault(self.kinds[self.run[i]], part) != part:
                raise NotFolded(f"{program['class']}: layers {i} and one before it are run in another way")
        back = -max(0, n - 2) * c
        loop = ["layers", p, c, parts[0], middle, moved(parts[-1], back, p) if n > 1 else None]
        rest = {key: moved(program[key], back, p) for key in ("outputs", "keeps") if key in program}
        if "keeps" in rest:
            rest["keeps"] = [k + back if k >= p else k for k in program["keeps"]]
        ends = [["end", of_all_layers(row[1], p, c, n)] if row[0] == "end" else row for row in code[starts[-1]:]]
        return {**program, "code": [*code[:starts[0]], loop, *moved(ends, back, p)], **rest}


def of_all_layers(ends: list[int], first: int, made: int, count: int) -> list[Any]:
    """The ends behind the layers, where those of the same values of all layers, the last layer's first, are a list of the first layer's (keys and values in a cache)."""
    out: list[Any] = []
    at = 0
    last = range(first + (count - 1) * made, first + count * made)
    while at < len(ends):
        most = next((i for i, v in enumerate(ends[at:]) if v not in last), len(ends) - at) if count > 1 else 0
        found = next((k for k in range(most, 0, -1) if ends[at:at + k * count] == [v - j * made for j in range(count) for v in ends[at:at + k]]), 0)
        out.append([v - (count - 1) * made for v in ends[at:at + found]] if found else ends[at])
        at += found * count or 1
    return out


#: What stands for a value that a layer hands on as it was given it (carried.py).
ALIAS = "torch.Tensor.detach"


def is_alias(row: Any) -> bool:
    return row[0] == "call" and row[1] == ALIAS


def leaf(body: Any) -> Tree:
    return {"body": body, "below": {}}


def put(below: dict[str, Tree], name: str, tree: Tree) -> None:
    if below.setdefault(name, tree) != tree:
        try:
            below[name] = with_any_factor(below[name], tree)
        except ValueError:
            raise NotFolded(f"{name}: layers of one kind differ") from None


def with_any_factor(a: Any, b: Any) -> Any:
    """Two trees that are the same but for numbers with a fraction, of which only matters whether they are zero (a number of each layer, as lambda_init of diffllama is)."""
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return {k: with_any_factor(v, b[k]) for k, v in a.items()}
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [with_any_factor(x, y) for x, y in zip(a, b)]
    if a == b and type(a) is type(b):
        return a
    if all(x and isinstance(x, float) or x == "#varies" for x in (a, b)):
        return "#varies"
    raise ValueError


def name_of_row(row: dict[str, Any]) -> str:
    """What tells a variant apart."""
    return "variant " + json.dumps({k: v for k, v in row.items() if k not in ("program", "because", "not_fitted")}, sort_keys=True, separators=(",", ":"))


def starred(text: str, lists: tuple[str, ...], layer: int) -> str:
    return re.sub(rf"(?<=[\"./@])({'|'.join(map(re.escape, lists))})\.{layer}(?=[\".])", r"\1.*", text)


def made_by(row: Any) -> list[int]:
    """The values that an instruction makes."""
    if row[0] == "call":
        return [r[0] for r in row[4] if isinstance(r[0], int) and not is_again(row, r)]
    return list(row[4]) if row[0] in ("module", "function", "checkpoint") else []


def is_again(row: Any, result: Any) -> bool:
    """A function that writes into its argument gives back the same value."""
    return f"%{result[0]}" in row[2] if isinstance(row[2], list) else False


def moved(x: Any, by: int, first: int) -> Any:
    """Instructions or outputs whose values from number `first` on have other numbers."""
    def value(n: int) -> int:
        return n + by if n >= first else n

    def text(t: str) -> str:
        found = re.fullmatch(r"(!?%)(\d+)", t)
        return f"{found[1]}{value(int(found[2]))}" if found else t

    def inside(y: Any) -> Any:
        if isinstance(y, str):
            return text(y)
        if isinstance(y, list):
            return [inside(z) for z in y]
        return {k: inside(v) for k, v in y.items()} if isinstance(y, dict) else y

    def row_of(row: Any) -> Any:
        if row[0] == "call":
            results = [[value(r[0]) if isinstance(r[0], int) else r[0], *map(inside, r[1:])] for r in row[4]]
            return [*row[:2], inside(row[2]), inside(row[3]), results, *row[5:]]
        if row[0] == "end":
            return ["end", [n if isinstance(n, list) else value(n) for n in row[1]]]
        if row[0] == "if":
            return row
        if row[0] == "repeat":
            raise NotFolded("a loop beside the layers")
        if row[0] in ("module", "function", "checkpoint"):
            return [*row[:3], [value(n) for n in row[3]], [value(n) for n in row[4]], *row[5:]]
        return inside(row)
    return [row_of(row) if isinstance(row, list) and row else row for row in x]
