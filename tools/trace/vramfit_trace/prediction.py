"""Asks vramfit for the timeline of a job, and for its peaks."""
from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .job import Job

#: Exit statuses of the program: answered, does not fit (answered too), not understood, not supported.
ANSWERED = (0, 1)
UNSUPPORTED = 3
REFUSED = (2, UNSUPPORTED)
TIME_LIMIT = 300.0


class PredictionError(Exception):
    """The program neither answered nor refused."""


def ask(program: str, arguments: Sequence[str], job: Job) -> dict[str, Any]:
    """The program's JSON, or {"refused": message, "status": 2 or 3}."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "job.json"
        file.write_text(json.dumps(job))
        command = [program, *arguments, "--job", str(file), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    if done.stdout and done.returncode in (*ANSWERED, UNSUPPORTED):  # predict says so of a verdict too: unknown
        return json.loads(done.stdout)
    if done.returncode in REFUSED:
        return {"refused": " ".join(done.stderr.split()), "status": done.returncode}
    raise PredictionError(f"status {done.returncode}: {done.stderr.strip()[-500:]}")


def timeline(program: str, job: Job, events: bool = False) -> dict[str, Any]:
    """The document vramfit.timeline/1."""
    return ask(program, ["timeline", *["--events"] * events], job)


def prediction(program: str, job: Job) -> dict[str, Any]:
    """The document vramfit.prediction/1, with the named peaks."""
    return ask(program, ["predict", "--no-changes"], job)
