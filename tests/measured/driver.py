"""What the driver says of the card while a job runs: nvidia-smi, where there is one."""
from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

MIB = 2**20
QUERY = ("nvidia-smi", "--id=0", "--query-gpu=memory.used,driver_version,name", "--format=csv,noheader,nounits")


def parsed(text: str) -> list[tuple[int, str, str]]:
    """Used bytes, the driver's version and the card of every whole line."""
    out = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 3 and fields[0].isdigit():
            out.append((int(fields[0]) * MIB, fields[1], fields[2]))
    return out


def figures(before: str, during: str) -> dict[str, Any]:
    """`used_before` is other processes' and the driver's own; the rest of `used_peak` is the job's process."""
    first, samples = parsed(before), parsed(during)
    if not first or not samples:
        return {}
    used, version, name = first[0]
    return {"version": version, "card": name, "used_before": used, "used_peak": max(sample[0] for sample in samples),
            "samples": len(samples)}


@contextlib.contextmanager
def watched(every_ms: int = 100) -> Iterator[dict[str, Any]]:
    """Fills the dictionary with figures when the block ends."""
    found: dict[str, Any] = {}
    if not shutil.which(QUERY[0]):
        yield found
        return
    before = subprocess.run(QUERY, capture_output=True, text=True, check=False).stdout
    with tempfile.TemporaryFile("w+") as samples:
        watcher = subprocess.Popen([*QUERY, f"--loop-ms={every_ms}"], stdout=samples, stderr=subprocess.DEVNULL)
        try:
            yield found
        finally:
            watcher.terminate()
            watcher.wait()
            samples.seek(0)
            found.update(figures(before, samples.read()))
