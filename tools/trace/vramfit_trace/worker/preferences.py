"""trl's trainers of preferences and rewards, on rows of text of which each word is one token."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ..job import BATCHES, Job
from . import phases, values
from .batch import evaluates, evaluation_rows, row_count
from .completions import END, PADDING, SAMPLED, WORD, Completions, of_row
from .device import Device
from .libraries import of_trl
from .model import lora_config
from .recorder import Recorder

def tokenizer() -> Any:
    """The end, padding, and the word that all texts consist of."""
    import tokenizers

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<eos>": END, "<pad>": PADDING, "<unk>": 2, "w": WORD}, unk_token="w"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token="<pad>")


def text(words: int) -> str:
    return " ".join(["w"] * words)


def completion(tokens: int) -> str:
    """Text that with the end, which every trainer appends, has so many tokens."""
    return "".join([" w"] * (tokens - 1))


def row_of(job: Job, row: int) -> dict[str, Any]:
    """The columns that trl documents for the kind."""
    batch, kind = job["batch"], job["loop"]["kind"]
    prompt = text(of_row(batch["prompt_length"], row))
    if kind in SAMPLED:
        return {"prompt": prompt}
    length = of_row(batch["completion_length"], row)
    if kind == "kto":
        return {"prompt": prompt, "completion": completion(length), "label": of_row(batch["desirable"], row)}
    rejected = of_row(batch["rejected_length"], row) if batch["rejected_length"] is not None else length
    return {"prompt": prompt, "chosen": completion(length), "rejected": completion(rejected)}


def table(job: Job, count: int) -> Any:
    """So many rows."""
    import datasets

    datasets.disable_progress_bars()
    return datasets.Dataset.from_list([row_of(job, row) for row in range(count)])


def given_by_name(job: Job) -> dict[str, Any]:
    """What only some trainers take."""
    out: dict[str, Any] = {}
    if job["peft"] is not None and job["trl"]["peft_config"]:
        out["peft_config"] = lora_config(job)
    if job["loop"]["kind"] in SAMPLED:
        out["reward_funcs"] = reward
    return out


def reward(completions: list[str], **_: Any) -> list[float]:
    """The reward function of a job: on the host, of the completions' lengths."""
    return [float(len(words)) for words in completions]


@contextlib.contextmanager
def known(job: Job, device: Device) -> Iterator[Completions | None]:
    """What the host reads in the meantime follows from the job; gives what is generated, of the kinds that do."""
    if job["loop"]["kind"] not in BATCHES:
        yield None
        return
    drawn = Completions(job) if job["loop"]["kind"] in SAMPLED else None
    with values.beside(device, drawn):
        yield drawn


def make(job: Job, model: torch.nn.Module, arguments: Any, progress: Any, recorder: Recorder) -> Any:
    """The trainer, with windows for what it does while it is built."""
    cls = of_trl(job["loop"]["kind"], "Trainer")
    evaluated = table(job, evaluation_rows(job) * job["evaluation"]["batches"]) if evaluates(job) else None
    phases.mark_building(cls, recorder)
    return cls(model=model, args=arguments, train_dataset=table(job, row_count(job)), eval_dataset=evaluated,
               processing_class=tokenizer(), callbacks=[progress], **given_by_name(job))
