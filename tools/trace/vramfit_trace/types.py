"""The recorded types that a random walk draws from: what each has in models/types, and the configurations of its proofs."""
from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from .families import Family

ROOT = Path(__file__).resolve().parents[3]
TYPES = ROOT / "models" / "types"
PROOFS = ROOT / "tests" / "data" / "networks" / "types.jsonl"
#: Types that AutoModelForCausalLM loads another class of, or none.
WHOLE = ("qwen3_5", "qwen3_5_moe", "mistral3")
#: How many tokens a row may have, by the names that classes give it.
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")


def leaves(document: dict[str, Any]) -> list[str]:
    """Names of the linear layers that adapters are put on, without the head, whose output is the vocabulary."""
    nodes, bodies = document["nodes"], document["bodies"]

    def is_linear(node: dict[str, Any]) -> bool:
        own = [bodies[at] for at in ([node["body"]] if "body" in node else [at for _, at in node["cases"]])]
        return any(body.get("leaf") in ("linear", "conv1d") and body["parameters"][0][2][0] != "=vocab_size" for body in own if isinstance(body, dict))
    return sorted({name for node in nodes for name, at in node.get("below", {}).items() if " " not in name and is_linear(nodes[at])})


def kernels(document: dict[str, Any]) -> tuple[str, ...]:
    """The attention implementation that its class has by itself, with which it was recorded."""
    there = {row["attention"] for body in document["bodies"] if isinstance(body, list) for row in body if isinstance(row, dict) and "attention" in row}
    return ("sdpa",) if "sdpa" in there else ("eager",)


def families(folder: Path = TYPES) -> dict[str, Family]:
    """Recorded types as families; which of its configurations is taken, the walk draws."""
    documents = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    drawn = {config["model_type"] for config in configs()}
    return {row["model_type"]: Family({}, tuple(leaves(row)), (), "", "", row["layers"]["key"], kernels(row)) for row in documents if row["model_type"] in drawn}


def configs(file: Path = PROOFS) -> list[dict[str, Any]]:
    """Configurations that were drawn by chance when the types were recorded: sizes, heads, switches, layers."""
    rows = [json.loads(line)["config"] for line in file.read_text().splitlines()]
    return [row for row in rows if row.get("text_config", row).get("vocab_size", 1000) > 100]


@functools.cache
def defaults(model_type: str) -> dict[str, Any]:
    """What a recorded type has where its configuration does not say it."""
    path = TYPES / f"{model_type}.json"
    return {row["key"]: row["default"] for row in json.loads(path.read_text())["keys"] if "default" in row} if path.exists() else {}


def longest(model: dict[str, Any]) -> int:
    """The most tokens of a row; places may be counted from behind that of padding."""
    said = {**defaults(model["model_type"]), **model}
    places = min((said[key] for key in POSITIONS if isinstance(said.get(key), int)), default=1 << 30)
    return places - (said.get("pad_token_id") or 1) - 1 if defaults(model["model_type"]) else places
