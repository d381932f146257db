"""Unsloth: FastLanguageModel's model and adapters, and its SFTTrainer, as its notebooks call them."""
from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers

from ..job import Job
from .batch import row_count, told_byte
from .checkpoint import write_checkpoint
from .device import Device
from .libraries import checked
from .recorder import Recorder
from .stages import Stages

#: Two words beside the ends, which no configuration of a job takes for one.
TOKENS = {"<eos>": 0, "<pad>": 1, "a": 2, "b": 3}
#: Packing fills rows up with the next ones: so many times the rows of a batch are enough for rows from a quarter of the length.
ROWS_OF_A_PACK = 4


def write_tokenizer(folder: Path) -> None:
    """Unsloth reads one beside the checkpoint."""
    import tokenizers

    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(TOKENS, unk_token="<eos>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<eos>", eos_token="<eos>", pad_token="<pad>", unk_token="<eos>",
                                         padding_side="right").save_pretrained(folder)


def tokenizer_of(model: torch.nn.Module) -> Any:
    """The one that from_pretrained returned beside the model."""
    return model._vramfit_tokenizer


def compile_anew() -> None:
    """No earlier run has compiled the loss: its kernels are tried out. Unsloth forgets the variable when it is imported."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(dir=".")


def quantization(skipped: list[str] | None, dtype: str) -> dict[str, Any]:
    """What load_in_4bit is there, with more layers in 16 bits: as the config.json of Unsloth's dynamic checkpoints has them."""
    if skipped is None:
        return {}
    from unsloth_zoo.peft_utils import SKIP_QUANTIZATION_MODULES

    config = transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_quant_type="nf4",
                                             bnb_4bit_compute_dtype=getattr(torch, dtype), llm_int8_skip_modules=[*SKIP_QUANTIZATION_MODULES, *skipped])
    return {"quantization_config": config}


def build(job: Job, recorder: Recorder) -> torch.nn.Module:
    """from_pretrained and get_peft_model on an empty checkpoint."""
    from unsloth import FastLanguageModel

    wanted = job["unsloth"]
    arguments = {**wanted, "max_seq_length": wanted["max_seq_length"] or job["batch"]["sequence_length"],
                 "dtype": getattr(torch, wanted["dtype"]) if wanted["dtype"] else None}
    half = "bfloat16" if torch.cuda.get_device_capability() >= (8, 0) else "float16"
    arguments.update(quantization(arguments.pop("llm_int8_skip_modules"), half))
    arguments.pop("embedding_learning_rate", None)  # the trainer's
    compile_anew()
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(job, Path(folder))
        write_tokenizer(Path(folder))
        recorder.window("load")
        model, tokenizer = FastLanguageModel.from_pretrained(folder, **arguments)
        recorder.reading("after_load")
        if job["peft"] is not None:
            recorder.window("adapters")
            model = FastLanguageModel.get_peft_model(model, use_gradient_checkpointing=wanted["use_gradient_checkpointing"],
                                                     **checked(FastLanguageModel.get_peft_model, job["peft"], "peft"))
        recorder.reading("after_adapter")
    model._vramfit_tokenizer = tokenizer
    return model


def table(job: Job) -> Any:
    """The rows' tokens; Unsloth's collator makes the rest."""
    import datasets

    lengths = job["batch"]["lengths"] or [job["batch"]["sequence_length"]]
    count = row_count(job) * (ROWS_OF_A_PACK if job["training"].get("packing") else 1)
    words = (TOKENS["a"], TOKENS["b"])
    return datasets.Dataset.from_list([{"input_ids": [words[at % 2] for at in range(lengths[row % len(lengths)])]} for row in range(count)])


def make_trainer(job: Job, model: torch.nn.Module, arguments: Any, progress: Any) -> Any:
    """trl's SFTTrainer as Unsloth has changed it; UnslothTrainer where the ends of the network have a rate of their own."""
    import trl
    import unsloth

    rate = job["unsloth"].get("embedding_learning_rate")
    if rate is not None:
        arguments.embedding_learning_rate = rate
    trainer = trl.SFTTrainer if rate is None else unsloth.UnslothTrainer
    return trainer(model=model, processing_class=tokenizer_of(model), train_dataset=table(job), args=arguments, callbacks=[progress])


def know_scale(scaler: Any) -> None:
    """What the loss is multiplied by in fp16 is read from the device: what GradScaler begins with, as long as nothing overflows."""
    if scaler is None:
        return
    inner = scaler.get_scale

    @functools.wraps(inner)
    def known() -> float:
        inner()
        return float(scaler._init_scale)

    scaler.get_scale = known


def answer_counts(job: Job, trainer: Any, device: Device) -> None:
    """Processes tell each other what is the matter with their labels: nothing (unsloth_zoo/loss_utils.py _unsloth_get_batch_samples)."""
    samples, gather = trainer.get_batch_samples, trainer.accelerator.gather

    @functools.wraps(gather)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        device.tell_byte(0)
        return gather(*args, **kwargs)

    @functools.wraps(samples)
    def counted(*args: Any, **kwargs: Any) -> Any:
        out = samples(*args, **kwargs)
        device.tell_byte(told_byte(job))
        return out

    trainer.get_batch_samples, trainer.accelerator.gather = counted, gathered


def mark_norm(stages: Stages) -> None:
    """The final norm is a function of the module there (unsloth/models/llama.py fast_rms_layernorm), which calls no hook."""
    import unsloth.models.gemma
    import unsloth.models.llama

    def marked(original: Any) -> Any:
        @functools.wraps(original)
        def norm(module: torch.nn.Module, hidden: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            if module is stages.norm:
                stages.at_head(module, (hidden,), {})
            return original(module, hidden, *args, **kwargs)

        return norm

    for place in (unsloth.models.llama, unsloth.models.gemma, unsloth.models.gemma2):
        place.fast_rms_layernorm = marked(place.fast_rms_layernorm)
