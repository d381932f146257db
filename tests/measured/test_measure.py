"""The bookkeeping of the measurements, with a stand-in for the libraries: python3 -m unittest discover -s tests/measured."""
from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import driver
import figures
import matrix
import measure
from vramfit_trace.job import complete
from vramfit_trace.tracing import TraceError


def window(name: str, peak: int) -> dict[str, Any]:
    level = {"peak": peak, "end": peak}
    return {"name": name, **level, "allocated": level, "reserved": {"peak": 2 * peak, "end": 2 * peak}}


def trace(job: dict[str, Any], oom: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"schema": "vramfit.trace/1", "job": job, "versions": {"torch": "2.11.0", "triton": "3"}, "seconds": 1.0,
            "device": {"name": "A card", "capability": "8.0", "multiprocessors": 108, "total": 1000, "free": 900},
            "outcome": {"oom": oom, "retries": 0}, "readings": {"step0.after_forward": {"allocated": 5, "reserved": 6, "peak": 7}},
            "driver": {"outside_allocator": 100, "process_peak": 170},
            "windows": [window("load", 10), window("step2.forward.1", 30), window("step2.backward.loss", 40)]}


class Stand_In:
    """Runs jobs like a Tracer: one is out of memory, one ends without a trace."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def trace(self, job: dict[str, Any], log: Path, options: list[str]) -> dict[str, Any]:
        self.asked.append((job["name"], options))
        if job["name"] == "broken":
            raise TraceError("not done after 600 s")
        return trace(job, {"window": "load", "requested": 512, "segment": 2048} if job["name"] == "large" else None)


@contextlib.contextmanager
def watch() -> Iterator[dict[str, Any]]:
    yield {"used_before": 50, "used_peak": 250}


def job(**more: Any) -> str:
    return json.dumps({"schema": "vramfit.job/1", "model": {"model_type": "llama"}, "loop": {"steps": 3}, **more})


class SeriesOfJobs(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = measure.Folder(Path(place.name))
        for name in ("broken", "large", "small"):
            self.folder.put(name, "job.json", job(device={"free_bytes": 700 if name == "large" else None}))
        self.stand_in = Stand_In()

    def run_for(self, seconds: float) -> bool:
        with contextlib.redirect_stderr(io.StringIO()):
            return measure.Series(self.folder, self.stand_in, watch=watch).run(time.monotonic() + seconds)

    def test_every_job_has_a_row_or_a_reason(self) -> None:
        self.assertTrue(self.run_for(60))
        self.assertEqual(self.folder.names("row.json"), ["large", "small"])
        self.assertIn("not done", self.folder.file("broken", "failed.txt").read_text())
        rows = {row["job"]["name"]: row for row in self.folder.rows()}
        self.assertEqual(rows["large"]["outcome"]["oom"]["window"], "load")
        self.assertEqual((rows["large"]["limit"], rows["small"]["limit"]), (700, None))
        self.assertEqual(rows["small"]["driver"]["used_peak"], 250)
        self.assertEqual(dict(self.stand_in.asked)["large"], ["--limit", "700"])

    def test_a_second_call_goes_on(self) -> None:
        self.folder.put("large", "row.json", "{}")
        self.run_for(60)
        self.run_for(60)
        self.assertEqual([name for name, _ in self.stand_in.asked], ["broken", "small"])

    def test_no_job_begins_when_the_time_is_up(self) -> None:
        self.assertFalse(self.run_for(0))
        self.assertEqual(self.stand_in.asked, [])


class Figures(unittest.TestCase):
    ROW = {**trace(complete(json.loads(job(name="x")))), "limit": 700}

    def test_quantities_have_the_programs_names(self) -> None:
        found = figures.quantities(self.ROW)
        self.assertEqual((found["allocated_peak"], found["reserved_peak"], found["process_peak"]), (40, 80, 170))
        self.assertEqual((found["phase.load"], found["phase.forward"], found["phase.backward"]), (10, 30, 40))
        self.assertNotIn("phase.optimizer", found)
        self.assertEqual(found["step1.after_forward.reserved"], 6)
        watched = {**self.ROW, "driver": {"process_peak": 170, "used_before": 50, "used_peak": 250}}
        self.assertEqual(figures.quantities(watched)["process_peak"], 200)

    def test_the_question_is_asked_for_the_card_and_its_limit(self) -> None:
        asked = figures.question(self.ROW)
        self.assertEqual((asked["card"], asked["stack"]), ("A card,8,0,108,1000,700", {"torch": "2.11.0"}))
        self.assertNotIn("device", asked)
        refused = {"job": self.ROW["job"], "outcome": {"refused": "no kernel"}}
        self.assertEqual(figures.question(refused), self.ROW["job"])

    def test_a_limit_makes_no_context(self) -> None:
        found = {figure.quantity: figure for figure in figures.figures_of(self.ROW, {"quantities": {"reserved_peak": 80, "process_peak": 380}})}
        self.assertEqual((found["process_peak"].predicted, found["process_peak"].measured), (180, 170))

    def test_outcomes(self) -> None:
        out = figures.Outcomes()
        gone = {**self.ROW, "outcome": {"oom": {"window": "load"}, "retries": 0}}
        no = {"verdict": "too_large", "out_of_memory": {"window": "step0.head"}}
        self.assertTrue(figures.judge(self.ROW, {"verdict": "fits"}, out))
        for row, answer in ((gone, {"verdict": "fits"}), (gone, no), (self.ROW, no), (self.ROW, {"refused": "unsupported"})):
            self.assertFalse(figures.judge(row, answer, out))
        self.assertEqual((out.ran, out.failed, len(out.fits), len(out.too_large), len(out.elsewhere), len(out.refused)), (2, 2, 1, 1, 1, 1))

    def test_lines_for_the_accuracy_page(self) -> None:
        line = measure.published(self.ROW)
        self.assertIn(["allocated_peak", 40, 40, 40], line["expected"])
        self.assertTrue(line["ran"])

    def test_the_drivers_figures(self) -> None:
        found = driver.figures("10, 570.1, H100\n", "12, 570.1, H100\n900, 570.1, H100\n7")
        self.assertEqual((found["used_before"], found["used_peak"], found["samples"]), (10 * 2**20, 900 * 2**20, 2))
        self.assertEqual(driver.figures("", "garbage"), {})


class Matrix(unittest.TestCase):
    def test_jobs_are_well_formed_and_have_names_of_their_own(self) -> None:
        jobs = [*matrix.jobs(), *matrix.near_capacity("full", 10**9, 2 * 10**9)]
        self.assertEqual(len({job["name"] for job in jobs}), len(jobs))
        for one in jobs:
            complete(one)

    def test_limits_lie_around_the_peaks(self) -> None:
        limits = [job["device"]["free_bytes"] for job in matrix.near_capacity("full", 1000, 2000)]
        self.assertEqual(limits, [980, 1000, 1250, 1500, 1750, 2000, 2040])


if __name__ == "__main__":
    unittest.main()
