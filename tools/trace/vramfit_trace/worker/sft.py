"""trl's SFTTrainer on rows of token ids: as it is since trl 0.9, and as it was in trl 0.8."""
from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch
import transformers

from ..job import Job, JobError
from . import phases
from .device import Device
from .libraries import trainer_makes_adapters
from .model import lora_config
from .recorder import Recorder

Rows = list[dict[str, torch.Tensor]]


def tokenizer() -> Any:
    """Two words: what trl's collator needs for padding."""
    import tokenizers

    words = tokenizers.models.WordLevel({"<eos>": 0, "<pad>": 1}, unk_token="<eos>")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(words), eos_token="<eos>", pad_token="<pad>")


def table_of(rows: Rows, name: str) -> Any:
    """The tokens of each row; trl's collator pads them."""
    import datasets

    lengths = [int(row["attention_mask"].sum()) for row in rows]
    columns = {key: [row[key][:length].tolist() for row, length in zip(rows, lengths)] for key in ("input_ids", "labels")}
    return datasets.Dataset(datasets.table.InMemoryTable.from_pydict(columns), fingerprint=name)


def labelled(job: Job, rows: Rows) -> int:
    """How many positions of a batch have a label."""
    places = own_places(job, len(rows[0]["input_ids"])) if rows else []
    return sum(place + 1 < int(row["attention_mask"].sum()) for row in rows for place in places)


def make(job: Job, model: torch.nn.Module, arguments: Any, rows: Rows, evaluated: Rows | None, progress: Any, device: Device,
         recorder: Recorder) -> Any:
    """With trl's collator, which makes the mask, and trl's loss."""
    import trl

    if job["batch"]["attention_mask"] not in ("ones", "right_padded"):
        raise JobError("trl's collator makes the mask: only ones and right_padded can be traced")
    own = {"peft_config": lora_config(job)} if trainer_makes_adapters(job) else {}
    if own:
        phases.mark_building(trl.SFTTrainer, recorder)
    trainer = trl.SFTTrainer(model=model, args=arguments, train_dataset=table_of(rows, "job"), processing_class=tokenizer(),
                             eval_dataset=evaluated and table_of(evaluated, "evaluation"), callbacks=[progress], **own)
    labels = {True: labelled(job, rows[: arguments.per_device_train_batch_size]),
              False: labelled(job, evaluated[: arguments.per_device_eval_batch_size]) if evaluated else 0}
    trainer.compute_loss = told(trainer.compute_loss, device, lambda: labels[trainer.model.training])
    return trainer


def own_places(job: Job, length: int) -> list[int]:
    """The places of a sequence that this process has: with context parallelism one part from the front and one from the back."""
    processes = job["distributed"]
    if not processes or processes["cp_size"] == 1:
        return list(range(length))
    part, rank, last = length // (2 * processes["cp_size"]), processes["rank"] % processes["cp_size"], 2 * processes["cp_size"] - 1
    return [place for at in (rank, last - rank) for place in range(at * part, (at + 1) * part)]


def told(compute_loss: Callable[..., Any], device: Device, labels: Callable[[], int]) -> Callable[..., Any]:
    """The loss picks the positions that have a label, whose number the host reads, in backward too: told until its end."""

    def call(*args: Any, **kwargs: Any) -> Any:
        device.tell_count(labels())
        return compute_loss(*args, **kwargs)

    return call


class PackedRows(torch.utils.data.Dataset):
    """trl 0.8 leaves a torch data set as it is."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return self.rows[index]


def make_2024(job: Job, model: torch.nn.Module, arguments: Any, rows: Rows, progress: Any, recorder: Recorder) -> Any:
    """trl 0.8 prepares the quantized model and makes the adapters itself."""
    if job["prepare_kbit"] is not None or job["peft"] is None:
        raise JobError("trl 0.8's SFTTrainer prepares the model itself: peft must be given and prepare_kbit null")
    from trl.trainer import sft_trainer

    def as_window(name: str) -> None:
        original = getattr(sft_trainer, name)

        @functools.wraps(original)  # SFTTrainer looks at its signature
        def call(*args: Any, **kwargs: Any) -> Any:
            recorder.window("prepare" if name.startswith("prepare") else "adapters")
            out = original(*args, **kwargs)
            recorder.window("trainer")
            return out

        setattr(sft_trainer, name, call)

    as_window("prepare_model_for_kbit_training")
    as_window("get_peft_model")
    asked_for = types.SimpleNamespace(pad_token="<pad>", eos_token="<eos>", padding_side="right")
    return sft_trainer.SFTTrainer(model=model, args=arguments, train_dataset=PackedRows(rows), peft_config=lora_config(job), packing=True,
                                  tokenizer=asked_for, max_seq_length=job["batch"]["sequence_length"], callbacks=[progress],
                                  data_collator=lambda batch: torch.utils.data.default_collate(batch))
