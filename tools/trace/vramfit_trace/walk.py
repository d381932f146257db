"""A random walk over the space of jobs: each is traced and compared; what is done is not done again."""
from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .compare import LEVELS, compare
from .families import Family
from .forks import Forks
from .job import WITHOUT_THREADS, JobError, complete
from .prediction import UNSUPPORTED, PredictionError, timeline
from .space import draw
from .space_evaluation import evaluated
from .space_preferences import preferring
from .tracing import TraceError


@dataclass(frozen=True)
class Walk:
    """Files in `folder`: NAME.job.json, NAME.trace.json or NAME.failed.txt, NAME.log."""

    folder: Path
    tracer: Forks
    program: str
    only_supported: bool = False  # leave out jobs of which vramfit says that it does not support them
    only_stored: bool = False  # trace nothing

    def is_wanted(self, job: dict[str, Any]) -> bool:
        """Whether the job is worth the time of a trace."""
        if (self.folder / job["name"]).with_suffix(".trace.json").exists():
            return True
        if self.only_stored:
            return False
        return not self.only_supported or timeline(self.program, job).get("status") != UNSUPPORTED

    def trace(self, job: dict[str, Any]) -> dict[str, Any] | None:
        """The stored trace, or a new one; None if there is none to be had."""
        stem = self.folder / job["name"]
        out, failed = stem.with_suffix(".trace.json"), stem.with_suffix(".failed.txt")
        if out.exists():
            return json.loads(out.read_text())
        if failed.exists():
            return None
        stem.with_suffix(".job.json").write_text(json.dumps(job, indent=1))
        try:
            found = self.tracer.trace(complete(job), log=stem.with_suffix(".log"))
        except (TraceError, JobError) as error:
            failed.write_text(f"{type(error).__name__}: {error}\n")
            return None
        new = stem.with_suffix(".new")
        new.write_text(json.dumps(found))
        new.rename(out)  # an interrupted walk leaves no half a trace
        return found

    def compare(self, job: dict[str, Any], trace: dict[str, Any]) -> dict[str, Any]:
        """One row of the table."""
        try:
            row = compare(trace, timeline(self.program, job)).as_json()
        except PredictionError as error:
            row = {"exact": False, "outcome": f"vramfit failed: {error}", "refused": ""}
        return {"name": job["name"], **row}

    def run(self, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rows of all jobs that have a trace."""
        rows = []
        for number, job in enumerate(jobs, 1):
            if not self.is_wanted(job):
                continue
            trace = self.trace(job)
            if trace is None:
                print(f"{number}/{len(jobs)} {job['name']}: no trace", file=sys.stderr, flush=True)
                continue
            rows.append(self.compare(job, trace))
            print(f"{number}/{len(jobs)} {row_text(rows[-1])}", file=sys.stderr, flush=True)
        return rows


def row_text(row: dict[str, Any]) -> str:
    """One line: the job and its first difference."""
    if row["outcome"]:
        return f"{row['name']}: {row['outcome']}"
    if row["refused"]:
        return f"{row['name']}: refused by both ({row['refused']})"
    if row["exact"] and all(row[level] == row["windows"] for level in LEVELS):
        return f"{row['name']}: equal"
    differences = row["differences"]
    level = next(level for level in LEVELS if level in differences)
    return f"{row['name']}: {row['requested']}/{row['allocated']}/{row['reserved']} of {row['windows']}; {differences[level]}"


def summary(rows: list[dict[str, Any]]) -> str:
    """The jobs that differ, then the counts."""
    valid = [row for row in rows if not row["refused"]]
    lines = [row_text(row) for row in rows if not row["exact"]]
    windows = sum(row.get("windows", 0) for row in valid)
    lines.append(f"{sum(row['exact'] for row in valid)} of {len(valid)} valid jobs have every window's requested bytes equal; "
                 f"{len(rows) - len(valid)} more are refused by the libraries")
    lines += [f"{level}: {sum(row.get(level, 0) for row in valid)} of {windows} windows equal" for level in LEVELS]
    return "\n".join(lines)


def jobs_of(seed: int, count: int, stack: str, families: dict[str, Family], models: list[dict[str, Any]], threads: bool = True,
            kinds: list[str] | None = None, sft: bool = False,
            evaluation: str | None = None, preferences: str | None = None) -> list[dict[str, Any]]:
    """The walk's jobs; of families that `models` are of, these are drawn from, with `kinds` each is one of several processes,
    with `evaluation`, which names the argument that asks for it, each evaluates, with `preferences` each is one of that trainer of trl's."""
    environment = {} if threads else {"environment": {WITHOUT_THREADS: "1"}}
    jobs = [{**draw(seed, number, stack, families, models, kinds or []), **environment} for number in range(count)]
    if evaluation:
        jobs = [evaluated(job, random.Random(f"{seed}/{number}/evaluation"), evaluation) for number, job in enumerate(jobs)]
    if preferences:
        return [preferring(job, random.Random(f"{seed}/{number}/preferences"), preferences) for number, job in enumerate(jobs)
                if "load_in_8bit" not in str(job["load"])]
    return [by_trl(job) for job in jobs if "load_in_8bit" not in str(job["load"])] if sft else jobs


def by_trl(job: dict[str, Any]) -> dict[str, Any]:
    """The job with trl's SFTTrainer, whose collator makes the mask; the sampler's order decides how long padded rows of a batch are.

    The number of labels that its loss is told would be the number of int8's outliers as well.
    """
    whole = job["training"]["gradient_accumulation_steps"] == 1 and job["training"]["per_device_train_batch_size"] > 1
    mask = "right_padded" if whole and "padded" in job["batch"]["attention_mask"] else "ones"
    out = {**job, "name": f"{job['name']}-sft", "loop": {"kind": "sft"}, "batch": {**job["batch"], "attention_mask": mask}}
    if "evaluation" in job and job["training"]["per_device_eval_batch_size"] == 1:  # a padded row that stands alone is cut
        out["evaluation"] = {**job["evaluation"], "attention_mask": "ones"}
    return out
