"""A recording in normal form: two that are equal in it are the same network and do the same, for every batch, length and dtype."""
from __future__ import annotations

import json
import re
from typing import Any

from ..check import NO_CHECKPOINTING

#: Formulas are equal if they are at these batches and lengths, at which recordings are made and beside them.
PLACES = ((2, 48), (3, 83), (5, 114), (7, 61), (1, 90))


def normal(document: dict[str, Any]) -> dict[str, Any]:
    """Without the configuration; programs and modules in one another; of a number with a fraction only whether it is zero."""
    programs: list[Any] = []
    for row in document["programs"]:
        code = [[*one[:2], programs[one[2]], *one[3:]] if one[0] in ("module", "function", "checkpoint") else one for one in map(instruction, row["code"])]
        programs.append(digest({**row, "inputs": values(row["inputs"]), "code": code}))
    kinds: list[Any] = []
    for row in document["modules"]:
        kinds.append(digest({**row, "children": [[name, kinds[n]] for name, n in row.get("children", [])]}))
    variants = [{**{k: v for k, v in row.items() if k != "because"}, "program": programs[row["program"]]} for row in document["variants"]]
    network = {k: v for k, v in document["network"].items() if k not in ("config", "varied", "conditions")}
    network |= {"checkpoint": sorted(network["checkpoint"])} if "checkpoint" in network else {}  # rows are looked up by name
    return {"network": network, "modules": kinds[document["root"]], "ties": document["ties"], "variants": variants, "refused": [row for row in document["refused"] if row["reason"] != NO_CHECKPOINTING]}


def digest(x: Any) -> str:
    return json.dumps(x, sort_keys=True)


def instruction(row: Any) -> Any:
    if row[0] == "repeat":
        return [row[0], values(row[1]), *row[2:4], *(list(map(instruction, part)) for part in row[4:6]), *row[6:]]
    if row[0] == "if":
        left, sign, right = row[1].split(" ")
        return ["if", value(left), sign, value(right), row[2]]
    return [row[0], row[1], values(row[2]), values(row[3]), *map(values, row[4:])] if row[0] == "call" else row


def value(text: str) -> Any:
    return [eval(text, {"__builtins__": {}}, {"B": b, "S": s}) for b, s in PLACES]  # noqa: S307  of the recorder's formulas


def values(x: Any) -> Any:
    if isinstance(x, bool) or x is None:
        return x
    if isinstance(x, float):
        return "# not zero" if x else "# zero"
    if isinstance(x, str):
        return "# not zero" if x == "#varies" else value(x[1:]) if re.match(r"=[-(0-9BS]", x) else x
    if isinstance(x, list):
        return [values(y) for y in x]
    return {k: values(v) for k, v in x.items()} if isinstance(x, dict) else x


def difference(a: Any, b: Any, place: str = "") -> str:
    """Where two normal forms differ first, or nothing."""
    if isinstance(a, str) and isinstance(b, str) and a[:1] in "[{" and b[:1] == a[:1] and a != b:
        return difference(json.loads(a), json.loads(b), place)
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            if found := difference(a.get(key), b.get(key), f"{place}/{key}"):
                return found
        return ""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((found for i, (x, y) in enumerate(zip(a, b)) if (found := difference(x, y, f"{place}/{i}"))), "")
    return "" if a == b else f"{place}: {json.dumps(a)[:160]} / {json.dumps(b)[:160]}"


def fingerprint(document: dict[str, Any]) -> str:
    """FNV-1a of the document without its configuration, with its keys in order: what the program makes has the same."""
    network = {k: v for k, v in document["network"].items() if k != "config"}
    number = 0xCBF29CE484222325
    for byte in json.dumps({**document, "network": network}, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode():
        number = (number ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{number:016x}"
