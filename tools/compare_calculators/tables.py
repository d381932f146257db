"""Answers as tables: errors by method, one row for each question, and the three rows of the README."""
from __future__ import annotations

import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rows import Row
from tools import TOOLS

BEGIN, END = "<!-- calculators -->", "<!-- end of calculators -->"
READING = {"process_peak": "process", "reserved_peak": "reserved", "allocated_peak": "allocated"}
METHOD = {"full": "full", "lora": "LoRA", "qlora": "QLoRA"}
NAMES = ("vramfit", *(tool.name for tool in TOOLS))


@dataclass
class Found:
    rows: list[Row]
    answers: list[dict[str, Any]]
    own: dict[str, int | None]

    def __post_init__(self) -> None:
        self.bytes = {(line["tool"], line["row"]): line["bytes"] for line in self.answers if "bytes" in line}
        self.rows = [row for row in self.rows if self.own[row.name]]  # vramfit refuses eight of two GPUs

    def predicted(self, tool: str, row: Row) -> int | None:
        return self.own[row.name] if tool == "vramfit" else self.bytes.get((tool, row.name))

    def error(self, tool: str, row: Row) -> float | None:
        """Signed, in percent of what was measured."""
        value = self.predicted(tool, row)
        return None if value is None else 100 * (value - row.measured) / row.measured


def between_marks(page: str, table: str) -> str:
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{table}{END}", page, flags=re.DOTALL)


def gib(size: int | None) -> str:
    return "" if size is None else f"{size / 2**30:.2f}"


def percent(error: float | None) -> str:
    if error is None:
        return "cannot ask"
    return f"{error:+.1f} %" if abs(error) >= 0.05 else "0.0 %"


def table(head: Iterable[str], align: str, lines: Iterable[Iterable[str]]) -> str:
    rule = ["---" if letter == "l" else "--:" for letter in align]
    return "".join("| " + " | ".join(line) + " |\n" for line in (tuple(head), rule, *lines))


def groups(found: Found) -> dict[tuple[str, str], list[Row]]:
    out: dict[tuple[str, str], list[Row]] = {}
    for row in found.rows:
        out.setdefault((f"{READING[row.reading]}, {'two GPUs' if row.gpus > 1 else 'one GPU'}", METHOD[row.method]), []).append(row)
    return out


def summary(found: Found) -> str:
    """The median of absolute errors and, in brackets, the lowest and the highest error."""
    lines = []
    for (reading, method), rows in groups(found).items():
        cells = []
        for tool in NAMES:
            errors = [error for row in rows if (error := found.error(tool, row)) is not None]
            cells.append(f"{statistics.median(map(abs, errors)):.1f} % ({min(errors):+.1f} to {max(errors):+.1f})" if errors else "cannot ask")
        lines.append((reading, method, str(len(rows)), *cells))
    return table(("reading", "method", "rows", *NAMES), "llr" + "r" * len(NAMES), lines)


def release(row: Row) -> tuple[int, ...]:
    """transformers' release as numbers; rows without one come first."""
    stack = row.job["stack"]
    return tuple(map(int, stack["transformers"].split("."))) if isinstance(stack, dict) else ()


def newest(found: Found) -> list[Row]:
    """One row for each question: that of the newest releases."""
    out: dict[tuple[Any, ...], Row] = {}
    for row in found.rows:
        question = (row.source, row.model, row.method, row.batch, row.length, row.gpus, row.checkpointing, row.prepared)
        if question not in out or release(row) >= release(out[question]):
            out[question] = row
    return list(out.values())


def run(row: Row) -> str:
    words = [row.model.split("/")[1], METHOD[row.method], f"batch {row.batch}", f"length {row.length}"]
    if not row.checkpointing:
        words.append("no checkpointing")
    if row.gpus > 1:
        words.append(f"FSDP on {row.gpus} GPUs")
    if row.method == "qlora" and not row.prepared and row.gpus == 1:
        words.append("without prepare_model_for_kbit_training")
    return ", ".join(words)


def every(found: Found) -> str:
    lines = [(run(row), READING[row.reading], gib(row.measured),
              *(f"{gib(found.predicted(tool, row))} ({percent(found.error(tool, row))})" if found.predicted(tool, row) else "cannot ask"
                for tool in NAMES)) for row in newest(found)]
    return table(("run", "reading", "measured", *NAMES), "llr" + "r" * len(NAMES), lines)


def asked(found: Found) -> str:
    """What each calculator was asked about the README's rows, in its own words."""
    lines = []
    for row in three(found):
        lines.append(f"\n{run(row)}:\n\n```text\n")
        lines += [f"{line['asked']}\n" for line in found.answers if line["row"] == row.name and "asked" in line]
        lines.append("```\n")
    return "".join(lines)


def page(found: Found) -> str:
    return f"{summary(found)}\nSizes in GiB; of rows that differ in releases only, that of the newest:\n\n{every(found)}{asked(found)}"


def three(found: Found) -> list[Row]:
    """The example of canifinetune's own page, and full training and LoRA on an A100 with the newest releases and a batch of 4."""
    rows = newest(found)
    return [next(row for row in rows if "1.5B" in row.model and row.length == 2048),
            *(next(row for row in rows if row.method == method and row.reading == "process_peak" and row.batch == 4)
              for method in ("lora", "full"))]


def extract(found: Found) -> str:
    lines = [(run(row), f"{gib(row.measured)} GiB", *(f"{gib(found.predicted(tool, row))} ({percent(found.error(tool, row))})" for tool in NAMES))
             for row in three(found)]
    one = [row for row in found.rows if row.gpus == 1]
    medians = (statistics.median(abs(found.error(tool, row) or 0.0) for row in one) for tool in NAMES)
    lines.append((f"median error of all {len(one)} runs on one GPU", "", *(f"{median:.{3 if median < 0.05 else 1}f} %" for median in medians)))
    return table(("run", "measured", *NAMES), "lr" + "r" * len(NAMES), lines)
