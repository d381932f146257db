"""LLaMA-Factory's own trainers of preferences, with its collators, checkpointing and reference model."""
from __future__ import annotations

import contextlib
import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from ..job import Job
from . import phases
from .recorder import Recorder
from .rows import END, TOKENS, of_row
from .stages import Stages

WORD = TOKENS["w"]
#: What the collators leave out of the loss.
IGNORED = -100
#: The arguments under `training` that are LLaMA-Factory's FinetuningArguments.
FINETUNING = ("pref_ftx", "pref_beta", "dpo_label_smoothing", "simpo_gamma", "kto_chosen_weight", "kto_rejected_weight")
#: `pref_loss` of the kinds that stand for one.
LOSSES = {"orpo": "orpo", "cpo": "simpo"}


def is_asked(job: Job) -> bool:
    """Whether the job's trainer is LLaMA-Factory's."""
    return bool(job["trl"].get("trainer") == "llama-factory")


def prepare() -> None:
    """LLaMA-Factory imports torchaudio for models of sound, none of which is traced."""
    missing = importlib.util.find_spec("torchaudio") is None
    if missing:
        sys.modules["torchaudio"] = types.ModuleType("torchaudio")
    import llamafactory.data.mm_plugin
    import llamafactory.train.trainer_utils  # noqa: F401

    if missing:
        del sys.modules["torchaudio"]


def arguments_of(training: dict[str, Any]) -> dict[str, Any]:
    """TrainingArguments: what LLaMA-Factory sets (hparams/parser.py), without its own arguments and its own switch of checkpointing."""
    own = ("loss_type", "gradient_checkpointing", "gradient_checkpointing_kwargs", *FINETUNING)
    return {"remove_unused_columns": False, **{key: value for key, value in training.items() if key not in own}}


def finetuning_arguments(job: Job) -> Any:
    from llamafactory.hparams import FinetuningArguments

    training, kind = job["training"], job["loop"]["kind"]
    given = {key: training[key] for key in FINETUNING if key in training}
    stage = {"kto": "kto", "reward": "rm"}.get(kind, "dpo")
    if stage == "dpo":
        given["pref_loss"] = LOSSES.get(kind) or training.get("loss_type", "sigmoid")
    return FinetuningArguments(stage=stage, finetuning_type="full" if job["peft"] is None else "lora", **given)


def model_arguments(job: Job, folder: str) -> Any:
    """Of the checkpoint in `folder`, loaded on the device."""
    from llamafactory.hparams import ModelArguments

    kwargs = job["training"].get("gradient_checkpointing_kwargs") or {}
    flash = {"eager": "disabled", "sdpa": "sdpa", "flash_attention_2": "fa2"}[job["load"]["attn_implementation"]]
    out = ModelArguments(model_name_or_path=folder, flash_attn=flash, use_reentrant_gc=kwargs.get("use_reentrant", True),
                         disable_gradient_checkpointing=not job["training"]["gradient_checkpointing"])
    out.device_map = {"": torch.device("cuda", 0)}
    if job["training"]["bf16"] or job["training"]["fp16"]:
        out.compute_dtype = torch.bfloat16 if job["training"]["bf16"] else torch.float16
    return out


def checkpoint_layers(job: Job, model: torch.nn.Module) -> None:
    """model/model_utils/checkpointing.py prepare_model_for_training, before adapters are made."""
    from llamafactory.model.model_utils.checkpointing import prepare_model_for_training

    prepare_model_for_training(model, model_arguments(job, model.config._name_or_path))


def has_value_head(job: Job) -> bool:
    return is_asked(job) and job["loop"]["kind"] == "reward"


def with_value_head(model: torch.nn.Module) -> torch.nn.Module:
    """model/loader.py load_model with add_valuehead, of a checkpoint without values."""
    from llamafactory.model.patcher import patch_valuehead_model
    from trl import AutoModelForCausalLMWithValueHead

    out = AutoModelForCausalLMWithValueHead.from_pretrained(model)
    patch_valuehead_model(out)
    out.train()
    return out


def tokens(prompt: int, completion: int) -> dict[str, list[int]]:
    """A row as LLaMA-Factory's data processors make it: the prompt has no labels."""
    ids = [WORD] * (prompt + completion - 1) + [END]
    return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": [IGNORED] * prompt + ids[prompt:]}


def row_of(job: Job, row: int) -> dict[str, Any]:
    """data/processor/pairwise.py and feedback.py; KTO's other completion is that of the row before (kl_response)."""
    batch = job["batch"]
    prompt, length = of_row(batch["prompt_length"], row), of_row(batch["completion_length"], row)
    out: dict[str, Any] = dict.fromkeys(("images", "videos", "audios"))
    if job["loop"]["kind"] == "kto":
        rows = len(batch["completion_length"]) if isinstance(batch["completion_length"], list) else 1
        other = tokens(prompt, of_row(batch["completion_length"], row - 1 + rows))
        return {**out, **tokens(prompt, length), **{f"kl_{key}": value for key, value in other.items()},
                "kto_tags": of_row(batch["desirable"], row)}
    rejected = of_row(batch["rejected_length"], row) if batch["rejected_length"] is not None else length
    for name, tokens_of in (("chosen", tokens(prompt, length)), ("rejected", tokens(prompt, rejected))):
        out.update({f"{name}_{key}": value for key, value in tokens_of.items()})
    return out


def collator(job: Job, model: torch.nn.Module, tokenizer: Any) -> Any:
    from llamafactory.data import KTODataCollatorWithPadding, PairwiseDataCollatorWithPadding
    from llamafactory.data.template import TEMPLATES

    cls = KTODataCollatorWithPadding if job["loop"]["kind"] == "kto" else PairwiseDataCollatorWithPadding
    return cls(template=TEMPLATES["empty"], model=model, pad_to_multiple_of=8, label_pad_token_id=IGNORED, tokenizer=tokenizer)


def reference(job: Job, folder: str, finetuning: Any, tokenizer: Any) -> Any:
    """train/trainer_utils.py create_ref_model, of full fine-tuning; with adapters the reference is the policy without them."""
    from llamafactory.train import trainer_utils

    trainer_utils.load_tokenizer = lambda _: {"tokenizer": tokenizer, "processor": None}
    return trainer_utils.create_ref_model(model_arguments(job, folder), finetuning)


def make(job: Job, model: torch.nn.Module, arguments: Any, progress: Any, recorder: Recorder, tokenizer: Any, rows: int) -> Any:
    """train/dpo/workflow.py, kto/workflow.py, rm/workflow.py."""
    from llamafactory.train.dpo.trainer import CustomDPOTrainer
    from llamafactory.train.kto.trainer import CustomKTOTrainer
    from llamafactory.train.rm.metric import ComputeAccuracy
    from llamafactory.train.rm.trainer import PairwiseTrainer

    tokenizer.padding_side = "right"
    finetuning, kind = finetuning_arguments(job), job["loop"]["kind"]
    collate = collator(job, model, tokenizer)
    own: dict[str, Any] = {}
    if kind == "reward":
        own["compute_metrics"] = ComputeAccuracy()
    else:
        own["ref_model"] = None
    if job["peft"] is None and (finetuning.use_ref_model or kind == "kto"):
        recorder.window("load_reference")
        own["ref_model"] = reference(job, model.config._name_or_path, finetuning, tokenizer)
        recorder.window("trainer")
    cls = {"reward": PairwiseTrainer, "kto": CustomKTOTrainer}.get(kind, CustomDPOTrainer)
    return cls(model=model, args=arguments, finetuning_args=finetuning, data_collator=collate, callbacks=[progress], train_dataset=[row_of(job, row) for row in range(rows)],
               tokenizer=tokenizer, processor=None, **own)


def mark(trainer: Any, stages: Stages) -> None:
    """What runs the reference, or other completions than the row's, is a phase."""
    if trainer.finetuning_args.stage == "kto" or trainer.finetuning_args.use_ref_model:
        trainer.compute_reference_log_probs = phases.marked(trainer.compute_reference_log_probs,
                                                            lambda *_: stages.within("reference_forward"))
    forward: Callable[..., Any] | None = getattr(trainer, "forward", None)
    if forward is None:
        return

    def of_kl(*args: Any, prefix: str = "") -> Any:
        with stages.within("kl_forward") if prefix else contextlib.nullcontext():
            return forward(*args, prefix=prefix)

    trainer.forward = of_kl
