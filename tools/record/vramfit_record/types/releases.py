"""Releases of transformers under which a type's network is the same: configurations that were proven are recorded again with what is installed."""
from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import transformers

from .carried import evened
from .instantiate import instantiate
from .memory import angles, in_memory, with_inputs_by_name
from .normal import difference, normal
from .parts import type_of
from .keys import Keys
from ..record import record_network


def conditions(document: dict[str, Any]) -> set[str]:
    """What sizes are compared with: where such a comparison turns out otherwise, the recording is no answer."""
    return {json.dumps(row[1:]) for program in document["programs"] for row in program["code"] if row[0] == "if"}


def since(*release: int) -> bool:
    """Whether the installed transformers is that release or a later one."""
    return tuple(int(x) for x in transformers.__version__.split(".")[:2]) >= release


def by_engine(document: dict[str, Any]) -> dict[str, Any]:
    """As memory sees it, without the programs of experts, of which the engine knows each release (src/model/recorded/expert_masks.hpp), and without conditions. Angles of rotary embeddings are
    compared by the memory that they take: the engine multiplies them as the release does. From 5.20 on the loader reads no plan of tensor parallelism (modeling_utils.py get_total_byte_count)."""
    experts = {row["class"] for row in document["modules"] if row.get("leaf") == "experts" and row["class"].endswith("Experts")}  # other modules have parameters of three dimensions too

    def of(program: dict[str, Any]) -> dict[str, Any]:
        name = program.get("class", "")
        if name in experts:
            return {"class": name, "inputs": program["inputs"], "code": [], "outputs": []}
        calls = [row for row in program["code"] if row[0] == "call"]
        if since(5, 19) and name.endswith("RotaryEmbedding") and all((row[5:] or [{}])[0].get("no_grad") for row in calls):
            return angles(program)
        return in_memory({**program, "code": [one for one in program["code"] if one[0] != "if"]})
    network = {k: v for k, v in document["network"].items() if k != "tp_plan" or not since(5, 20)}
    return {**document, "network": network, "programs": with_inputs_by_name([of(row) for row in document["programs"]])}


def different(type_: dict[str, Any], configs: list[dict[str, Any]]) -> str:
    """Where the installed library does something else than the recording says, or nothing."""
    keys = Keys(type_["model_type"])
    for config in configs:
        values = {k: v for k, v in config.items() if k != "model_type"}
        try:
            recorded = record_network(transformers.AutoConfig.for_model(config["model_type"], **values), keys.head, keys.variants)
        except Exception as error:  # noqa: BLE001  the library's own refusal
            return f"{type(error).__name__}: {str(error)[:150]}"
        made, there = instantiate(type_, config), evened(recorded)
        if found := difference(normal(by_engine(made)), normal(by_engine(there))):
            return found
        if more := conditions(there) - conditions(made):
            return f"it compares sizes that the recording does not: {sorted(more)[0]}"
    return ""


def run(folder: Path, proven: Path, types: list[str]) -> int:
    """Writes into each type's document with how many configurations it is the same under the installed release."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    lines = [json.loads(line)["config"] for line in proven.read_text().splitlines()]
    for place in sorted(folder.glob("*.json")):
        if types and place.stem not in types:
            continue
        type_ = json.loads(place.read_text())
        configs = [config for config in lines if type_of(config) == place.stem]
        found = different(type_, configs) if configs else "no configurations"
        same = {k: v for k, v in type_.pop("same", {}).items() if k != transformers.__version__}
        if not found:
            same[transformers.__version__] = len(configs)
        written = {**{k: v for k, v in type_.items() if k != "compared"}, "compared": type_["compared"], **({"same": same} if same else {})}
        place.write_text(json.dumps(written, separators=(",", ":"), allow_nan=False) + "\n")
        print(f"{place.stem:24} transformers {transformers.__version__:8} {'differs  ' + found[:160] if found else f'same for {len(configs)} configurations'}", flush=True)
    return 0
