"""Layers that leave their keys and values to those of their kind behind them (Gemma 4): which ones do, and how recordings of them are folded. Needs nothing but Python."""
from __future__ import annotations

import json
import re
from typing import Any

OWN, STORE, REUSE = "own", "store", "reuse"
FULL, SLIDING = "full_attention", "sliding_attention"
#: Layers as published models have them: the last one that has keys and values of its own has full attention.
BEFORE = [f"{OWN}+{SLIDING}", f"{OWN}+{SLIDING}", f"{OWN}+{FULL}", f"{STORE}+{SLIDING}", f"{STORE}+{FULL}"]
BEHIND = [f"{REUSE}+{SLIDING}", f"{REUSE}+{FULL}", f"{REUSE}+{FULL}"]
STATES = [[*BEFORE, *BEHIND], BEFORE]
#: Where none takes them none is left (5.23.0 configuration_gemma4.py kv_sharing_modes).
STATES_WHERE_SHARED = [STATES[0], [kind.replace(STORE, OWN) for kind in BEFORE]]
#: Feed-forward parts of which only the largest numbers count; the last ones that leave keys and values have none (Gemma 3n).
SPARSE = "sparse"
SPARSE_STATES = [[*(f"{SPARSE}+{kind}" for kind in BEFORE[:3]), *BEFORE[1:], *BEHIND], *STATES]


def with_roles(kinds: list[str], shared: int, where_shared: bool) -> list[str]:
    """transformers 5.17.0 modeling_gemma4.py Gemma4TextAttention: the last `shared` layers take what the last one of their kind before them has left, which it may leave `where_shared` alone."""
    if where_shared and not shared:
        return [f"{OWN}+{kind}" for kind in kinds]
    first = len(kinds) - shared
    found = []
    for i, kind in enumerate(kinds):
        role = REUSE if i >= first else STORE if kind not in kinds[i + 1:first] else OWN
        found.append(f"{role}+{kind}")
    return found


def with_sparsity(row: dict[str, Any], kinds: list[str], given: Any) -> list[str] | None:
    """transformers 5.17.0 configuration_gemma3n.py __post_init__: a share for each layer, or for so many at the beginning. Nothing: it is no such list."""
    shares = [float(len(kinds) > row["first"] > i) for i in range(len(kinds))] if given is None else given
    numbers = isinstance(shares, list) and len(shares) == len(kinds) and all(isinstance(x, (int, float)) and not isinstance(x, bool) and x >= 0 for x in shares)
    return [f"{SPARSE}+{kind}" if share else kind for kind, share in zip(kinds, shares)] if numbers else None


def state_of(kinds: list[str], states: list[list[str]]) -> list[str] | None:
    """The recorded layers that have these: the same first and last one, and those between."""
    stores = [kind for kind in kinds if kind.startswith(STORE)]
    if stores and stores != [f"{STORE}+{SLIDING}", f"{STORE}+{FULL}"]:
        return None
    return next((state for state in states if state[0] == kinds[0] and state[-1] == kinds[-1] and set(kinds[1:-1]) <= set(state[1:-1])), None)


def hoisted(document: dict[str, Any]) -> dict[str, Any]:
    """Values that only some layers leave get numbers in front of all others, so that each layer makes as many."""
    for program in document["programs"]:
        calls = [row for row in program["code"] if runs_layer(document, row)]
        least = min((len(row[4]) for row in calls), default=0)
        extra = [value for row in calls for value in row[4][least:]]
        if not extra:
            continue
        inputs = len({row[1] for row in program["inputs"]})
        numbers = {value: inputs + i for i, value in enumerate(extra)}
        others = (value for value in range(inputs, 1 << 20) if value not in numbers)
        for place, value in enumerate(others):
            if place > 100_000:
                break
            numbers[value] = inputs + len(extra) + place
        renumber(program, numbers)
    return document


def runs_layer(document: dict[str, Any], row: Any) -> bool:
    while row[0] == "checkpoint":
        row = document["programs"][row[2]]["code"][0]
    return row[0] == "module" and re.search(r"(?:^|[./])layers\.\d+$", row[1]) is not None


def renumber(program: dict[str, Any], numbers: dict[int, int]) -> None:
    """Other numbers for the values of a program."""
    def text(found: re.Match[str]) -> str:
        return f'"{found[1]}{numbers.get(int(found[2]), int(found[2]))}"'

    def of(value: Any) -> Any:
        return numbers.get(value, value) if isinstance(value, int) else value
    for key in ("code", "outputs"):
        program[key] = json.loads(re.sub(r'"(!?%)(\d+)"', text, json.dumps(program[key], separators=(",", ":"))))
    for row in program["code"]:
        if row[0] == "call":
            row[4] = [[of(r[0]), *r[1:]] for r in row[4]]
        elif row[0] == "end":
            row[1] = [of(v) for v in row[1]]
        elif row[0] in ("module", "function", "checkpoint"):
            row[3], row[4] = [of(v) for v in row[3]], [of(v) for v in row[4]]
    if "keeps" in program:
        program["keeps"] = [of(v) for v in program["keeps"]]


def with_layers(document: dict[str, Any], layers: int, key: str, size: str) -> dict[str, Any]:
    """Sizes that grow with the number of layers, `size` for each of them: formulas of it, as if the number had been varied."""
    text = json.dumps({k: document[k] for k in ("modules", "programs")}, separators=(",", ":"))
    text = re.sub(rf'"=((?:B\*S\*)?){layers}\*{size}"', rf'"=\g<1>{key}*{size}"', text)
    text = re.sub(rf'"=B","=S",{layers}([,\]])', rf'"=B","=S","={key}"\g<1>', text)  # other numbers in such a place are varied
    return {**document, **json.loads(text)}


def with_layer(parts: list[list[Any]], layers: list[int]) -> list[list[Any]]:
    """Instructions of each of these layers, with "=layer" where an argument is the layer's number."""
    calls = [[row for row in part if row[0] == "call"] for part in parts]
    if len(parts) < 3 or len({len(rows) for rows in calls}) > 1:
        return parts
    for rows in zip(*calls):
        for row, arguments in zip(rows, numbered([row[2] for row in rows], layers)):
            row[2] = arguments
    return parts


def numbered(values: list[Any], layers: list[int]) -> list[Any]:
    if all(isinstance(v, list) for v in values) and len({len(v) for v in values}) == 1:
        columns = [numbered(list(column), layers) for column in zip(*values)]
        return [list(row) for row in zip(*columns)] if columns else values
    if all(isinstance(v, int) and not isinstance(v, bool) and v == i for i, v in zip(layers, values)):
        return ["=layer"] * len(values)
    return values


def rope_not_known(kinds: dict[str, Any], config: dict[str, Any], beside: list[str]) -> str:
    """What stands against rotary embeddings for each kind of layer: of the class's own type, whose numbers go into frequencies only. Nothing: they are covered."""
    given = config.get("rope_parameters")
    if config.get("rope_scaling") is not None:
        return "rope_scaling: given"
    if given is None:
        return "rope_parameters: the key is missing" if any("none" in known for known in kinds.values()) else ""
    if not isinstance(given, dict) or set(given) - set(beside) != set(kinds):
        return f"rope_parameters: {given}"
    for kind, known in kinds.items():
        if "none" in known:
            if given[kind] is not None:
                return f"rope_parameters.{kind}: {given[kind]}"
            continue
        entries = dict(given[kind] or {})
        type_, own = entries.pop("rope_type", None), known.get("own", {})
        other = {known["type"]: {"needs": [], "may": known["may"]}, **known.get("others", {})}.get(type_)
        if other is None or not {"rope_theta", *own, *other["needs"]} <= set(entries):
            return f"rope_parameters.{kind}: {given[kind]}"
        if any(entries.pop(name) != value for name, value in own.items()):
            return f"rope_parameters.{kind}: {given[kind]}, recorded with {own}"
        for name, value in entries.items():
            if name not in other["may"] or not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
                return f"rope_parameters.{kind}.{name}: {value}"
    return ""
