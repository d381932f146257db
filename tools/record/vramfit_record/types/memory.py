"""Programs as device memory sees them: what only looks at memory under other names is left out. Needs nothing but Python."""
from __future__ import annotations

import json
import re
from typing import Any

from .normal import PLACES, value, values
from .sharing import renumber
from .trees import made_by

#: Calls that give back their argument where the sizes that are asked for are its own.
LOOKS = ("torch.Tensor.reshape", "torch.Tensor.view", "torch.Tensor.__getitem__")

#: Calls that make a tensor of one number.
NUMBERS = ("torch.zeros", "torch.tensor", "torch.full")


def in_memory(program: dict[str, Any]) -> dict[str, Any]:
    """Without names of memory that has the same name and sizes already, and with one end for all names of the same memory: the last one's."""
    if any(row[0] == "repeat" for row in program["code"]):
        return program  # numbers of a round stand for those of all
    program = on_device(program)
    order = list(dict.fromkeys([row[1] for row in program["inputs"]] + [v for row in program["code"] for v in made_by(row)]))
    program = without_looks({**program, "code": [list(row) for row in program["code"]], "outputs": [list(row) for row in program["outputs"]]}, order)
    program["code"] = ends_of_memory(program, owners(program))
    renumber(program, {v: i for i, v in enumerate(order)})
    return program


def on_device(program: dict[str, Any]) -> dict[str, Any]:
    """Without what the host does alone, and with one way to put a number on the device."""
    host = {made[0] for row in program["code"] if row[0] == "call" for made in row[4] if (made[3:] or [{}])[0].get("host")}
    code = []
    for row in program["code"]:
        if row[0] == "end":
            row = ["end", [v for v in row[1] if v not in host]]
        if row[0] == "call" and row[1] in NUMBERS and len(row[4]) == 1 and row[4][0][2] == []:
            row = ["call", NUMBERS[0], [[]], {}, *row[4:]]
        asked = {int(n) for n in re.findall(r'"%(\d+)"', json.dumps(row[2]))} if row[0] == "call" else set()
        alone = row[0] == "call" and (all(made[0] in host for made in row[4]) if row[4] else bool(asked) and asked <= host)
        if not alone and row != ["end", []]:
            code.append(row)
    return {**program, "code": code}


def with_inputs_by_name(programs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keyword arguments in the order of their names, in whatever order they are written down where a module is called, and without those of which nothing is made; what a closure holds in the order
    in which it is given on."""
    orders: list[list[int]] = []  # of each program's values that are given: where they stood
    out = []
    for program in programs:
        program = {**program, "code": [given_in_order(row, orders[row[2]]) if row[0] in ("module", "checkpoint") else row for row in program["code"]]}
        given = list(dict.fromkeys(row[1] for row in program["inputs"]))
        on = [v for row in program["code"] if row[0] == "module" for v in row[3]]

        def place(row: list[Any]) -> tuple[bool, int, str]:
            is_named = bool(row[0]) and not row[0][0].isdigit()
            return not row[0], on.index(row[1]) if not row[0] and row[1] in on else 0, row[0] if is_named else ""
        used = used_by(program)
        inputs = sorted((row for row in program["inputs"] if row[1] in used or row[0][:1].isdigit()), key=place)
        order = list(dict.fromkeys(row[1] for row in inputs))
        orders.append([given.index(v) for v in order])
        numbers = {v: i for i, v in enumerate([*order, *(v for row in program["code"] for v in made_by(row))])}
        program |= {"inputs": [[row[0], numbers[row[1]], *row[2:]] for row in inputs], "code": [one for row in program["code"] if (one := without_ends(row, set(given) - set(order)))]}
        if any(old != new for old, new in numbers.items()) and not any(row[0] == "repeat" for row in program["code"]):
            renumber(program, numbers)
        out.append(program)
    return out


def given_in_order(row: list[Any], order: list[int]) -> list[Any]:
    row = [*row[:3], [row[3][at] for at in order], *row[4:]]
    return [*row[:5], {**row[5], "takes": sorted(order.index(at) for at in row[5]["takes"] if at in order)}] if row[5:] and "takes" in row[5] else row


def used_by(program: dict[str, Any]) -> set[int]:
    """Values that a program gives to a call or back."""
    text = json.dumps([[row[2:4] for row in program["code"] if row[0] == "call"], [row for row in program["code"] if row[0] == "repeat"], program["outputs"]])
    return {int(n) for n in re.findall(r'"!?%(\d+)"', text)} | {v for row in program["code"] if row[0] in ("module", "function", "checkpoint") for v in row[3]} | set(program.get("keeps", ()))


def without_ends(row: list[Any], gone: set[int]) -> list[Any] | None:
    if row[0] != "end" or not gone:
        return row
    left = [v for v in row[1] if v not in gone]
    return ["end", left] if left else None


def without_looks(program: dict[str, Any], order: list[int]) -> dict[str, Any]:
    """Without calls that give a value its own sizes once more."""
    sizes = {row[1]: values(row[3]) for row in program["inputs"]}
    same: dict[int, int] = {}
    code = []
    for row in program["code"]:
        for made in row[4] if row[0] == "call" else []:
            sizes[made[0]] = values(made[2])
        given = row[2][0] if row[0] == "call" and row[1] in LOOKS else ""
        if given.startswith("%") and "view" in (row[4][0][3:] or [{}])[0] and sizes.get(row[4][0][0]) == sizes.get(int(given[1:]), 0):
            same[row[4][0][0]] = same.get(int(given[1:]), int(given[1:]))
            order.remove(row[4][0][0])
        else:
            code.append(row)
    program["code"] = code
    if same:
        renumber(program, same)
    return program


def owners(program: dict[str, Any]) -> dict[int, int]:
    """The value whose memory a value lies on, by what the recording says."""
    out: dict[int, int] = {}
    for row in program["code"]:
        for made in row[4] if row[0] == "call" else []:
            on = made[3].get("view", "") if len(made) > 3 else ""
            if on.startswith("%"):
                out[made[0]] = out.get(int(on[1:]), int(on[1:]))
    return out


def ends_of_memory(program: dict[str, Any], owner: dict[int, int]) -> list[Any]:
    """Instructions in which memory ends where its last name does, under the name of its owner."""
    last: dict[int, tuple[int, int]] = {}
    ended: set[int] = set()
    for at, row in enumerate(program["code"]):
        for i, v in enumerate(row[1] if row[0] == "end" else []):
            last[owner.get(v, v)] = (at, i)
            ended.add(v)
    left = {int(text[1:]) for _, text in program["outputs"] if text.startswith("%")} | set(program.get("keeps", ()))
    kept = {owner.get(v, v) for v in left}
    code = []
    for at, row in enumerate(program["code"]):
        if row[0] == "end":
            row = ["end", [o for i, v in enumerate(row[1]) if last[o := owner.get(v, v)] == (at, i) and o not in kept]]
        if row[0] != "end" or row[1]:
            code.append(row)
    return joined(code)


def joined(code: list[Any]) -> list[Any]:
    """Ends that stand behind one another as one."""
    out: list[Any] = []
    for row in code:
        if row[0] == "end" and out and out[-1][0] == "end":
            out[-1] = ["end", out[-1][1] + row[1]]
        else:
            out.append(row)
    return out


def angles(program: dict[str, Any]) -> dict[str, Any]:
    """A program that computes without autograd, as the memory that it takes and lets go: so much of it, by which name. The engine ends what a product of matrices is of
    behind it where elements are multiplied since (src/model/recorded/frame.cpp execute_of_angles)."""
    owner = owners(program)
    there: dict[int, int] = {}
    out: list[Any] = []

    def end(v: int) -> None:
        if (o := owner.get(v, v)) in there:
            out.append(["free", there.pop(o)])

    for row in ends_of_memory(program, owner):
        if row[0] == "end":
            for v in row[1]:
                end(v)
        elif row[0] == "call":
            for made in row[4]:
                if made[0] not in owner and made[0] not in there and not (len(made) > 3 and made[3].get("view")):
                    there[made[0]] = len(there) + sum(x[0] == "free" for x in out)
                    out.append(["take", made[1], elements(made[2])])
            if row[1] == "torch.Tensor.matmul":
                for text in row[2]:
                    if text.startswith("%"):
                        end(int(text[1:]))
        else:
            out.append(row)
    left = [[name, there.get(owner.get(int(text[1:]), int(text[1:])))] for name, text in program["outputs"]]
    return {"class": program["class"], "inputs": [["", *row[1:]] for row in program["inputs"]], "code": out, "outputs": left}


def elements(sizes: list[Any]) -> list[int]:
    """How many a tensor has of these sizes, at the places where formulas are compared."""
    count = [1] * len(PLACES)
    for size in sizes:
        at = value(size[1:]) if isinstance(size, str) else [size] * len(PLACES)
        count = [a * b for a, b in zip(count, at)]
    return count
