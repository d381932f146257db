"""Every causal-LM type of the installed transformers, recorded from its default configuration with a few layers: what works, and how large it is."""
from __future__ import annotations

import json
import lzma
import os
import signal
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Iterable, Iterator

import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from .record import record_network
from .variants import BASE, TRAINING

LAYERS = 4

_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_DYNAMIC = {"rope_type": "dynamic", "alpha": 1000.0, "rope_theta": 10000.0, "factor": 1.0, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}
#: What a default configuration leaves open, without which the class cannot be made or run.
WANTED: dict[str, dict[str, Any]] = {
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "dbrx": {"attn_config": {"kv_n_heads": 2, "rope_theta": 500000.0, "clip_qkv": 8}, "ffn_config": {"ffn_hidden_size": 512, "moe_num_experts": 4, "moe_top_k": 2}},
    "deepseek_v2": {"num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "n_routed_experts": 8},
    "hunyuan_v1_dense": {"rope_parameters": _DYNAMIC}, "hunyuan_v1_moe": {"rope_parameters": _DYNAMIC, "moe_topk": 2, "num_experts": 8},
    "cohere_compass_text": {"rope_parameters": {"full_attention": _ROPE, "sliding_attention": _ROPE}},
}


def default_config(model_type: str) -> Any:
    return transformers.AutoConfig.for_model(model_type, **WANTED.get(model_type, {}))


def small_config(model_type: str) -> Any:
    """The default configuration with LAYERS layers; as it is where the class wants more."""
    config = default_config(model_type)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    layers = getattr(text, "num_hidden_layers", None)
    if not isinstance(layers, int) or layers <= LAYERS:
        return config
    try:
        text.num_hidden_layers = LAYERS
        for key, value in list(text.to_dict().items()):
            if isinstance(value, (list, tuple)) and len(value) == layers:
                setattr(text, key, list(value)[:LAYERS])
    except Exception:  # noqa: BLE001  some configurations compute it
        return default_config(model_type)
    return config


def document(model_type: str, every_variant: bool) -> dict[str, Any]:
    variants = TRAINING if every_variant else (BASE,)
    try:
        made = record_network(small_config(model_type), variants=variants)
        if made["variants"]:
            return made
    except Exception:  # noqa: BLE001
        pass
    return record_network(default_config(model_type), variants=variants)


def in_child(model_type: str, every_variant: bool, path: Path, seconds: int) -> str:
    """Records in a forked process, which may hang or die. Returns why not, or nothing."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            path.write_text(json.dumps(document(model_type, every_variant), separators=(",", ":")))
        except BaseException as error:  # noqa: BLE001
            path.with_suffix(".reason").write_text(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    reason = path.with_suffix(".reason")
    if reason.exists():
        return reason.read_text()
    return "" if path.exists() else f"took longer than {seconds} s" if status == signal.SIGALRM else f"ended with status {status}"


def calls_of(row: dict[str, Any]) -> Iterator[str]:
    return (c[1] for program in row["programs"] for c in program["code"] if c[0] == "call")


def result_of(made: dict[str, Any]) -> tuple[str, str]:
    """How far the base variant was recorded."""
    if not made["variants"]:
        return "refused", made["refused"][0]["reason"]
    first = made["variants"][0]
    if any("only" in row for row in made["variants"]):
        return "sizes", next(row["because"] for row in made["variants"] if "only" in row)
    if "not_fitted" in first:
        return "formulas", first["not_fitted"][0]
    return "recorded", ""


def run(types: Iterable[str], every_variant: bool, out: Path | None, seconds: int) -> int:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    folder = out or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    counts, functions, raw, started = Counter[str](), Counter[str](), [], time.time()
    for model_type in types:
        path = folder / f"{model_type}.json"
        reason = in_child(model_type, every_variant, path, seconds)
        result = "refused"
        if not reason:
            made = json.loads(path.read_text())
            result, reason = result_of(made)
            functions.update(calls_of(made))
            raw.append(path.read_bytes())
        counts[result] += 1
        print(f"{model_type:28} {result:9} {len(raw[-1]) if raw and result != 'refused' else 0:8} {reason[:150]}", flush=True)
    together = len(lzma.compress(b"\n".join(raw), preset=9))
    print(f"\n{sum(counts.values())} types: {dict(counts)}; {len(functions)} functions; {sum(map(len, raw)):,} bytes, {together:,} compressed together (xz); {time.time() - started:.0f} s")
    print(" ".join(f"{name}:{n}" for name, n in functions.most_common()))
    return 0


def all_types() -> list[str]:
    """Every causal-LM type."""
    return sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
