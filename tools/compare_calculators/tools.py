"""The other calculators: how each is installed, what it is asked about a row, and which of its numbers is compared."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rows import Row

HERE = Path(__file__).resolve().parent
GIB, MIB = 2**30, 2**20


@dataclass(frozen=True)
class Question:
    text: str = ""  # as a reader would type it
    refused: str = ""  # why it cannot be asked


class Tool(Protocol):
    name: str
    version: str

    def question(self, row: Row) -> Question: ...
    def answer(self, asked: Question, row: Row, home: Path) -> dict[str, Any]: ...


def install(tool: Tool, scratch: Path) -> Path:
    """An environment with the releases of requirements/NAME.txt."""
    home = scratch / tool.name
    venv.create(home, with_pip=True)
    subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "--requirement", HERE / "requirements" / f"{tool.name}.txt"], check=True)
    return home


def printed(command: list[str | Path], environment: dict[str, str] | None = None) -> Any:
    """The JSON that a command prints; a verdict of "does not fit" is an exit status, not an error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})})
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


class Fitcheck:
    """PyPI: fitcheck-llm. Reads config.json from the hub's cache, which is filled with the row's model."""

    name, version = "fitcheck", "0.3.1"

    def question(self, row: Row) -> Question:
        if row.gpus > 1:
            return Question(refused="several GPUs are outside its model")
        flags = ["fitcheck", row.model]
        if row.method == "full":  # torch's AdamW keeps its moments in the dtype of the weights
            flags += ["--no-lora", "--optimizer-dtype", "bf16"]
        elif row.method == "qlora":
            flags += ["--quant", "nf4", "--double-quant"]
        flags += ["--precision", row.half, "--batch-size", str(row.batch), "--seq-len", str(row.length),
                  "--optimizer", "adam8bit" if row.eight_bit else "adamw"]
        if row.checkpointing:
            flags += ["--grad-checkpoint"]
        if row.attention != "eager":  # "flash-like": its archive measures SDPA under this flag
            flags += ["--flash-attn"]
        flags += ["--vram-mib", "16384"] if row.eight_bit else ["--gpu", "a100-80"]
        return Question(" ".join(flags))

    def answer(self, asked: Question, row: Row, home: Path) -> dict[str, Any]:
        folder = home / "cache" / "hub" / ("models--" + row.model.replace("/", "--"))
        (folder / "snapshots" / "0").mkdir(parents=True, exist_ok=True)
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / "main").write_text("0")
        (folder / "snapshots" / "0" / "config.json").write_text(json.dumps(row.job["model"]))
        command = [home / "bin" / "fitcheck", *asked.text.split()[1:], "--json"]
        report = printed(command, {"HF_HOME": str(home / "cache"), "HF_HUB_OFFLINE": "1"})
        total = report["memory_mib"]["total"]
        if row.reading == "reserved_peak":  # its unmeasured profile counts 500 MiB for the CUDA context, which is not reserved
            total -= 500
        return {"bytes": round(total * MIB)}


class Canifinetune:
    """PyPI: canifinetune. Knows the rows' models by name."""

    name, version = "canifinetune", "0.4.1"

    def question(self, row: Row) -> Question:
        if row.gpus > 1:
            return Question(refused="it has no several GPUs")
        flags = ["canifinetune", "estimate", "--model", row.model, "--method", row.method, "--base-dtype", row.half,
                 "--seq-len", str(row.length), "--micro-batch-size", str(row.batch), "--lora-rank", "16",
                 "--optimizer", "paged_adamw_8bit" if row.eight_bit else "adamw_torch", "--attn", row.attention,
                 "--gpu-vram-gb", "16" if row.eight_bit else "80", "--offline"]
        if not row.checkpointing:
            flags += ["--no-gradient-checkpointing"]
        return Question(" ".join(flags))

    def answer(self, asked: Question, row: Row, home: Path) -> dict[str, Any]:
        memory = printed([home / "bin" / "canifinetune", *asked.text.split()[1:], "--json"])["memory"]
        # "process torch peak reserved ...; safety margin reported separately"
        return {"bytes": round((memory["total_estimated_gb"] - memory["safety_margin_gb"]) * GIB)}


FTUNE = """
import json, sys
from ftuneai import Estimator, ModelSpec
from ftuneai.loader import load_models
question = json.load(sys.stdin)
load_models()[question["model"]["name"]] = ModelSpec(**question["model"])
memory = Estimator(**question["arguments"]).estimate_memory()
print(json.dumps({"total": memory.total_gb, "overhead": memory.overhead_gb}))
"""


class Ftune:
    """PyPI: ftuneai. Its command takes models of its list only, so the library is asked, as its first example does."""

    name, version = "ftune", "0.4.1"

    def arguments(self, row: Row) -> dict[str, Any]:
        out = {"model": row.model, "method": row.method, "quantization": "4bit" if row.method == "qlora" else "none",
               "batch_size": row.batch, "seq_length": row.length, "gradient_checkpointing": row.checkpointing,
               "optimizer": "adam_8bit" if row.eight_bit else "adamw", "lora_rank": 16, "lora_target": "attention_all",
               "flash_attention": row.attention != "eager"}
        if row.gpus > 1:
            out |= {"sharding": "fsdp", "num_gpus": row.gpus}
        return out

    def question(self, row: Row) -> Question:
        return Question("Estimator(" + ", ".join(f"{name}={value!r}" for name, value in self.arguments(row).items()) + ")")

    def answer(self, asked: Question, row: Row, home: Path) -> dict[str, Any]:
        config = row.job["model"]
        model = {"name": row.model, "parameters": parameters(config), "hidden_size": config["hidden_size"],
                 "num_layers": config["num_hidden_layers"], "num_attention_heads": config["num_attention_heads"],
                 "num_kv_heads": config["num_key_value_heads"], "intermediate_size": config["intermediate_size"],
                 "vocab_size": config["vocab_size"], "max_seq_length": config["max_position_embeddings"]}
        done = subprocess.run([home / "bin" / "python", "-c", FTUNE], capture_output=True, text=True, check=True,
                              input=json.dumps({"model": model, "arguments": self.arguments(row)}))
        memory = json.loads(done.stdout)
        # What it calls overhead is the CUDA context and fragmentation, which are not allocated.
        total = memory["total"] - (memory["overhead"] if row.reading == "allocated_peak" else 0)
        return {"bytes": round(total * GIB)}


def parameters(config: dict[str, Any]) -> int:
    """The count that the hub would give: weights and, for Qwen2, biases of queries, keys and values."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    kv = config["num_key_value_heads"] * (config.get("head_dim") or hidden // heads)
    layer = 2 * hidden * hidden + 2 * hidden * kv + 3 * hidden * config["intermediate_size"] + 2 * hidden
    if config["model_type"] == "qwen2":
        layer += hidden + 2 * kv
    embeddings = config["vocab_size"] * hidden * (1 if config["tie_word_embeddings"] else 2)
    return embeddings + config["num_hidden_layers"] * layer + hidden


TOOLS: tuple[Tool, ...] = (Fitcheck(), Canifinetune(), Ftune())
