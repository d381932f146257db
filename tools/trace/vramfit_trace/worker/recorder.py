"""Windows of a run: each begins when it is named and ends when the next one does."""
from __future__ import annotations

import pickle
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from ..peaks import at_peaks
from . import history, labelled, operators
from .device import Device
from .labels import Labels

HISTORY_ENTRIES = 50_000_000


@dataclass
class Reading:
    """The allocator's statistics when a window ended; each peak is the window's."""

    requested: dict[str, int]
    allocated: dict[str, int]
    reserved: dict[str, int]
    active: dict[str, int]  # allocated, or asked to be freed and still waiting for another stream
    managed: int
    calls: int  # allocations and frees since the history began: the place in the allocator's history
    retries: int
    outside: int  # what the driver counts beyond the allocator's segments: context, kernels, libraries, other processes


class Recorder:
    """Statistics at the border of every window; the allocator's history for what lies between."""

    def __init__(self, device: Device, with_events: bool, labels: Labels | None = None) -> None:
        self.device = device
        self.names: list[str] = []
        self.ends: list[Reading] = []
        self.instants: dict[str, dict[str, int]] = {}
        self.failure: tuple[int, Reading] | None = None
        torch.cuda.init()
        if device.real:  # Unsloth's import multiplies, and keeps what cuBLAS had for it
            torch._C._cuda_clearCublasWorkspaces()
            torch.cuda.empty_cache()
        calls = torch._C._cuda_memoryStats(0)["active"]["all"]
        self.earlier = calls["allocated"] + calls["freed"]  # of a library's import, before the history begins
        torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=HISTORY_ENTRIES)
        if not with_events:
            # With the history's callback for annotations a collective keeps the hooks of the checkpointed layer that it begins in,
            # and with them the layer's input, until it is waited for.
            torch.autograd._enable_record_function(False)
        torch._C._cuda_attach_out_of_memory_observer(self._gave_up)
        self.profile = operators.profiler() if with_events else None
        if self.profile:
            self.profile.start()
        self.labels = labels
        if labels:
            labels.watch()

    def window(self, name: str) -> None:
        """Begins a window; naming the current one again changes nothing."""
        if self.names and self.names[-1] == name:
            return
        if self.names:
            self.ends.append(self._read())
            if self.labels:
                self.labels.scan()
        self.names.append(name)
        torch._C._cuda_resetPeakMemoryStats(0)
        self.device.managed_peak(restart=True)

    def know(self, network: torch.nn.Module) -> None:
        """The network as it is now, for the labels."""
        if self.labels:
            self.labels.know(network)

    def know_second(self, network: torch.nn.Module, kind: str) -> None:
        """A network beside it, for the labels."""
        if self.labels:
            self.labels.know_second(network, kind)

    def reading(self, name: str) -> None:
        """Notes the memory of this instant under a name."""
        now = self._read()
        peaks = [reading.allocated["peak"] for reading in (*self.ends, now)]
        self.instants[name] = {"allocated": now.allocated["end"], "reserved": now.reserved["end"], "peak": max(peaks)}

    def _read(self) -> Reading:
        statistics = torch._C._cuda_memoryStats(0)
        free, total = torch.cuda.mem_get_info(0)

        def level(name: str) -> dict[str, int]:
            bytes_ = statistics[f"{name}_bytes"]["all"]
            return {"peak": bytes_["peak"], "end": bytes_["current"]}

        calls = statistics["active"]["all"]  # with several streams a block is free later than it is asked to be
        return Reading(level("requested"), level("allocated"), level("reserved"), level("active"), self.device.managed_peak(),
                       calls["allocated"] + calls["freed"] - self.earlier, statistics["num_alloc_retries"],
                       total - free - statistics["reserved_bytes"]["all"]["current"])

    def _gave_up(self, device: int, segment: int, total: int, free: int) -> None:
        """Called by the allocator before it raises, while everything is still in use."""
        self.failure = (segment, self._read())

    def finish(self, failed: bool, snapshot: Path | None = None) -> dict[str, Any]:
        """The trace: outcome, windows, readings, and events if they were asked for; `snapshot` takes the allocator's own."""
        if failed and not self.failure:
            raise RuntimeError("out of memory, and the allocator did not say so")
        self.ends.append(self.failure[1] if failed and self.failure else self._read())
        if self.profile:
            if self.labels:
                self.labels.end()
            self.profile.stop()
        taken = torch.cuda.memory._snapshot()
        if snapshot:
            snapshot.write_bytes(pickle.dumps(taken))
        entries = taken["device_traces"][0]
        torch.cuda.memory._record_memory_history(enabled=None)
        found = history.read(entries, [end.calls for end in self.ends], stop=failed or bool(self.labels))
        out: dict[str, Any] = {"outcome": {"oom": None, "retries": self.ends[-1].retries}, "windows": self._windows(found),
                               "readings": self.instants, "driver": self._driver()}
        if failed and self.failure:
            out["outcome"]["oom"] = {"window": self.names[-1], "requested": found.failed_request, "segment": self.failure[0]}
        if self.profile:
            operators.name_allocations(found.allocations(), found.addresses, self.profile)
            out["events"] = found.events
        if self.labels:
            labelled.label(found, self.names, self.profile, self.labels)
            for window, held in zip(out["windows"], at_peaks(found.events, [window["peak"] for window in out["windows"]])):
                window.update(held.as_json())
            if not self.labels.with_events:
                del out["events"]
        return out

    def _driver(self) -> dict[str, int]:
        """Highest values: beyond the allocator at the windows' ends, and with the most that it held in one of them."""
        return {"outside_allocator": max(end.outside for end in self.ends),
                "process_peak": max(end.outside + end.reserved["peak"] for end in self.ends)}

    def _windows(self, found: history.History) -> list[dict[str, Any]]:
        """History and statistics side by side; they must agree."""
        out = []
        retries = 0
        levels = history.requested(found.events, len(self.names))
        for name, level, end in zip(self.names, levels, self.ends):
            if end.requested != {"peak": level.peak, "end": level.end}:
                raise RuntimeError(f"history and statistics disagree in {name}: {level} {end}")
            row = {"name": name, **asdict(level), "allocated": end.allocated, "reserved": end.reserved}
            if end.active != end.allocated:
                row["active"] = end.active
            if end.managed:
                row["managed"] = end.managed
            if end.retries > retries:
                row["retries"] = end.retries - retries
            retries = end.retries
            out.append(row)
        return out
