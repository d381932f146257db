"""The measured rows that a calculator can be compared with, and vramfit's own answer to each."""
from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What a calculator's one number is compared with: the first of these that the source measured.
READINGS = ("process_peak", "reserved_peak", "allocated_peak")

#: Sources that print the peak of a whole training run; the part of a row's name that says its model.
SOURCES = {"DaoyuanLi2816/can-i-finetune-this": "RTX 4080", "foundation-model-stack/fms-acceleration": "A100 80GB",
           "foundation-model-stack/fms-acceleration, two GPUs": "A100 80GB"}
MODELS = {"qwen2.5-0.5b-instruct": "Qwen/Qwen2.5-0.5B-Instruct", "qwen2.5-1.5b-instruct": "Qwen/Qwen2.5-1.5B-Instruct",
          "mistral-7b-v0.1": "mistralai/Mistral-7B-v0.1", "llama-2-70b": "meta-llama/Llama-2-70b-hf"}


@dataclass(frozen=True)
class Row:
    name: str
    source: str
    job: dict[str, Any]
    reading: str
    measured: int

    @property
    def model(self) -> str:
        return next(name for part, name in MODELS.items() if part in self.name)

    @property
    def method(self) -> str:
        if self.job["load"].get("quantization_config"):
            return "qlora"
        return "lora" if self.job.get("peft") else "full"

    @property
    def prepared(self) -> bool:
        """Whether peft's prepare_model_for_kbit_training ran, which turns what is not quantized into float32."""
        return bool(self.job.get("prepare_kbit"))

    @property
    def gpus(self) -> int:
        return self.job.get("distributed", {}).get("world_size", 1)

    @property
    def batch(self) -> int:
        return self.job["training"]["per_device_train_batch_size"]

    @property
    def length(self) -> int:
        return self.job["batch"]["sequence_length"]

    @property
    def checkpointing(self) -> bool:
        return self.job["training"]["gradient_checkpointing"]

    @property
    def half(self) -> str:
        return {"float16": "fp16", "bfloat16": "bf16"}[self.job["load"]["dtype"]]

    @property
    def attention(self) -> str:
        return self.job["load"]["attn_implementation"]

    @property
    def eight_bit(self) -> bool:
        return self.job["training"]["optim"] == "paged_adamw_8bit"


def read(path: Path) -> list[Row]:
    out = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        measured = {name: value for name, _, value, _ in row["expected"]}
        reading = next((name for name in READINGS if name in measured), None)
        if row["source"] in SOURCES and reading:
            out.append(Row(row["name"], row["source"], row["job"], reading, measured[reading]))
    return out


def predict(program: Path, row: Row) -> int | None:
    """The same reading as vramfit predicts it; None if it refuses the job."""
    done = subprocess.run([program, "predict", "--job", "-", "--format", "json"], input=json.dumps(row.job),
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return None
    return json.loads(done.stdout)["quantities"].get(row.reading)
