"""Traces many jobs: for each card one process imports the libraries, and each job runs in a forked copy of it."""
from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .job import WITHOUT_THREADS, Job
from .tracing import TraceError, Tracer, result, variables_of_processes


def needs_process(job: Job) -> bool:
    """Whether the libraries have to be imported for this job: they read the environment, and look for packages, then; Unsloth asks whether there are other processes."""
    if job["loop"]["kind"] == "unsloth" and job["distributed"]:
        return True
    return bool(set(job["environment"]) - {WITHOUT_THREADS}) or (library_of(job) != FLASH and job["load"]["attn_implementation"] == "flash_attention_2")


#: The process in which the package flash_attn is there.
FLASH = "flash-attention"


def library_of(job: Job) -> str:
    """What else the process of a job's libraries imports."""
    if job["loop"]["kind"] == "unsloth":
        return "unsloth"
    if job["trl"].get("trainer") == "llama-factory":
        return "llama-factory"
    padded = "padded" in job["batch"].get("attention_mask", "padded")
    return FLASH if job["load"]["attn_implementation"] == "flash_attention_2" and not padded else ""


@dataclass
class Forks:
    """Traces like a Tracer, in a fifth of the time."""

    tracer: Tracer
    options: tuple[str, ...] = ()  # of the worker
    folder: tempfile.TemporaryDirectory[str] = field(default_factory=tempfile.TemporaryDirectory)  # libraries leave files where they run
    servers: dict[tuple[str, ...], subprocess.Popen[str]] = field(default_factory=dict)

    def server(self, job: Job) -> subprocess.Popen[str]:
        """The process for the job's card, and for how its device keeps time."""
        timing = {"VRAMFIT_TRACE_DEVICE": job["distributed"]["events"]} if job["distributed"] else {}
        library = library_of(job)
        kind = (job["card"], library, *timing.values())
        running = self.servers.get(kind)
        if running is None or running.poll() is not None:
            command = [self.tracer.python, "-m", "vramfit_trace.worker.forks", library]
            running = subprocess.Popen(command, env={**self.tracer.environment({**job, "distributed": None}), **timing}, text=True, cwd=self.folder.name, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
            self.servers[kind] = running
        return running

    def status(self, job: Job, request: dict[str, Any]) -> int:
        """What the worker ended with."""
        server = self.server(job)
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], self.tracer.time_limit)[0]:
            self.end(server)
            raise TraceError(f"not done after {self.tracer.time_limit:g} s")
        answer = server.stdout.readline()
        if not answer:
            raise TraceError("the process with the libraries ended")
        return int(answer)

    def trace(self, job: Job, log: Path | None = None) -> dict[str, Any]:
        """The trace of a job; `log` takes what the libraries print."""
        if self.tracer.real or needs_process(job):
            return self.tracer.trace(job, log=log, options=self.options)
        with tempfile.TemporaryDirectory() as folder:
            job_file, out, said = (Path(folder) / name for name in ("job.json", "trace.json", "log"))
            job_file.write_text(json.dumps(job))
            status = self.status(job, {"job": str(job_file), "out": str(out), "log": str(said), "options": self.options,
                                       "environment": variables_of_processes(job)})
            text = said.read_text()
            if log:
                log.write_text(text)
            return result(status, out, text)

    def end(self, server: subprocess.Popen[str]) -> None:
        """Ends a process and the job that it runs."""
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()

    def close(self) -> None:
        for server in self.servers.values():
            self.end(server)
        self.folder.cleanup()
