"""Records the small networks of tests/data/networks/families.config.jsonl, one line each: python tools/record/tests/families.py [TYPE...] --out FILE."""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/record"))

from vramfit_record import networks  # noqa: E402
from vramfit_record.record import record_network  # noqa: E402
from vramfit_record.seed import run_with_fixed_seed  # noqa: E402
from vramfit_record.variants import BASE, Variant  # noqa: E402

#: What the test asks for: a plain loop and evaluation, then Trainer's questions.
ASKED = (BASE, Variant(items=True), Variant(mask="full", items=True), Variant(mask="padded", items=True), Variant(checkpointing=True, items=True),
         Variant(mask="full", checkpointing=True, items=True), Variant(attention="eager", items=True),
         Variant(attention="eager", mask="padded", items=True), Variant(attention="eager", mask="full", items=True))


def compact(recordings: list[dict[str, Any]]) -> Iterator[str]:
    """Lines: first all instructions, each once; then the recordings, whose programs have their numbers."""
    numbers: dict[str, int] = {}
    for made in recordings:
        for program in made["programs"]:
            program["code"] = [numbers.setdefault(as_text(one), len(numbers)) for one in program["code"]]
    yield "[" + ",".join(numbers) + "]"
    yield from map(as_text, recordings)


def as_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def main() -> None:
    run_with_fixed_seed()
    warnings.filterwarnings("ignore")
    flags = argparse.ArgumentParser()
    flags.add_argument("types", nargs="*")
    flags.add_argument("--out", type=Path, required=True)
    chosen = flags.parse_args()
    recordings = []
    with tempfile.TemporaryDirectory() as folder:
        for line in (ROOT / "tests/data/networks/families.config.jsonl").read_text().splitlines():
            if chosen.types and json.loads(line)["model_type"] not in chosen.types:
                continue
            place = Path(folder) / "config.json"
            place.write_text(line)
            made = record_network(networks.read_config(str(place), False, False), "causal_lm", ASKED, False, {})
            print(made["network"]["model_type"], len(made["variants"]), made["refused"], [v for v in made["variants"] if "only" in v or "not_fitted" in v], flush=True)
            recordings.append(made)
    chosen.out.write_text("".join(line + "\n" for line in compact(recordings)))


if __name__ == "__main__":
    main()
