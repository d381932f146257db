"""The program's snapshots as Python's pickle reads them: the levels of a run."""
import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

PLAIN = ["llama-3.2-1b", "--method", "qlora", "--seq", "64", "--optim", "adamw_torch"]


def check(program: str, more: list[str], folder: Path) -> None:
    """Requested bytes of the entries reach what the timeline says, window by window."""
    file = folder / "run.pickle"
    subprocess.run([program, "timeline", *PLAIN, *more, "--format", "snapshot", "--output", str(file)], check=True)
    text = subprocess.run([program, "timeline", *PLAIN, *more, "--format", "json"], check=True, capture_output=True).stdout
    windows = {w["name"]: w["requested"] for w in json.loads(text)["windows"]}
    with file.open("rb") as stream:
        snapshot = pickle.load(stream)
    level, living, highest = 0, {}, {}
    for entry in snapshot["device_traces"][0]:
        if entry["action"] == "alloc":
            assert entry["addr"] not in living and 0 <= entry["addr"] < 2**53
            living[entry["addr"]] = entry["size"]
            level += entry["size"]
            window = entry["frames"][-1]["name"]
            highest[window] = max(highest.get(window, 0), level)
        elif entry["action"] == "free_completed":
            level -= living.pop(entry["addr"])
    assert any(entry.get("category") == "unknown" for entry in snapshot["device_traces"][0])
    for window, level in windows.items():  # a window that only frees is highest where it starts
        if level["peak"] > level["start"]:
            assert highest[window] == level["peak"], window
    for segment in snapshot["segments"]:
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
    in_use = sum(b["requested_size"] for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated")
    assert in_use == sum(living.values())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for flags in ([], ["--alloc-conf", "expandable_segments:True"]):
            check(sys.argv[1], flags, Path(name))
