"""trl's trainers of preferences, rewards and distillation: DPO, reward models, KTO, ORPO, CPO, GRPO, RLOO, GKD,
online DPO, process reward models, BCO and PPO."""
from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers

from ..job import BATCHES, Job, JobError
from . import axolotl, llama_factory, ms_swift, phases, ppo, second, values
from .batch import evaluates, evaluation_rows, row_count
from .device import Device
from .libraries import of_trl
from .model import lora_config
from .recorder import Recorder
from .rows import GENERATING, SAMPLED, TOKENS, Completions, row_of


def tokenizer() -> Any:
    """Of the rows' words."""
    import tokenizers

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(TOKENS, unk_token="<unk>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token="<pad>",
                                                model_input_names=["input_ids", "attention_mask"])


def table(job: Job, count: int) -> Any:
    """So many rows."""
    import datasets

    datasets.disable_progress_bars()
    return datasets.Dataset.from_list([row_of(job, row) for row in range(count)])


def reward(completions: list[str], **_: Any) -> list[float]:
    """The reward function of a job: on the host, of the completions' lengths."""
    return [float(len(words)) for words in completions]


def rewards(job: Job, seconds: second.Seconds, recorder: Recorder) -> dict[str, Any]:
    """Reward models, which have tokenizers of their own, and functions: one, where the job says nothing."""
    models = [seconds.make("reward_models", wanted, recorder) for wanted in job["loop"].get("reward_models") or []]
    functions = job["loop"].get("reward_functions", 0 if models else 1)
    if not models and functions == 1:
        return {"reward_funcs": reward}
    return {"reward_funcs": models + [reward] * functions, "reward_processing_classes": [tokenizer() for _ in models] + [None] * functions}


def given_by_name(job: Job, seconds: second.Seconds, recorder: Recorder) -> dict[str, Any]:
    """What only some trainers take."""
    out: dict[str, Any] = {}
    if job["peft"] is not None and job["trl"]["peft_config"]:
        out["peft_config"] = lora_config(job)
    if job["loop"]["kind"] in SAMPLED:
        out.update(rewards(job, seconds, recorder))
    if job["loop"]["kind"] == "gkd":
        out["teacher_model"] = seconds.make("teacher", job["loop"]["teacher"], recorder)
    return out


def generates_by_vllm(job: Job) -> bool:
    return job["loop"]["kind"] in SAMPLED and bool(job["training"].get("use_vllm"))


def use_vllm_stand_in(job: Job, device: Device) -> None:
    """Puts the stand-in for the package vllm in front, before trl looks for the package."""
    if not generates_by_vllm(job):
        return
    if device.real:
        raise JobError("generation by vLLM is traced with a stand-in, not on a device")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "standins" / "vllm-0.31.0"))
    import vllm

    vllm.completion_of = Completions(job).whole
    if job["training"].get("vllm_mode") == "server":
        from vllm import server

        job["training"]["vllm_server_base_url"] = server.start(vllm.completion_of)


#: Networks whose loss looks up the places of a mask (transformers 5.16 modeling_gemma3.py Gemma3ForConditionalGeneration.forward).
PICKS_BY_MASK = ("gemma3",)


@contextlib.contextmanager
def known(job: Job, device: Device) -> Iterator[Completions | None]:
    """What the host reads in the meantime follows from the job; gives what is generated, of the kinds that do."""
    if job["loop"]["kind"] not in BATCHES and job["model"]["model_type"] not in PICKS_BY_MASK:
        yield None
        return
    drawn = Completions(job) if job["loop"]["kind"] in GENERATING else None
    with values.beside(device, drawn):
        yield drawn


def ask_all_ranks() -> None:
    """transformers generation/utils.py _has_unfinished_sequences with synced_gpus (ZeRO-3, FSDP): the ranks add up who goes on. All have
    rows as long as this one's."""
    from transformers.generation.utils import GenerationMixin

    def has_unfinished_sequences(_self: Any, this_peer_finished: Any, synced_gpus: bool, device: torch.device) -> bool:
        done = bool(this_peer_finished)
        if synced_gpus:
            flag = torch.tensor(0.0 if done else 1.0, device=device)
            torch.distributed.all_reduce(flag)
            flag.item()
        return not done

    GenerationMixin._has_unfinished_sequences = has_unfinished_sequences


def make(job: Job, model: torch.nn.Module, arguments: Any, progress: Any, recorder: Recorder) -> Any:
    """The trainer, with windows for what it does while it is built."""
    if llama_factory.is_asked(job):
        return llama_factory.make(job, model, arguments, progress, recorder, tokenizer(), row_count(job))
    if ms_swift.is_asked(job):
        return ms_swift.make(job, model, arguments, progress, tokenizer(), row_count(job))
    cls = of_trl(job["loop"]["kind"], "Trainer")
    evaluated = table(job, evaluation_rows(job) * job["evaluation"]["batches"]) if evaluates(job) else None
    if job["trl"]["trainer"] == "axolotl":
        cls = axolotl.with_emptied_cache(cls)
    if job["distributed"]:
        ask_all_ranks()
    phases.mark_building(cls, recorder)
    if job["loop"]["kind"] == "ppo":
        rows = table(job, row_count(job) + ppo.rows_of_update(job))
        return ppo.make(job, cls, model, arguments, rows, tokenizer(), progress, recorder)
    second.mark_placing(recorder, job["loop"]["kind"] == "gkd")
    seconds = second.Seconds()
    with axolotl.loaded_reference(job) as given:
        return cls(model=model, args=arguments, train_dataset=table(job, row_count(job)), eval_dataset=evaluated,
                   processing_class=tokenizer(), callbacks=[progress], **given, **given_by_name(job, seconds, recorder))
