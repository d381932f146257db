"""ms-swift's own trainer of DPO, with its template's collator, loader of batches and reference model."""
from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..job import Job
from . import llama_factory
from .recorder import Recorder

#: Arguments under `training` that are not those of ms-swift's configuration: what it sets by itself.
SET = {"remove_unused_columns": False, "check_model": False, "train_dataloader_shuffle": False, "dataloader_num_workers": 0,
       "dataloader_persistent_workers": False}


def is_asked(job: Job) -> bool:
    """Whether the job's trainer is ms-swift's."""
    return bool(job["trl"].get("trainer") == "ms-swift")


def arguments_class() -> Any:
    from swift.rlhf_trainers.arguments import DPOConfig

    return DPOConfig


def arguments_of(job: Job, training: dict[str, Any]) -> dict[str, Any]:
    """swift/trainers/trainer_factory.py get_training_args: from what the command line has."""
    own = {"beta": 0.1, "loss_type": "sigmoid"}  # arguments/rlhf_args.py _set_default
    return {**own, **SET, "tuner_type": "full" if job["peft"] is None else "lora", **training}


def described(model: torch.nn.Module) -> types.SimpleNamespace:
    """What swift/model/register.py get_model_processor leaves on the model and its tokenizer."""
    experts = any(getattr(model.config, key, None) for key in ("num_local_experts", "num_experts", "n_routed_experts"))
    model.model_meta = types.SimpleNamespace(is_multimodal=False, model_arch=None)
    model.model_info = types.SimpleNamespace(is_moe_model=bool(experts), config=model.config, task_type="causal_lm", max_model_len=None)
    return types.SimpleNamespace(model_meta=model.model_meta, model_info=model.model_info)


def template(model: torch.nn.Module, tokenizer: Any) -> Any:
    """pipelines/train/rlhf.py _prepare_template, of a template without words."""
    from swift.template.base import Template
    from swift.template.template_meta import TemplateMeta

    about = described(model)
    tokenizer.model_meta, tokenizer.model_info = about.model_meta, about.model_info
    out = Template(tokenizer, TemplateMeta("plain", prefix=[], prompt=["{{QUERY}}"], chat_sep=None), remove_unused_columns=True)
    out.set_mode("rlhf")
    return out


def row_of(job: Job, row: int) -> dict[str, Any]:
    """template/base.py _rlhf_encode: both completions with their labels."""
    full = llama_factory.row_of(job, row)
    return {key: value for key, value in full.items() if value is not None and not key.endswith("attention_mask")}


def mark_loader(stages_of: Callable[[], Any], steps: int) -> None:
    """Its loader is a class of its own."""
    from swift.dataloader.shard import DataLoaderShard

    batches = DataLoaderShard.__iter__

    def marked(self: Any) -> Iterator[Any]:
        if stages_of().step < steps:
            stages_of().inputs()
        yield from batches(self)

    DataLoaderShard.__iter__ = marked


#: The reference of full fine-tuning, from where it is loaded to where the trainer takes it.
references: list[torch.nn.Module] = []


def load_reference(job: Job, load: Callable[[], torch.nn.Module], recorder: Recorder) -> None:
    """pipelines/train/rlhf.py _prepare_single_model: of full fine-tuning, before the policy, and as it."""
    if job["peft"] is None:
        recorder.window("load_reference")
        references.append(load().requires_grad_(False).eval())


def make(job: Job, model: torch.nn.Module, arguments: Any, progress: Any, tokenizer: Any, rows: int) -> Any:
    """pipelines/train/sft.py SwiftSft.run."""
    from swift.rlhf_trainers.dpo_trainer import DPOTrainer

    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    own_template = template(inner, tokenizer)
    own: dict[str, Any] = {}
    if references:
        own["ref_model"] = references.pop()
        described(own["ref_model"])
        own["ref_model"].config.use_cache = False
    trainer = DPOTrainer(model=model, args=arguments, template=own_template, train_dataset=[row_of(job, row) for row in range(rows)], **own)
    trainer.add_callback(progress)
    mark_loader(lambda: progress.stages, job["loop"]["steps"])
    return trainer
