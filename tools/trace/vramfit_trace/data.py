"""Traces in the compact form that the project's tests read."""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .compare import compare
from .prediction import prediction, timeline


def compact(name: str, trace: dict[str, Any]) -> dict[str, Any]:
    """Windows as [name, then peak and end of requested, allocated, reserved]; a refused job has its message and none."""
    windows = [[w["name"], w["peak"], w["end"], w["allocated"]["peak"], w["allocated"]["end"], w["reserved"]["peak"],
                w["reserved"]["end"]] for w in trace.get("windows", [])]
    return {"name": name, "job": trace["job"], "outcome": trace["outcome"], "windows": windows}


def shares(name: str, trace: dict[str, Any], prediction: dict[str, Any]) -> dict[str, Any]:
    """The windows of the named peaks as [peak, window, requested, bytes by category, large tensors]; a tensor as [bytes, category,
    module, how many]."""
    windows = {window["name"]: window for window in trace["windows"]}
    peaks = [[peak["name"], peak["window"], window["peak"], window["shares"], window["tensors"]]
             for peak in prediction["peaks"] if (window := windows.get(peak["window"]))]
    return {"name": name, "job": trace["job"], "peaks": peaks}


def labelled(files: Iterable[Path], program: str) -> Iterator[str]:
    """One line for each labelled trace that ran to its end and whose windows all are as vramfit says."""
    for path in sorted(files):
        trace = json.loads(path.read_text())
        if "shares" not in next(iter(trace["windows"]), {}):
            continue
        if not compare(trace, timeline(program, trace["job"])).exact:
            continue
        name = path.name.removesuffix(".json").removesuffix(".trace")
        yield json.dumps(shares(name, trace, prediction(program, trace["job"])), separators=(",", ":"))


def chosen(files: Iterable[Path], stacks: set[str], families: set[str]) -> Iterator[str]:
    """One line for each trace of a stack and family that is wanted (an empty set: all)."""
    for path in sorted(files):
        trace = json.loads(path.read_text())
        job = trace["job"]
        wanted = (not stacks or job.get("stack") in stacks) and (not families or job["model"]["model_type"] in families)
        if wanted:
            name = path.name.removesuffix(".json").removesuffix(".trace")
            yield json.dumps(compact(name, trace), separators=(",", ":"))
