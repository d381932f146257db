"""Asks other calculators about the published measurements and sets their answers beside vramfit's.

    python3 tools/compare_calculators ask              runs them (each in its own environment) and writes the answers
    python3 tools/compare_calculators tables PROGRAM   writes the tables of docs/accuracy.md and README.md
    python3 tools/compare_calculators tables PROGRAM --check    says whether they are current
"""
from __future__ import annotations

import argparse
import difflib
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import rows  # noqa: E402
import tables  # noqa: E402
import tools  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "tests" / "data" / "calculators.jsonl"


def ask() -> None:
    """One line for each calculator and measured row: what was asked and answered, or why nothing was asked."""
    measured = rows.read(ROOT / "tests" / "data" / "measured.jsonl")
    out: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for tool in tools.TOOLS:
            home = tools.install(tool, Path(scratch))
            answered: dict[str, dict[str, Any]] = {}  # many rows are the same question
            for row in measured:
                asked = tool.question(row)
                if asked.refused:
                    out.append({"row": row.name, "tool": tool.name, "skipped": asked.refused})
                    continue
                if asked.text not in answered:
                    answered[asked.text] = tool.answer(asked, row, home)
                out.append({"row": row.name, "tool": tool.name, "asked": asked.text, **answered[asked.text]})
            print(f"{tool.name} {tool.version}: {len(answered)} questions", file=sys.stderr)
    ANSWERS.write_text("".join(json.dumps(line) + "\n" for line in out))


def write(program: Path, check: bool) -> int:
    """The pages with their tables, or the difference of what stands there."""
    answers = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    asked = {line["row"] for line in answers if "bytes" in line}
    measured = [row for row in rows.read(ROOT / "tests" / "data" / "measured.jsonl") if row.name in asked]
    with ThreadPoolExecutor(2) as pool:
        own = dict(zip((row.name for row in measured), pool.map(lambda row: rows.predict(program, row), measured)))
    found = tables.Found(measured, answers, own)
    stale = 0
    for path, table in ((ROOT / "docs" / "accuracy.md", tables.page(found)), (ROOT / "README.md", tables.extract(found))):
        old = path.read_text()
        new = tables.between_marks(old, table)
        if check and new != old:
            stale += 1
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"{path}", "now"))
        elif new != old:
            path.write_text(new)
    return 1 if stale else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("ask")
    text = commands.add_parser("tables")
    text.add_argument("program", type=Path)
    text.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "ask":
        ask()
        return 0
    return write(arguments.program.resolve(), arguments.check)


sys.exit(main())
