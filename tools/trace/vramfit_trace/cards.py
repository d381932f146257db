"""The cards that the runtime without a device can pretend to be."""
from __future__ import annotations

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Card:
    """A device as the driver reports it; `free` is what a process can take in all (round figures, not measured)."""

    name: str
    major: int
    minor: int
    multiprocessors: int
    total: int
    free: int

    def text(self) -> str:
        """The form in which a job and the runtime's environment name a card that is in no list."""
        return ",".join(map(str, astuple(self)))


CARDS: dict[str, Card] = {
    "a100": Card("NVIDIA A100-SXM4-80GB", 8, 0, 108, 85094825984, 84546945024),
    "h100": Card("NVIDIA H100 80GB HBM3", 9, 0, 132, 85029158912, 84483571712),
    "rtx3090": Card("NVIDIA GeForce RTX 3090", 8, 6, 82, 25438126080, 25165824000),
    "rtx4090": Card("NVIDIA GeForce RTX 4090", 8, 9, 128, 25386352640, 25165824000),
    "t4": Card("Tesla T4", 7, 5, 40, 15828320256, 15728640000),
    "rtx4080": Card("NVIDIA GeForce RTX 4080", 8, 9, 76, 17171480576, 15569256448),
    "rtx2070": Card("NVIDIA GeForce RTX 2070", 7, 5, 36, 8360755200, 8252293120),
}


def card_named(word: str) -> Card:
    """A card of the list, or one spelled out as NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE."""
    if word in CARDS:
        return CARDS[word]
    fields = word.split(",")
    if len(fields) != 6 or not all(field.isdigit() for field in fields[1:]):
        raise ValueError(f"card {word!r} is none of {', '.join(CARDS)} and not NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE")
    return Card(fields[0], *map(int, fields[1:]))
