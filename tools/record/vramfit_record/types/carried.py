"""Values that a layer hands on as it was given them (hy_v4: what an indexer of one before it has chosen), so that layers of all kinds make as many values. Needs nothing but Python."""
from __future__ import annotations

import re
from typing import Any

from .known import CARRIED, SHARED
from .sharing import hoisted, renumber, runs_layer
from .trees import ALIAS, made_by


def evened(document: dict[str, Any]) -> dict[str, Any]:
    """A recording whose layers each make as many values."""
    model_type = document["network"]["model_type"]
    return carried(document) if model_type in CARRIED else hoisted(without_whole_slices(document) if model_type in SHARED else document)


def without_whole_slices(document: dict[str, Any]) -> dict[str, Any]:
    """Without slices of all that there is, between layers (5.23.0 modeling_gemma4.py Gemma4TextModel._maybe_slice_kv_shared_inputs with logits_to_keep of 0): torch gives the tensor itself."""
    for program in document["programs"]:
        if not any(runs_layer(document, row) for row in program["code"]):
            continue
        same: dict[int, int] = {}
        order = list(dict.fromkeys(row[1] for row in program["inputs"]))
        code: list[Any] = []
        for row in program["code"]:
            row = renamed_in(row, same)
            if is_whole_slice(row) and any(runs_layer(document, one) for one in code):
                same[row[4][0][0]] = int(row[2][0][1:])
            else:
                code.append(row)
                order += [v for v in made_by(row) if v not in order]
        if not same:
            continue
        last = {v: at for at, row in enumerate(code) if row[0] == "end" for v in row[1]}
        code = [["end", [v for v in dict.fromkeys(row[1]) if last[v] == at]] if row[0] == "end" else row for at, row in enumerate(code)]
        program["code"] = [row for row in code if row != ["end", []]]
        program["outputs"] = renamed_in(["outputs", program["outputs"]], same)[1]
        renumber(program, {v: i for i, v in enumerate(order)})
    return document


def is_whole_slice(row: Any) -> bool:
    index = row[2][1] if row[0] == "call" and row[1] == "torch.Tensor.__getitem__" else None
    return isinstance(index, list) and all(isinstance(part, dict) and part.get("slice", [1])[0] in (0, None) and part["slice"][1:] == [None, None] for part in index)


def carried(document: dict[str, Any]) -> dict[str, Any]:
    """A layer that hands on a value that it was given leaves an alias of it under a number of its own, as one does that makes another value: all layers make as many, and each is given
    what the one before it has left."""
    for program in document["programs"]:
        if program.get("kind") == "checkpoint":  # its caller has the alias
            continue
        code: list[Any] = []
        now: dict[int, int] = {}  # where a value is handed on: its last alias
        order = list(dict.fromkeys(row[1] for row in program["inputs"]))
        fresh = 1 << 20
        for row in program["code"]:
            row = renamed_in(row, now)
            code.append(row)
            if row[0] == "end" and code[-2][0] == "call" and code[-2][1] == ALIAS and code[-2][4][0][0] in now.values():
                old = int(code[-2][2][0][1:])
                code[-1] = ["end", [*row[1], old]]
            order += [v for v in made_by(row) if v not in order]
            if not runs_layer(document, row):
                continue
            for at, described in handed_on(document["programs"][row[2]]):
                given, fresh = row[3][at], fresh + 1
                first = next((v for v, last in now.items() if last == given), given)
                now[first] = fresh
                order.append(fresh)
                code.append(["call", ALIAS, [f"%{given}"], {}, [[fresh, *described[:2], {"view": f"%{given}"}]]])
        program["code"] = code
        if now:
            program["outputs"] = renamed_in(["outputs", program["outputs"]], now)[1]
            renumber(program, {v: i for i, v in enumerate(order)})
    return document


def handed_on(program: dict[str, Any]) -> list[tuple[int, list[Any]]]:
    """Which of the values that it is given a program gives back: their place, and what they are."""
    given = list(dict.fromkeys(row[1] for row in program["inputs"]))
    described = {row[1]: row[2:] for row in program["inputs"]}
    back = dict.fromkeys(int(ref[1:]) for _, ref in program["outputs"] if ref.startswith("%"))
    return [(given.index(v), described[v]) for v in back if v in given]


def renamed_in(row: Any, now: dict[int, int]) -> Any:
    """An instruction with the aliases of values that were handed on."""
    def inside(x: Any) -> Any:
        if isinstance(x, str):
            return f"%{now[int(x[1:])]}" if re.fullmatch(r"%\d+", x) and int(x[1:]) in now else x
        return [inside(y) for y in x] if isinstance(x, list) else {k: inside(v) for k, v in x.items()} if isinstance(x, dict) else x
    if not now:
        return row
    if row[0] == "end":
        return ["end", [now.get(v, v) for v in row[1]]]
    if row[0] in ("module", "function", "checkpoint"):
        return [*row[:3], [now.get(v, v) for v in row[3]], *row[4:]]
    return inside(row)
