#!/usr/bin/env python3
"""Writes the Python module's types: make_types.py PROGRAM [--check]

Answers are dataclasses made from docs/reference/*.schema.json; flags are TypedDicts made from `vramfit generate json`.
With --check nothing is written, and the exit status is 1 if a file is not what it would be.
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCHEMAS = HERE.parents[1] / "docs" / "reference"
PACKAGE = HERE / "python" / "vramfit"
DOCUMENTS = {"prediction": "Prediction", "sweep": "Sweep", "plan": "Plan", "check": "Check", "timeline": "Timeline"}
# Objects with more keys than their schema lists: config.json, job files, versions.
OPEN = {"model", "plan", "stack", "quantities", "device"}
# The rows of a sweep are also there as a table (Sweep.rows).
OTHER_NAMES = {("Sweep", "rows"): "ranking"}
CLASS_NAMES = {
    "worst": "End",
    "best": "End",
    "ends": "Ends",
    "counts": "Counts",
    "answers": "CardAnswer",
    "all_rows": "SpaceRow",
    "rows": "RankedRow",
}
HEAD = '"""{}; written by tools/package/make_types.py."""\n\nfrom __future__ import annotations\n\n'


def class_name(key):
    if key in CLASS_NAMES:
        return CLASS_NAMES[key]
    singular = key[:-1] if key.endswith("s") else key
    return "".join(part.capitalize() for part in singular.split("_"))


def words(values):
    listed = [value for value in values if value is not None]
    text = "Literal[" + ", ".join(json.dumps(value) for value in listed) + "]"
    return text + (" | None" if None in values else "")


class Classes:
    """Dataclasses by name; two objects of the same shape are one class."""

    def __init__(self):
        self.shapes = dict.fromkeys(DOCUMENTS.values())
        self.names = {}
        self.texts = []

    def name_for(self, key, parent, schema):
        shape = re.sub(r'"description": "(\\.|[^"\\])*",? ?', "", json.dumps(schema, sort_keys=True))
        if shape in self.names:
            return self.names[shape], False
        name = class_name(key)
        if name in self.shapes:
            name = parent + name
        if name in self.shapes:
            raise SystemExit(f"{name}: two shapes have this name")
        self.shapes[name] = schema
        self.names[shape] = name
        return name, True

    def field(self, key, schema, parent):
        """The annotation of a field, and a template that makes its value from that of the document."""
        if "const" in schema:
            return "str", "{}"
        if "enum" in schema:
            return words(schema["enum"]), "{}"
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        none = " | None" if "null" in types else ""
        kind = next(each for each in types if each != "null")
        if kind == "array":
            item, make = self.field(key, schema.get("items", {"type": "any"}), parent)
            return f"list[{item}]{none}", "{}" if make == "{}" else "[" + make.format("each") + " for each in {}]"
        if kind == "object":
            if key in OPEN or "properties" not in schema:
                return f"dict[str, Any]{none}", "{}"
            name, new = self.name_for(key, parent, schema)
            if new:
                self.add(name, schema)
            make = f"{name}.from_json({{0}})"
            return name + none, make + " if {0} is not None else None" if none else make
        return {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}.get(kind, "Any") + none, "{}"

    def add(self, name, schema, base=""):
        required, optional, arguments = [], [], []
        for key, value in schema["properties"].items():
            annotation, make = self.field(key, value, name)
            place = OTHER_NAMES.get((name, key), "from_" if key == "from" else key)
            text = value.get("description", "")
            note = f'    """{text[:1].upper()}{text[1:]}"""\n' if text else ""
            if key in schema.get("required", ()):
                required.append(f"    {place}: {annotation}\n{note}")
                arguments.append(f'{place}={make.format(f"""of["{key}"]""")}')
            else:
                annotation = annotation if annotation.endswith("None") else annotation + " | None"
                optional.append(f"    {place}: {annotation} = None\n{note}")
                guarded = f'of.get("{key}")'
                if make != "{}":
                    plain = make.removesuffix(" if {0} is not None else None")
                    guarded = f'{plain.format(f"""of["{key}"]""")} if of.get("{key}") is not None else None'
                arguments.append(f"{place}={guarded}")
        lines = ",\n            ".join(arguments)
        text = schema.get("description", "")
        text = f'    """{text[:1].upper()}{text[1:]}"""\n\n' if text else ""
        self.texts.append(
            f'@dataclass(frozen=True)\nclass {name}{base}:\n{text}{"".join(required + optional)}\n'
            f"    @classmethod\n    def from_json(cls, of: Any) -> {name}:\n        return cls(\n            {lines},\n        )\n"
        )


def documents():
    classes = Classes()
    for file, name in DOCUMENTS.items():
        classes.add(name, json.loads((SCHEMAS / f"{file}.schema.json").read_text()), f"({name}Display)")
    bases = ", ".join(f"{name}Display" for name in sorted(DOCUMENTS.values()))
    head = HEAD.format("The answers as dataclasses, made from the JSON schemas")
    imports = "from dataclasses import dataclass\nfrom typing import Any, Literal\n\n"
    return f"{head}{imports}from ._display import {bases}\n\n\n" + "\n\n".join(classes.texts)


# What the module gives itself, or what has no meaning in it.
ASKED = ("predict", "sweep", "plan", "check", "timeline")
OWN = {"help", "h", "verbose", "format", "output", "quiet", "color", "no_progress", "jobs", "merge", "shard", "map"}


def name_of(flag):
    return max(flag["names"], key=len).lstrip("-").replace("-", "_")


def named(commands, wanted):
    names = {name_of(flag) for command in commands for flag in command["flags"] if wanted(flag) and not flag["positional"]}
    return "frozenset(\n    {\n" + "".join(f'        "{name}",\n' for name in sorted(names - {"help", "h"})) + "    }\n)\n"


def takes_several(flag):
    """Several values are given one by one: each may have commas, or is a pair."""
    return flag["value"] == "CONF" or (flag["repeats"] and flag["value"] in ("KEY", "KEY=VALUE"))


def flag_type(flag):
    value = flag["value"].strip("[]")
    if not value or value == "BOOL":
        return "bool"
    several = flag["repeats"] or value == "LIST" or value.endswith(",...")
    kind = value.split(",")[0].rstrip(".")
    one = {"N": "int", "M": "int", "V": "int", "K": "int", "X": "float", "FILE": "str | PathLike[str]"}.get(kind, "str")
    if kind == "FILE" and flag["names"] == ["--job"]:
        one = "str | PathLike[str] | Mapping[str, Any]"
    if kind == "LIST":
        return "int | str | Sequence[int] | Sequence[str]"
    if flag["words"] and kind not in ("CARD", "MODEL", "STACK", "BOOL") and not several:
        one = words(flag["words"])
        if all(word.isdigit() for word in flag["words"]):
            one += " | int"
    return f"{one} | Sequence[{one}]" if several else one


def flags_of(command, sweep):
    lines = []
    for flag in command["flags"]:
        name = name_of(flag)
        own = name in OWN or (name == "model" and command["name"] != "check")
        if flag["positional"] or not flag["group"] or own:
            continue
        annotation = flag_type(flag)
        if sweep and flag["group"] not in ("Axes", "Ranking", "Constraints", "Parts", "Output", "Model"):
            plain = re.sub(r"Literal\[[^]]*\]", "str", annotation)
            item = " | ".join(dict.fromkeys(part for part in plain.split(" | ") if not part.startswith("Sequence")))
            annotation = f"{item} | Sequence[{item}]"
            if "str" not in item.split(" | "):
                annotation = "str | " + annotation
        lines.append(f'    {name}: {annotation}\n    """{flag["text"]}"""\n')
    return "".join(lines)


def flags(program):
    given = json.loads(subprocess.run([program, "generate", "json"], capture_output=True, check=True).stdout)
    text = HEAD.format("The flags of each command, made from `vramfit generate json`")
    text += "from collections.abc import Mapping, Sequence\nfrom os import PathLike\nfrom typing import Any, Literal, TypedDict\n\n"
    commands = [command for command in given["commands"] if command["name"] in ASKED]
    text += "# Flags without a value.\nSWITCHES = " + named(commands, lambda flag: not flag["value"])
    text += "# Flags of which several values are several flags.\nONE_BY_ONE = " + named(commands, takes_several) + "\n"
    for command in commands:
        body = flags_of(command, command["name"] == "sweep")
        text += f'\nclass {command["name"].capitalize()}Flags(TypedDict, total=False):\n    """Flags of vramfit {command["name"]}."""\n\n{body}\n'
    return text.rstrip("\n") + "\n"


def main():
    program, check = sys.argv[1], "--check" in sys.argv[2:]
    stale = []
    for name, text in (("_documents.py", documents()), ("_flags.py", flags(program))):
        path = PACKAGE / name
        if check and (not path.exists() or path.read_text() != text):
            stale.append(path)
        if not check:
            path.write_text(text)
    for path in stale:
        print(f"{path}: not what the schemas and flags say now; run tools/package/make_types.py PROGRAM")
    sys.exit(1 if stale else 0)


main()
