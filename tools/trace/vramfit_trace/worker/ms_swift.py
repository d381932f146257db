"""ms-swift's own trainers of preferences, with its template's collator, loader of batches and reference model."""
from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..job import Job
from . import llama_factory
from .recorder import Recorder
from .rows import of_row, text

#: Arguments under `training` that are not those of ms-swift's configuration: what it sets by itself.
SET = {"remove_unused_columns": False, "check_model": False, "train_dataloader_shuffle": False, "dataloader_num_workers": 0,
       "dataloader_persistent_workers": False}

#: The same of GRPO (arguments/rlhf_args.py _init_grpo).
GROUPS = {"beta": 0.04, "loss_type": "grpo", "temperature": 0.9, "advantage_estimator": "grpo", "scale_rewards": "group", "kl_in_reward": False}


def is_asked(job: Job) -> bool:
    """Whether the job's trainer is ms-swift's."""
    return bool(job["trl"].get("trainer") == "ms-swift")


def named(job: Job, what: str) -> Any:
    """A class of ms-swift for the job's kind."""
    import importlib

    kind = job["loop"]["kind"]
    name = {"reward": "Reward"}.get(kind, kind.upper())
    module = "arguments" if what == "Config" else f"{kind}_trainer"
    return getattr(importlib.import_module(f"swift.rlhf_trainers.{module}"), f"{name}{what}")


def arguments_class(job: Job) -> Any:
    return named(job, "Config")


def arguments_of(job: Job, training: dict[str, Any]) -> dict[str, Any]:
    """swift/trainers/trainer_factory.py get_training_args: from what the command line has."""
    kind = job["loop"]["kind"]
    loss = {"dpo": "sigmoid", "cpo": "sigmoid", "kto": "kto"}.get(kind)
    # arguments/rlhf_args.py _set_default, _init_grpo
    own: dict[str, Any] = {**GROUPS} if kind == "grpo" else {} if kind == "reward" else {"beta": 0.1}
    if loss:
        own["loss_type"] = loss
    if kind in ("reward", "orpo", "cpo"):  # whose loader of batches is transformers' own
        own["train_sampling_strategy"] = "sequential"
    return {**own, **SET, "tuner_type": "full" if job["peft"] is None else "lora", **training}


def described(job: Job, model: torch.nn.Module) -> types.SimpleNamespace:
    """What swift/model/register.py get_model_processor leaves on the model and its tokenizer; arguments/rlhf_args.py _init_rm."""
    experts = any(getattr(model.config, key, None) for key in ("num_local_experts", "num_experts", "n_routed_experts"))
    model.model_meta = types.SimpleNamespace(is_multimodal=False, model_arch=None)
    task = "seq_cls" if job["loop"]["kind"] == "reward" else "causal_lm"
    model.model_info = types.SimpleNamespace(is_moe_model=bool(experts), config=model.config, task_type=task, max_model_len=None,
                                             model_dir=model.config._name_or_path, model_name="plain")
    model.generation_config = getattr(model, "generation_config", None)  # _init_generation_config
    return types.SimpleNamespace(model_meta=model.model_meta, model_info=model.model_info)


def config_arguments(job: Job) -> dict[str, Any]:
    """model/register.py ModelLoader.get_model: what it changes in the config of a network that classifies."""
    return {"tie_word_embeddings": False} if job["loop"]["kind"] == "reward" else {}


def template(job: Job, model: torch.nn.Module, tokenizer: Any) -> Any:
    """pipelines/train/rlhf.py _prepare_template, of a template without words."""
    from swift.template.base import Template
    from swift.template.template_meta import TemplateMeta

    about = described(job, model)
    tokenizer.model_meta, tokenizer.model_info = about.model_meta, about.model_info
    model.config.pad_token_id = tokenizer.pad_token_id  # _postprocess_model
    out = Template(tokenizer, TemplateMeta("plain", prefix=[], prompt=["{{QUERY}}"], chat_sep=None), remove_unused_columns=True)
    out.set_mode({"kto": "kto", "grpo": "train"}.get(job["loop"]["kind"], "rlhf"))
    return out


def row_of(job: Job, row: int) -> dict[str, Any]:
    """template/base.py _rlhf_encode: both completions with their labels, of a reward model without; _kto_encode, whose other one is that of the row before."""
    if job["loop"]["kind"] == "grpo":
        return {"messages": [{"role": "user", "content": text(of_row(job["batch"]["prompt_length"], row))}]}
    full = llama_factory.row_of(job, row)
    if job["loop"]["kind"] == "kto":
        out = {f"chosen_{key}": full[key] for key in ("input_ids", "labels")} | {"label": full["kto_tags"]}
        return out if job["training"].get("loss_type") == "apo_zero_unpaired" else out | {f"rejected_{key}": full[f"kl_{key}"] for key in ("input_ids", "labels")}
    left_out = ("attention_mask", "labels") if job["loop"]["kind"] == "reward" else ("attention_mask",)
    return {key: value for key, value in full.items() if value is not None and not key.endswith(left_out)}


def reward(completions: list[str], **_: Any) -> list[float]:
    """The reward function of a job: on the host, of the completions' lengths."""
    return [float(len(words)) for words in completions]


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
    kind = job["loop"]["kind"]
    if job["peft"] is None and (kind in ("dpo", "kto") or kind == "grpo" and job["training"].get("beta") != 0):
        recorder.window("load_reference")
        references.append(load().requires_grad_(False).eval())


def make(job: Job, model: torch.nn.Module, arguments: Any, progress: Any, tokenizer: Any, rows: int) -> Any:
    """pipelines/train/sft.py SwiftSft.run."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    own_template = template(job, inner, tokenizer)
    own: dict[str, Any] = {}
    if references:
        own["ref_model"] = references.pop()
        described(job, own["ref_model"])
        own["ref_model"].config.use_cache = False
    if job["loop"]["kind"] == "grpo":
        own["reward_funcs"] = [reward]
    trainer = named(job, "Trainer")(model=model, args=arguments, template=own_template, train_dataset=[row_of(job, row) for row in range(rows)], **own)
    trainer.add_callback(progress)
    mark_loader(lambda: progress.stages, job["loop"]["steps"])
    return trainer
