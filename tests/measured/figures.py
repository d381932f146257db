"""Measured rows beside predictions: every quantity's error, every outcome, and the project's bars."""
from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "trace"))

from vramfit_trace import compare as windows  # noqa: E402
from vramfit_trace import prediction  # noqa: E402

#: The windows of a phase of the last step; quantities of docs/reference/prediction.schema.json.
PHASES = {"phase.load": r"load|prepare", "phase.forward": r"STEP(embedding|forward\.\d+|head)",
          "phase.backward": r"STEPbackward\..*", "phase.optimizer": r"STEPoptimizer"}


def quantities(row: dict[str, Any]) -> dict[str, int]:
    """What a row measured, by the names of `vramfit predict --format json`."""
    out = {"allocated_peak": max(w["allocated"]["peak"] for w in row["windows"]),
           "reserved_peak": max(w["reserved"]["peak"] for w in row["windows"])}
    step = rf"step{row['job']['loop']['steps'] - 1}\.(micro\d+\.)?"
    for name, pattern in PHASES.items():
        peaks = [w["allocated"]["peak"] for w in row["windows"] if re.fullmatch(pattern.replace("STEP", step), w["name"])]
        if peaks:
            out[name] = max(peaks)
    for instant, reading in row["readings"].items():  # the tracer counts steps from 0, quantities from 1
        name = re.sub(r"^step(\d+)", lambda found: f"step{int(found[1]) + 1}", instant)
        out |= {name: reading["allocated"], f"{name}.reserved": reading["reserved"], f"{name}.peak": reading["peak"]}
    driver = row.get("driver", {})
    if "used_peak" in driver:
        out["process_peak"] = driver["used_peak"] - driver["used_before"]
    elif "process_peak" in driver:
        out["process_peak"] = driver["process_peak"]
    return out


def question(row: dict[str, Any]) -> dict[str, Any]:
    """The row's job on the card on which it was measured, under the limit that it had."""
    if "device" not in row:  # refused by the libraries
        return row["job"]
    card = row["device"]
    free = min(card["free"], row.get("limit") or card["free"])
    words = [card["name"].replace(",", " "), *card["capability"].split("."), card["multiprocessors"], card["total"], free]
    job = {key: value for key, value in row["job"].items() if key != "device"}
    return {**job, "stack": stack(row["versions"]), "card": ",".join(map(str, words))}


def stack(versions: dict[str, str]) -> dict[str, str]:
    """The versions that a job can name."""
    return {name: versions[name] for name in ("torch", "transformers", "peft", "bitsandbytes", "accelerate", "trl") if name in versions}


def predicted(program: str, job: dict[str, Any]) -> dict[str, Any]:
    """`vramfit predict`, or {"refused": why}."""
    done = subprocess.run([program, "predict", "--job", "-", "--format", "json"], input=json.dumps(job), capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode in prediction.ANSWERED else {"refused": " ".join(done.stderr.split())}


@dataclass
class Figure:
    """A quantity of a job, measured and predicted."""

    job: str
    quantity: str
    measured: int
    predicted: int

    @property
    def percent(self) -> float:
        return 100.0 * (self.predicted - self.measured) / self.measured


@dataclass
class Outcomes:
    """Verdicts beside what happened."""

    ran: int = 0
    too_large: list[str] = field(default_factory=list)  # verdict of jobs that ran
    failed: int = 0
    fits: list[str] = field(default_factory=list)  # verdict of jobs that ran out of memory
    elsewhere: list[str] = field(default_factory=list)  # both out of memory, in different windows
    refused: list[str] = field(default_factory=list)


def judge(row: dict[str, Any], answer: dict[str, Any], out: Outcomes) -> bool:
    """Notes the outcome; whether levels can be compared."""
    name, happened = row["job"]["name"], row["outcome"]
    if "refused" in happened or "refused" in answer:
        out.refused.append(f"{name}: measured: {happened.get('refused', 'ran')}; vramfit: {answer.get('refused', 'answered')}")
        return False
    too_large = answer["verdict"] == "too_large"
    if not happened["oom"]:
        out.ran += 1
        out.too_large += [name] * too_large
        return not too_large
    out.failed += 1
    if not too_large:
        out.fits.append(name)
    elif answer["out_of_memory"]["window"] != happened["oom"]["window"]:
        out.elsewhere.append(f"{name}: in {happened['oom']['window']}, predicted in {answer['out_of_memory']['window']}")
    return False


def figures_of(row: dict[str, Any], answer: dict[str, Any]) -> list[Figure]:
    # Under a limit the card has less that is free, but its context is no larger.
    context = row["device"]["total"] - row["device"]["free"]
    ours = {**answer["quantities"], "process_peak": answer["quantities"].get("reserved_peak", 0) + context}
    return [Figure(row["job"]["name"], quantity, measured, ours[quantity])
            for quantity, measured in quantities(row).items() if measured and quantity in ours]


def summary(found: Iterable[Figure]) -> list[str]:
    """One line a quantity: how many are equal, the median and the worst error."""
    by: dict[str, list[Figure]] = {}
    for figure in found:
        by.setdefault(figure.quantity, []).append(figure)
    lines = [f"{'quantity':32} {'rows':>5} {'equal':>5} {'median %':>9} {'worst %':>9}"]
    for quantity, rows in sorted(by.items()):
        errors = [abs(row.percent) for row in rows]
        worst = max(rows, key=lambda row: abs(row.percent))
        equal = sum(row.measured == row.predicted for row in rows)
        lines.append(f"{quantity:32} {len(rows):5} {equal:5} {statistics.median(errors):9.4f} {worst.percent:+9.4f}  {worst.job}")
    return lines


def report(rows: Iterable[dict[str, Any]], program: str, worst: int) -> tuple[str, bool]:
    """The text of `compare`, and whether every verdict is right."""
    outcomes, found, equal, total = Outcomes(), [], dict.fromkeys(windows.LEVELS, 0), 0
    for row in rows:
        job = question(row)
        answer = predicted(program, job)
        if not judge(row, answer, outcomes):
            continue
        found += figures_of(row, answer)
        compared = windows.compare(row, prediction.timeline(program, job))
        total += compared.windows
        for level in windows.LEVELS:
            equal[level] += compared.equal[level]
    lines = summary(found)
    lines += [f"windows equal: {level} {count} of {total}" for level, count in equal.items()]
    lines += [f"fits, but ran out of memory: {len(outcomes.fits)} of {outcomes.failed} {' '.join(outcomes.fits)}".rstrip(),
              f"too large, but ran: {len(outcomes.too_large)} of {outcomes.ran} {' '.join(outcomes.too_large)}".rstrip()]
    lines += [f"out of memory elsewhere: {text}" for text in outcomes.elsewhere]
    lines += [f"refused: {text}" for text in outcomes.refused]
    differing = sorted((figure for figure in found if figure.percent), key=lambda figure: -abs(figure.percent))
    lines += [f"{figure.percent:+9.4f} %  {figure.quantity:24} {figure.job}" for figure in differing[:worst]]
    return "\n".join(lines), not (outcomes.fits or outcomes.too_large)
