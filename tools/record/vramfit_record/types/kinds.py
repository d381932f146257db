"""Kinds of layers that a configuration says by a text, or by their place; the layers that are recorded in place of others. Needs nothing but Python."""
from __future__ import annotations

from typing import Any


def by_letters(row: dict[str, Any], given: dict[str, Any]) -> list[str] | None:
    """The kinds that a text with a letter for each layer says, if there is one."""
    text = given.get(row["key"])
    return [row["kinds"].get(letter, letter) for letter in text] if isinstance(text, str) else None


def layers_listed(row: dict[str, Any], given: dict[str, Any]) -> int | None:
    """How many layers there are where only a list or a text says it."""
    said = next((given[key] for key in (row["list"], row.get("letters", {}).get("key")) if given.get(key) is not None), None)
    return len(said) if isinstance(said, (list, str)) else None


def sizes_of_kinds(row: dict[str, Any], kinds: list[str], given: dict[str, Any], default: Any) -> dict[str, int] | str:
    """The size that layers of each attention share, by its name; or what stands against it."""
    sizes = given.get(row["key"])
    sizes = [default] * len(kinds) if sizes is None else sizes
    if not isinstance(sizes, list) or len(sizes) != len(kinds) or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in sizes):
        return f"{row['key']}: {sizes}"
    found: dict[str, int] = {}
    for kind, size in zip(kinds, sizes):
        name = row["names"][kind.split("+")[-1]]
        if found.setdefault(name, size) != size:
            return f"{row['key']}: layers of {kind.split('+')[-1]} differ"
    return found


def sizes_listed(row: dict[str, Any], values: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    """The list with a size for each layer, in place of the sizes of its kinds."""
    of = {kind: values.pop(name) for kind, name in row.get("names", {}).items()}
    return {row["key"]: [of[kind.split("+")[-1]] for kind in kinds]} if row else {}


def at_ends(ends: dict[str, str], kinds: list[str]) -> list[str]:
    """Layers of which the first or the last one is of a kind of its own."""
    last = len(kinds) - 1
    marks = [ends["first"] if i == 0 and "first" in ends else ends["last"] if i == last and "last" in ends else "" for i in range(len(kinds))]
    return ["+".join(part for part in pair if part) for pair in zip(marks, kinds)]


def state_among(kinds: list[str], row: dict[str, Any], known: list[list[str]]) -> list[str]:
    """The layers that were recorded in place of these: one, or four of one kind, or the first, all that there are, and the last; or more layers of the same kinds with the same ends."""
    state = plain_state(kinds, row)
    others = (k for k in known if len(k) > len(state) > 1 and (k[0], set(k), k[-1]) == (state[0], set(state), state[-1]))
    return state if state in known else next(others, state)


def plain_state(kinds: list[str], row: dict[str, Any]) -> list[str]:
    if len(kinds) == 1:
        return kinds
    ends = row.get("ends", {})
    if ends and "kinds" not in row:
        return at_ends(ends, [""] * 4)
    there = sorted(set(kinds[1:] if ends else kinds))
    return [kinds[0]] * 4 if len(there) == 1 and not ends else [kinds[0], *there, kinds[-1]]
