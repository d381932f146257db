"""Whether a document is a recorded network: what the schema cannot say. Needs nothing but Python."""
from __future__ import annotations

import re
from typing import Any, Iterator

#: Why variants with checkpointing are left out of a document.
NO_CHECKPOINTING = "the class does not support gradient checkpointing"
_SUM = r"[-+*/%()0-9BSa-z_]+"  # of numbers, B, S and keys of the configuration
EXPRESSION = re.compile(f"^={_SUM}$")
CONDITION = re.compile(f"^{_SUM} (<|<=|>|>=|==|!=) {_SUM}$")


def value_of(expression: str, batch: int, length: int, keys: dict[str, int] | None = None) -> int:
    """What a formula is at a batch and a length, and with these keys of the configuration."""
    names = {"B": batch, "S": length, **(keys or {})}
    if not EXPRESSION.match(expression) or not set(re.findall(r"[A-Za-z_]\w*", expression)) <= set(names):
        raise ValueError(f"no formula: {expression}")
    return int(eval(expression[1:], {"__builtins__": {}}, names))  # noqa: S307  only digits, signs and names that are numbers


def words(x: Any, *beginnings: str) -> Iterator[str]:
    """The strings in arguments that begin so."""
    if isinstance(x, str):
        if x.startswith(beginnings):
            yield x
    elif isinstance(x, (list, dict)):
        for y in x.values() if isinstance(x, dict) else x:
            yield from words(y, *beginnings)


def references(x: Any) -> Iterator[str]:
    """Values and parameters."""
    return words(x, "%", "@")


def dtypes(x: Any) -> Iterator[str]:
    """Values whose dtype is meant."""
    return words(x, "!%")


def formulas(x: Any) -> Iterator[str]:
    return words(x, "=")


def given_of(program: dict[str, Any]) -> list[int]:
    """The values that a program is given, each once."""
    return list(dict.fromkeys(row[1] for row in program["inputs"]))


def left_of(program: dict[str, Any]) -> list[int]:
    """The values that it gives back or leaves alive, and has made."""
    given = set(given_of(program))
    back = [int(ref[1:]) for _, ref in program["outputs"] if ref[0] == "%"]
    return [*(v for v in dict.fromkeys(back) if v not in given), *program.get("keeps", [])]


class Check:
    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.programs, self.kinds = document["programs"], document["modules"]
        self.found: list[str] = []
        self.seen: set[tuple[int, int]] = set()

    def run(self) -> list[str]:
        self.symbols = {"B", "S", *self.document["network"].get("varied", [])}
        for i, program in enumerate(self.programs):
            self.lifetimes(i, program)
        for i, kind in enumerate(self.kinds):
            self.found += [f"module {i}: child {name} is module {child}, which is not before it" for name, child in kind.get("children", []) if child >= i]
        if not self.found:
            for variant in self.document["variants"]:
                self.names(variant["program"], self.document["root"])
        return self.found

    def is_formula(self, text: str) -> bool:
        return bool(EXPRESSION.match(text)) and set(re.findall(r"[A-Za-z_]\w*", text)) <= self.symbols

    def lifetimes(self, i: int, program: dict[str, Any]) -> None:
        """A value is used after it is made and before it ends, and all end that are not given back."""
        given = given_of(program)
        alive, ended = set(given), set()
        self.instructions(i, program, program["code"], alive, ended)
        self.end_of(i, program, given, alive, ended)

    def instructions(self, i: int, program: dict[str, Any], code: list[Any], alive: set[int], ended: set[int]) -> None:
        def used(value: int, where: str) -> None:
            if value not in alive:
                self.found.append(f"program {i} ({program['class']}), {where}: value {value} {'has ended' if value in ended else 'is not there'}")

        for at, row in enumerate(code):
            where = f"instruction {at}"
            if row[0] == "repeat":
                self.repeated(i, program, where, row, alive, ended)
            elif row[0] == "call":
                for ref in references(row[2:4]):
                    if ref[0] == "%":
                        used(int(ref[1:]), where)
                for ref in dtypes(row[2:4]):  # those of values that have ended too
                    if int(ref[2:]) not in alive | ended:
                        self.found.append(f"program {i}, {where}: value {ref[2:]} is not there")
                alive |= {r[0] for r in row[4] if isinstance(r[0], int)}
                self.found += [f"program {i}, {where}: {f} is no formula" for f in formulas(row[2:5]) if not self.is_formula(f)]
            elif row[0] == "end":
                for value in row[1]:
                    used(value, where)
                    alive.discard(value)
                    ended.add(value)
            elif row[0] == "if":
                if not CONDITION.match(row[1]):
                    self.found.append(f"program {i}, {where}: {row[1]} is no condition")
            else:
                self.called(i, where, row, used, alive, ended)

    def repeated(self, i: int, program: dict[str, Any], where: str, row: Any, alive: set[int], ended: set[int]) -> None:
        """All rounds but the first leave the same values: what holds for two of them holds for any number."""
        _, count, first, made, begin, following, *kept = row
        own, behind = range(first, first + made), range(first + made, first + 2 * made)
        if isinstance(count, str) and not self.is_formula(count):
            self.found.append(f"program {i}, {where}: {count} is no formula")
        if (alive | ended) & {*own, *behind}:
            self.found.append(f"program {i}, {where}: values of the loop are there before it")
        if any(one[0] not in ("call", "end", "if") for one in [*begin, *following]):
            self.found.append(f"program {i}, {where}: a loop calls programs")
            return
        self.instructions(i, program, begin, alive, ended)
        left = set(alive)
        for _ in range(2):
            self.instructions(i, program, following, alive, ended)
            if staying := alive & set(own) - {v for values in kept for v in values}:
                self.found.append(f"program {i}, {where}: values {sorted(staying)} do not end in the next round")
            for states in (alive, ended):
                now = {v - made for v in states if v in behind}
                states -= {*own, *behind}
                states |= now
            if alive != left:
                self.found.append(f"program {i}, {where}: the rounds of a loop leave different values")

    def end_of(self, i: int, program: dict[str, Any], given: list[int], alive: set[int], ended: set[int]) -> None:
        def used(value: int, where: str) -> None:
            if value not in alive:
                self.found.append(f"program {i} ({program['class']}), {where}: value {value} {'has ended' if value in ended else 'is not there'}")
        kept = {int(ref[1:]) for _, ref in program["outputs"] if ref[0] == "%"} | set(program.get("keeps", []))
        for value in kept:
            used(value, "its end")
        left = alive - kept - set(given)
        if left:
            self.found.append(f"program {i} ({program['class']}): values {sorted(left)} never end")

    def called(self, i: int, where: str, row: list[Any], used: Any, alive: set[int], ended: set[int]) -> None:
        child = row[2]
        if child >= i:
            self.found.append(f"program {i}, {where}: program {child} is not before it")
            return
        for value in row[3]:
            used(value, where)
        if len(row[3]) != len(given_of(self.programs[child])):
            self.found.append(f"program {i}, {where}: program {child} is given {len(row[3])} values in place of {len(given_of(self.programs[child]))}")
        if len(row[4]) != len(left_of(self.programs[child])):
            self.found.append(f"program {i}, {where}: program {child} gives back {len(left_of(self.programs[child]))} values, not {len(row[4])}")
        for place in (row[5] if len(row) > 5 else {}).get("takes", []):
            alive.discard(row[3][place])
            ended.add(row[3][place])
        alive |= set(row[4])

    # Names

    def child(self, kind: int, path: str) -> int | None:
        for name in path.split(".") if path else []:
            found = dict(map(tuple, self.kinds[kind].get("children", []))).get(name)
            if found is None:
                return None
            kind = found
        return kind

    def module(self, kind: int, path: str) -> int | None:
        return self.child(self.document["root"], path[1:]) if path.startswith("/") else self.child(kind, path)

    def names(self, program: int, kind: int) -> None:
        """Modules and parameters that a program names are there."""
        if (program, kind) in self.seen:
            return
        self.seen.add((program, kind))
        code = self.programs[program]["code"]
        for at, row in enumerate([*code, *(one for loop in code if loop[0] == "repeat" for part in loop[4:6] for one in part)]):
            where = f"program {program} ({self.programs[program]['class']}), instruction {at}"
            if row[0] == "call":
                for ref in references(row[2:4]):
                    if ref[0] == "@":
                        path, _, name = ref[1:].rpartition(".")
                        owner = self.module(kind, ("/" if ref[1] == "/" and not path else "") + path)
                        name = name.lstrip("/")
                        rows = [] if owner is None else [*self.kinds[owner].get("parameters", []), *self.kinds[owner].get("buffers", [])]
                        if name not in [r[0] for r in rows]:
                            self.found.append(f"{where}: no parameter {ref[1:]}")
            elif row[0] in ("module", "function", "checkpoint"):
                inner = self.module(kind, row[1]) if row[0] == "module" else kind
                if inner is None:
                    self.found.append(f"{where}: no module {row[1]}")
                else:
                    self.names(row[2], inner)


def problems(document: dict[str, Any]) -> list[str]:
    """What is wrong with it, a line each."""
    return Check(document).run()
