"""The cards that the runtime without a device can pretend to be."""
from __future__ import annotations

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Card:
    """A device as the driver reports it; `free` is what a process can take in all (round figures, not measured), `l2` its L2 cache."""

    name: str
    major: int
    minor: int
    multiprocessors: int
    total: int
    free: int
    l2: int = 50 << 20

    def text(self) -> str:
        """The form in which a job and the runtime's environment name a card that is in no list."""
        return ",".join(map(str, astuple(self)))


CARDS: dict[str, Card] = {
    "a100": Card("NVIDIA A100-SXM4-80GB", 8, 0, 108, 85094825984, 84546945024, 40 << 20),
    "h100": Card("NVIDIA H100 80GB HBM3", 9, 0, 132, 85029158912, 84483571712, 50 << 20),
    "rtx3090": Card("NVIDIA GeForce RTX 3090", 8, 6, 82, 25438126080, 25165824000, 6 << 20),
    "rtx4090": Card("NVIDIA GeForce RTX 4090", 8, 9, 128, 25386352640, 25165824000, 72 << 20),
    "t4": Card("Tesla T4", 7, 5, 40, 15828320256, 15728640000, 4 << 20),
    "rtx4080": Card("NVIDIA GeForce RTX 4080", 8, 9, 76, 17171480576, 15569256448, 64 << 20),
    "rtx2070": Card("NVIDIA GeForce RTX 2070", 7, 5, 36, 8360755200, 8252293120, 4 << 20),
}


def card_named(word: str) -> Card:
    """A card of the list, or one spelled out as NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE and, if given, its L2 cache."""
    if word in CARDS:
        return CARDS[word]
    fields = word.split(",")
    if len(fields) not in (6, 7) or not all(field.isdigit() for field in fields[1:]):
        raise ValueError(f"card {word!r} is none of {', '.join(CARDS)} and not NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE[,L2]")
    return Card(fields[0], *map(int, fields[1:]))
