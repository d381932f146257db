"""Starts the worker for a job, on the runtime without a device, with the Python of a stack."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .build import preloaded, runtime_for
from .cards import card_named
from .job import Job, JobError

HERE = Path(__file__).resolve().parent.parent


class TraceError(Exception):
    """The worker ended without a trace."""


def result(status: int, out: Path, said: str) -> dict[str, Any]:
    """The trace that a worker wrote, or why there is none."""
    if status == 2 and not out.exists():
        raise JobError(said.strip().splitlines()[-1])
    if status or not out.exists():
        raise TraceError(f"the worker ended with status {status}: {said[-2000:]}")
    return json.loads(out.read_text())


def variables_of_processes(job: Job) -> dict[str, str]:
    """What a launcher tells one of several processes, each on a machine of its own."""
    processes = job["distributed"]
    if not processes:
        return {}
    return {"RANK": str(processes["rank"]), "WORLD_SIZE": str(processes["world_size"]), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "VRAMFIT_TRACE_DEVICE": processes["events"],
            "TORCH_NCCL_ENABLE_MONITORING": "0", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0", "DS_ACCELERATOR": "cuda"}


def variables_of_unsloth(job: Job) -> dict[str, str]:
    """Unsloth would download a file to be counted."""
    if job["loop"]["kind"] != "unsloth":
        return {}
    return {"UNSLOTH_DISABLE_STATISTICS": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


@dataclass(frozen=True)
class Tracer:
    """How jobs are traced: `python` has the libraries; on a `real` device nothing is pretended."""

    python: str
    real: bool = False
    cache: Path | None = None
    time_limit: float | None = None

    def environment(self, job: Job) -> dict[str, str]:
        """The worker's environment: the job's variables, the card, the runtime in front of CUDA's libraries."""
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        out = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0", **variables_of_unsloth(job), **job["environment"]}
        if self.real and job["distributed"]:
            raise JobError("several processes are traced without a device only")
        if self.real:
            return out
        library = runtime_for(self.python, self.cache)
        out["VRAMFIT_TRACE_RUNTIME"] = str(library)
        out["LD_PRELOAD"] = preloaded(library)
        out["VRAMFIT_TRACE_CARD"] = card_named(job["card"]).text()
        out["TRITON_LIBCUDA_PATH"] = str(library.parent)
        out["TRITON_CACHE_DIR"] = str(library.parent / "triton")
        out["USE_PYTORCH_KERNEL_CACHE"] = "0"  # what the runtime "compiles" must not lie where a real device would find it
        return {**out, **variables_of_processes(job)}

    def trace(self, job: Job, events: bool = False, log: Path | None = None, options: Sequence[str] = ()) -> dict[str, Any]:
        """The trace of a job; `log` takes what the libraries print, `options` are more of the worker's."""
        with tempfile.TemporaryDirectory() as folder:
            job_file, out = Path(folder) / "job.json", Path(folder) / "trace.json"
            job_file.write_text(json.dumps(job))
            command = [self.python, "-m", "vramfit_trace.worker", str(job_file), str(out), *["--events"] * events, *options]
            try:
                done = subprocess.run(command, env=self.environment(job), cwd=folder, capture_output=True, text=True,
                                      timeout=self.time_limit)
            except subprocess.TimeoutExpired:
                raise TraceError(f"not done after {self.time_limit:g} s") from None
            if log:
                log.write_text(done.stdout + done.stderr)
            return result(done.returncode, out, done.stderr)
