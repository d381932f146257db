"""Sizes as expressions: numbers of the same place in several passes, as one formula of batch B and length S.

Also the numbers that a network reads off shapes: they report what they are compared with, since that decides which way the code takes.
"""
from __future__ import annotations

from fractions import Fraction
from typing import Any, Callable

import torch


class Number(int):
    """A number that was read off a shape, or was computed from one."""
    report: Callable[[str, int, int, bool], None] | None = None

    def __hash__(self) -> int:
        return int.__hash__(self)


def _compare(name: str, sign: str) -> None:
    plain = getattr(int, name)

    def compare(self: Number, other: Any) -> Any:
        answer = plain(self, other)
        if Number.report is not None and answer is not NotImplemented and not isinstance(other, bool):
            Number.report(sign, int(self), int(other), answer)
        return answer
    setattr(Number, name, compare)


def _compute(name: str) -> None:
    plain = getattr(int, name)

    def compute(self: Number, *others: Any) -> Any:
        answer = plain(self, *others)
        return Number(answer) if type(answer) is int else answer
    setattr(Number, name, compute)


for _name, _sign in (("__lt__", "<"), ("__le__", "<="), ("__gt__", ">"), ("__ge__", ">="), ("__eq__", "=="), ("__ne__", "!=")):
    _compare(_name, _sign)
for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "mod", "rmod", "neg"):
    _compute(f"__{_name}__")


def shape_of(t: torch.Tensor) -> torch.Size:
    return torch.Size([Number(n) for n in t.shape])


#: What sizes are made of, simplest first.
MONOMIALS: list[tuple[str, Callable[[int, int], int]]] = [
    ("B", lambda b, s: b), ("S", lambda b, s: s), ("B*S", lambda b, s: b * s), ("S*S", lambda b, s: s * s), ("B*S*S", lambda b, s: b * s * s),
    ("B*B", lambda b, s: b * b)]
QUOTIENTS = (2, 4, 8, 16, 32, 64, 128, 256)


def _text(slope: int, monomial: str, constant: int) -> str:
    text = monomial if slope == 1 else f"-{monomial}" if slope == -1 else f"{slope}*{monomial}"
    return text if constant == 0 else f"{text}{constant:+d}"


def fit(numbers: list[int], points: list[tuple[int, int]]) -> int | str | None:
    """A plain number, a formula, or None where there is none. With three points each formula is checked by one more than it needs."""
    if len(set(numbers)) == 1:
        return numbers[0]
    found = None
    for name, value in MONOMIALS:
        terms = [value(*p) for p in points]
        pairs = [(i, j) for i in range(len(terms)) for j in range(i) if terms[i] != terms[j]]
        if not pairs:
            continue
        i, j = pairs[0]
        slope = Fraction(numbers[i] - numbers[j], terms[i] - terms[j])
        constant = numbers[i] - slope * terms[i]
        if slope.denominator == 1 and slope and all(slope * t + constant == n for t, n in zip(terms, numbers)):
            if constant == 0:
                return _text(int(slope), name, 0)
            found = found or _text(int(slope), name, int(constant))
    if found:
        return found
    lengths = [s for _, s in points]
    for divisor in QUOTIENTS:
        parts = [s // divisor for s in lengths]
        if parts[0] and (numbers[0] - lengths[0]) % parts[0] == 0:
            times = (numbers[0] - lengths[0]) // parts[0]
            if times > 0 and all(s + times * p == n for s, p, n in zip(lengths, parts, numbers)):
                return f"S+{times}*(S//{divisor})" if times != 1 else f"S+S//{divisor}"
    for divisor in QUOTIENTS:
        for up in (0, divisor - 1):
            for name, value in (("S", lambda b, s: s), ("B*S", lambda b, s: b * s)):
                terms = [(value(*p) + up) // divisor for p in points]
                text = f"({name}+{up})//{divisor}" if up else f"{name}//{divisor}"
                for factor_name, factor in (("", 1), ("B*", None)):
                    there = [t * (p[0] if factor is None else 1) for t, p in zip(terms, points)]
                    if there[0] and numbers[0] % there[0] == 0:
                        times = numbers[0] // there[0]
                        if all(t * times == n for t, n in zip(there, numbers)):
                            return f"{times}*{factor_name}({text})" if times != 1 else f"{factor_name}({text})"
                if all(n - t == numbers[0] - terms[0] for t, n in zip(terms, numbers)):
                    return f"({text}){numbers[0] - terms[0]:+d}"
                rests = [(-value(*p)) % divisor for p in points]
                if rests == numbers:
                    return f"-{name}%{divisor}"
    return None
