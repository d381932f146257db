"""Types recorded and proven, each in a process of its own: a table, a file for each type, and a line for each configuration that was compared."""
from __future__ import annotations

import json
import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any, Iterable

import transformers

from .normal import fingerprint
from .parts import type_of
from .prove import proofs
from .recorder import NotRecorded, TypeRecorder


def as_text(x: Any) -> str:
    return json.dumps(x, separators=(",", ":"), allow_nan=False)


def recorded(model_type: str, place: Path) -> dict[str, Any]:
    if not place.exists():
        place.write_text(as_text(TypeRecorder(model_type).run()) + "\n")
    return json.loads(place.read_text())


def prove(type_: dict[str, Any], count: int, lines: list[str]) -> None:
    """Lines of the configurations whose networks are those of the library; raises where one is not."""
    from .instantiate import instantiate

    for config, difference in proofs(type_, count):
        if difference.startswith("refused by the class"):
            continue
        if difference:
            raise NotRecorded(f"{as_text(config)}: {difference}")
        lines.append(as_text({"config": config, "network": fingerprint(instantiate(type_, config))}))


def one(model_type: str, folder: Path, proven: Path, count: int) -> None:
    """Leaves FOLDER/TYPE.json and lines in `proven` if the type is proven, else a file that says why not."""
    place, reason = folder / f"{model_type}.json", folder / f"{model_type}.reason"
    lines: list[str] = []
    try:
        type_ = recorded(model_type, place)
        prove(type_, count, lines)
        if len(lines) < count:
            raise NotRecorded(f"only {len(lines)} configurations could be compared")
        type_["compared"]["networks"] = len(lines)
        place.write_text(as_text(type_) + "\n")
        with proven.open("a") as out:
            out.write("".join(line + "\n" for line in lines))
    except BaseException as error:  # noqa: BLE001  whatever it is, the type is not built in
        reason.write_text(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}\n")
        if place.exists():
            place.rename(folder / f"{model_type}.unproven")  # to look at


def run(types: Iterable[str], folder: Path, proven: Path, count: int, seconds: int) -> int:
    """Types that were proven before, or refused, are left as they are."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    folder.mkdir(parents=True, exist_ok=True)
    for model_type in types:
        reason, started = folder / f"{model_type}.reason", time.time()
        known = {type_of(json.loads(line)["config"]) for line in proven.read_text().splitlines()} if proven.exists() else set()
        if not reason.exists() and model_type not in known:
            pid = os.fork()
            if pid == 0:
                signal.alarm(seconds)
                one(model_type, folder, proven, count)
                os._exit(0)
            _, status = os.waitpid(pid, 0)
            if status:
                reason.write_text(f"took longer than {seconds} s\n" if status == signal.SIGALRM else f"ended with status {status}\n")
        text = reason.read_text().strip() if reason.exists() else f"{(folder / f'{model_type}.json').stat().st_size} bytes"
        print(f"{model_type:24} {'refused' if reason.exists() else 'proven':8} {time.time() - started:5.0f} s  {text[:200]}", flush=True)
    return 0
