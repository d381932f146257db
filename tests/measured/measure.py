#!/usr/bin/env python3
"""Measures jobs on a real GPU with the real libraries, and compares what is stored with vramfit."""
from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools" / "trace")]

import driver  # noqa: E402
import figures  # noqa: E402
import matrix  # noqa: E402
from vramfit_trace.data import compact  # noqa: E402
from vramfit_trace.job import Job, JobError, read_job  # noqa: E402
from vramfit_trace.tracing import TraceError, Tracer  # noqa: E402


class Folder:
    """Files of a series: NAME.job.json, then NAME.row.json or NAME.failed.txt; NAME.log and NAME.pickle beside them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, name: str, kind: str) -> Path:
        return self.path / f"{name}.{kind}"

    def names(self, kind: str) -> list[str]:
        return sorted(path.name.removesuffix(f".{kind}") for path in self.path.glob(f"*.{kind}"))

    def put(self, name: str, kind: str, text: str) -> None:
        """Whole or not at all, so that an interrupted series can go on."""
        new = self.file(name, "new")
        new.write_text(text)
        new.rename(self.file(name, kind))

    def rows(self) -> Iterator[dict[str, Any]]:
        for name in self.names("row.json"):
            yield json.loads(self.file(name, "row.json").read_text())


class Series:
    """Runs what has no row yet, each job in a process of its own; `together` of them at a time."""

    def __init__(self, folder: Folder, tracer: Any, history: bool = False, watch: Any = driver.watched, together: int = 1) -> None:
        self.folder = folder
        self.tracer = tracer
        self.history = history
        self.watch = watch
        self.together = together

    def waiting(self) -> list[str]:
        done = {*self.folder.names("row.json"), *self.folder.names("failed.txt")}
        return [name for name in self.folder.names("job.json") if name not in done]

    def measure(self, name: str) -> dict[str, Any]:
        """The row of a job: its trace, the limit it ran under and what the driver said."""
        text = self.folder.file(name, "job.json").read_text()
        job: Job = {**read_job(text), "name": name}
        limit = job["device"]["free_bytes"]
        options = ["--limit", str(limit)] if limit else []
        options += ["--snapshot", str(self.folder.file(name, "pickle").resolve())] if self.history else []
        log = self.folder.file(name, "log")
        if self.together > 1:  # the driver's figures would be those of all
            row = self.tracer.trace(job, log=log, options=options)
            return {**{key: value for key, value in row.items() if key != "driver"}, "limit": limit}
        with self.watch() as seen:
            row = self.tracer.trace(job, log=log, options=options)
        return {**row, "limit": limit, "driver": {**row.get("driver", {}), **seen}}

    def finish(self, name: str) -> str:
        """Measures a job, keeps its row or why there is none, and says in a line how it went."""
        try:
            row = self.measure(name)
        except (JobError, TraceError) as error:
            self.folder.put(name, "failed.txt", f"{type(error).__name__}: {error}\n")
            return f"{name}: {str(error).splitlines()[-1]}"
        self.folder.put(name, "row.json", json.dumps(row))
        return f"{name}: {outcome_text(row)}, {row['seconds']} s"

    def run(self, until: float) -> bool:
        """Measures until all is done or the time is up; whether all is done."""
        waiting = self.waiting()

        def finish_in_time(name: str) -> bool:
            if time.monotonic() >= until:
                return False
            print(self.finish(name), file=sys.stderr, flush=True)
            return True

        with ThreadPoolExecutor(self.together) as pool:
            left = [*pool.map(finish_in_time, waiting)].count(False)
        if left:
            print(f"time is up: {left} of {len(waiting)} jobs wait for another call", file=sys.stderr)
        return not left


def outcome_text(row: dict[str, Any]) -> str:
    said = row["outcome"]
    if "refused" in said:
        return f"refused ({said['refused']})"
    return f"out of memory in {said['oom']['window']}" if said["oom"] else "ran"


def published(row: dict[str, Any]) -> dict[str, Any]:
    """A line of tests/data/measured.jsonl, which docs/accuracy.md is made of."""
    quantities = {} if row["outcome"]["oom"] else figures.quantities(row)
    return {"source": f"vramfit on {row['device']['name']}", "commit": " ".join(f"{k} {v}" for k, v in row["versions"].items()),
            "name": row["job"]["name"], "job": figures.question(row), "ran": not row["outcome"]["oom"],
            "expected": [[name, value, value, value] for name, value in quantities.items()]}


def write_matrix(flags: argparse.Namespace) -> int:
    """Writes the job files of the matrix; with --vramfit also those near the capacity that it predicts."""
    flags.folder.mkdir(parents=True, exist_ok=True)
    jobs = list(matrix.jobs())
    for name, change in matrix.NEAR.items() if flags.vramfit else ():
        asked = {**matrix.merged(matrix.BASE, change), "card": flags.card}
        found = figures.predicted(flags.vramfit, asked)["quantities"]
        jobs += matrix.near_capacity(name, found["allocated_peak"], found["reserved_peak"])
    for job in jobs:
        Folder(flags.folder).put(job["name"], "job.json", json.dumps(job, indent=1))
    print(f"{len(jobs)} jobs", file=sys.stderr)
    return 0


def run(flags: argparse.Namespace) -> int:
    """Measures every job of the folder that has no row yet; a second call goes on."""
    tracer = Tracer(flags.python, not flags.pretend, time_limit=60 * flags.job_minutes)
    return 0 if Series(Folder(flags.folder), tracer, flags.history, together=flags.together).run(time.monotonic() + 60 * flags.minutes) else 1


def chosen(flags: argparse.Namespace) -> Iterable[dict[str, Any]]:
    for folder in flags.folders:
        yield from Folder(folder).rows()


def compare(flags: argparse.Namespace) -> int:
    """Compares stored rows with vramfit: every quantity, every window, every verdict; the worst first."""
    text, right = figures.report(chosen(flags), flags.vramfit, flags.worst)
    print(text)
    return 0 if right else 1


def publish(flags: argparse.Namespace) -> int:
    """Prints stored rows as lines of tests/data/measured.jsonl, or of measured_windows.jsonl."""
    for row in chosen(flags):
        if "refused" in row["outcome"]:
            continue
        if flags.windows:
            print(json.dumps(compact(row["job"]["name"], {**row, "job": figures.question(row)}), separators=(",", ":")))
        else:
            print(json.dumps(published(row)))
    return 0


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="measure.py", description=__doc__)
    commands = out.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("matrix", help="write the job files", description=write_matrix.__doc__)
    one.add_argument("folder", type=Path)
    one.add_argument("--vramfit", help="the program, to know where capacities begin to matter")
    one.add_argument("--card", default="a100", help="the card that will be measured, as the tracer names it (default: %(default)s)")
    one.set_defaults(command=write_matrix)

    two = commands.add_parser("run", help="measure", description=run.__doc__)
    two.add_argument("folder", type=Path, help="has NAME.job.json; gets NAME.row.json, or NAME.failed.txt")
    two.add_argument("--python", default=sys.executable, help="the Python that has the libraries (default: this one)")
    two.add_argument("--minutes", type=float, default=60.0, help="no job begins after them (default: %(default)g)")
    two.add_argument("--job-minutes", type=float, default=10.0, help="the most that one job may take (default: %(default)g)")
    two.add_argument("--together", type=int, default=1,
                     help="jobs at a time (default: %(default)d); with more than one, rows have no figures of the driver")
    two.add_argument("--history", action="store_true", help="keep the allocator's own history: NAME.pickle, for pytorch.org/memory_viz")
    two.add_argument("--pretend", action="store_true", help="no GPU: on the tracer's runtime without a device")
    two.set_defaults(command=run)

    three = commands.add_parser("compare", help="compare rows with vramfit", description=compare.__doc__)
    three.add_argument("folders", type=Path, nargs="+", metavar="folder")
    three.add_argument("--vramfit", default="vramfit", help="the program (default: the one on the PATH)")
    three.add_argument("--worst", type=int, default=20, help="how many differing figures to print (default: %(default)d)")
    three.set_defaults(command=compare)

    four = commands.add_parser("publish", help="print rows for the accuracy page", description=publish.__doc__)
    four.add_argument("folders", type=Path, nargs="+", metavar="folder")
    four.add_argument("--windows", action="store_true", help="every window, as lines of tests/data/measured_windows.jsonl")
    four.set_defaults(command=publish)
    return out


def main() -> int:
    flags = parser().parse_args()
    return int(flags.command(flags))


if __name__ == "__main__":
    sys.exit(main())
