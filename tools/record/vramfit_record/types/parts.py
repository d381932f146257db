"""Configurations that have parts, of text and of images, as one: what stands before the names of a part's keys tells them apart."""
from __future__ import annotations

from typing import Any

from .known import OF_TEXT

#: Each part's key and what stands before its own; "" is what stands beside the parts.
Parts = dict[str, str]


def nested(parts: Parts, values: dict[str, Any]) -> dict[str, Any]:
    """As a config.json says it."""
    made: dict[str, Any] = {part: {} for part in parts if part}
    for name, value in values.items():
        part, prefix = part_of(parts, name)
        (made[part] if part else made)[name[len(prefix):]] = value
    return made


def type_of(config: dict[str, Any]) -> str:
    """Which type a config.json is of: of a whole whose text part may be of several types, by that part's."""
    name = f"{config['model_type']}_{(config.get('text_config') or {}).get('model_type')}"
    return name if name in OF_TEXT else config["model_type"]


def part_of(parts: Parts, name: str) -> tuple[str, str]:
    """The part that a key is of, and what stands before its name."""
    found = max((prefix for prefix in parts.values() if name.startswith(prefix)), key=len)
    return next(part for part, prefix in parts.items() if prefix == found), found


def flattened(parts: Parts, given: dict[str, Any]) -> dict[str, Any]:
    """A config.json as its keys are called in a type."""
    made: dict[str, Any] = {}
    for part, prefix in parts.items():
        own = given.get(part) or {} if part else {k: v for k, v in given.items() if k not in parts}
        made |= {f"{prefix}{k}": v for k, v in own.items()}
    return made
