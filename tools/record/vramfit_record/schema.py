"""The part of JSON Schema that docs/reference/network.schema.json uses, as does network-type.schema.json; objects whose properties are listed have no others."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "reference"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def read(name: str = "network") -> Any:
    return json.loads((FOLDER / f"{name}.schema.json").read_text())


def errors(value: Any, schema: Any, place: str = "") -> list[str]:
    """What is wrong, a line each with its place."""
    if "const" in schema and value != schema["const"]:
        return [f"{place}: is {value!r}, not {schema['const']!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place}: {value!r} is none of {schema['enum']}"]
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or kind != "boolean" and isinstance(value, bool)):
        return [f"{place}: no {kind}"]
    found = []
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{place}: below {schema['minimum']}")
    if kind == "array" and "items" in schema:
        for i, item in enumerate(value):
            found += errors(item, schema["items"], f"{place}[{i}]")
    if kind == "object":
        found += [f"{place}: {name} is missing" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            if name in schema.get("properties", {}):
                found += errors(item, schema["properties"][name], f"{place}.{name}")
            elif "additionalProperties" in schema:
                found += errors(item, schema["additionalProperties"], f"{place}.{name}")
            elif "properties" in schema:
                found.append(f"{place}: {name} is no key")
    return found
