"""The rows of a batch in host memory, and the arguments of training."""
from __future__ import annotations

import copy
import os
from typing import Any

import torch
import transformers

from ..job import BATCHES, Job, JobError
from . import llama_factory, ms_swift, ppo
from .checkpoint import marks_tokens
from .libraries import checked, of_trl, trl_makes_adapters


def micro_batch(job: Job) -> dict[str, torch.Tensor]:
    """What a training step is given."""
    batch = job["batch"]
    return rows_of(job, job["training"]["per_device_train_batch_size"], batch["sequence_length"], batch["attention_mask"])


def rows_of(job: Job, rows: int, length: int, kind: str) -> dict[str, torch.Tensor]:
    """Token ids, labels and mask."""
    ids = torch.arange(rows * length, dtype=torch.int64).reshape(rows, length) % (job["model"].get("vocab_size") or 1000)
    if job["load"]["num_labels"]:
        batch = {"input_ids": ids, "labels": classes(job, ids)}
        return batch if kind == "absent" else {**batch, "attention_mask": mask_of(rows, length, kind)}
    batch = {"input_ids": ids, "labels": ids if job["batch"]["labels"] == "same_tensor" else ids.clone()}
    if kind == "absent":
        return batch
    return {**batch, "attention_mask": mask_of(rows, length, kind)}


def classes(job: Job, ids: torch.Tensor) -> torch.Tensor:
    """Labels of a network that classifies: of each token, of each row, or a number for each row where there is one label."""
    if marks_tokens(job):
        return torch.zeros_like(ids)
    return torch.zeros(len(ids), dtype=torch.float32 if job["load"]["num_labels"] == 1 else torch.int64)


def mask_of(rows: int, length: int, kind: str) -> torch.Tensor:
    """The mask; the first row has length/8 padded places."""
    mask = torch.ones(rows, length, dtype=torch.int64)
    padded = max(1, length // 8)
    if kind == "left_padded":
        mask[0, :padded] = 0
    elif kind == "right_padded":
        mask[0, -padded:] = 0
    return mask


def data_set(job: Job) -> list[dict[str, torch.Tensor]]:
    """As many rows as the run reads."""
    rows = job["training"]["per_device_train_batch_size"]
    batch = micro_batch(job)
    return [{key: value[number % rows] for key, value in batch.items()} for number in range(row_count(job))]


def row_count(job: Job) -> int:
    """Rows that the run's steps read."""
    training = job["training"]
    processes = job["distributed"]["world_size"] if job["distributed"] else 1
    return int(training["per_device_train_batch_size"] * training["gradient_accumulation_steps"] * job["loop"]["steps"] * processes)


def evaluates(job: Job) -> bool:
    """Whether TrainingArguments ask for evaluation; up to transformers 4.40 the argument has another name."""
    training = job["training"]
    strategies = (training.get("eval_strategy"), training.get("evaluation_strategy"))
    return bool(training.get("eval_on_start")) or any(strategy not in (None, "no") for strategy in strategies)


def evaluation_rows(job: Job) -> int:
    """Of a batch; TrainingArguments' default is 8."""
    return job["training"].get("per_device_eval_batch_size", 8)


def evaluation_mask(job: Job) -> str:
    """As in training where nothing is said."""
    return str(job["evaluation"]["attention_mask"] or job["batch"]["attention_mask"])


def told_byte(job: Job, evaluates: bool = False) -> int:
    """What all() and any() answer: whether no place is padded. Where values are known (`values.py`), that nothing else is the case."""
    if "attention_mask" not in job["batch"]:
        return 0
    return 0 if "padded" in (evaluation_mask(job) if evaluates else job["batch"]["attention_mask"]) else 1


def evaluation_set(job: Job) -> list[dict[str, torch.Tensor]] | None:
    """The rows of the job's batches of evaluation."""
    if not evaluates(job):
        return None
    rows, wanted = evaluation_rows(job), job["evaluation"]
    batch = rows_of(job, rows, wanted["sequence_length"] or job["batch"]["sequence_length"], evaluation_mask(job))
    processes = job["distributed"]["world_size"] if job["distributed"] else 1
    return [{key: value[number % rows] for key, value in batch.items()} for number in range(rows * wanted["batches"] * processes)]


def of_fsdp(processes: dict[str, Any]) -> dict[str, Any]:
    """TrainingArguments' options; `sharding_strategy` is the launcher's, which tells accelerate by a variable."""
    config = dict(processes["fsdp_config"])
    if int(transformers.__version__.split(".")[0]) < 5:
        return of_fsdp_4(processes["kind"], config)
    strategy = config.pop("sharding_strategy", None)
    if strategy:
        os.environ["FSDP_SHARDING_STRATEGY"] = strategy.upper()
    return {"fsdp": True, "fsdp_config": {**config, "version": int(processes["kind"][-1])}}


def of_fsdp_4(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    """Up to transformers 4.57 `fsdp` is a list of words, and what stands there is not read from `fsdp_config`."""
    if kind != "fsdp1":
        raise JobError("transformers 4 is traced under FSDP1 only")
    words = [config.pop("sharding_strategy", "full_shard")]
    policy = config.pop("auto_wrap_policy", "TRANSFORMER_BASED_WRAP")
    if policy != "NO_WRAP":
        words.append("auto_wrap")
    if policy != "SIZE_BASED_WRAP":
        config.pop("min_num_params", None)
    if config.pop("cpu_offload", False):
        words.append("offload")
    config.pop("reshard_after_forward", None)
    return {"fsdp": " ".join(words), "fsdp_config": config}


def of_processes(job: Job) -> dict[str, Any]:
    """The arguments by which Trainer knows how processes share the work."""
    processes = job["distributed"]
    kind = processes["kind"] if processes else ""
    if kind.startswith("fsdp"):
        return {**of_fsdp(processes), **parallelism(processes)}
    if kind == "deepspeed":
        return {"deepspeed": copy.deepcopy(processes["deepspeed"])}
    return dict(processes["ddp"]) if kind == "ddp" else {}


def parallelism(processes: dict[str, Any]) -> dict[str, Any]:
    """Sequences that are cut over `cp_size` of the processes, shards that `dp_replicate_size` groups of them have."""
    copies, context = processes["dp_replicate_size"], processes["cp_size"]
    if copies == context == 1:
        return {}
    from accelerate.parallelism_config import ParallelismConfig
    from accelerate.utils import TorchContextParallelConfig

    handler = TorchContextParallelConfig(cp_comm_strategy=processes["cp_comm_strategy"]) if context > 1 else None
    return {"parallelism_config": ParallelismConfig(
        dp_replicate_size=copies, dp_shard_size=processes["world_size"] // (copies * context), cp_size=context, cp_handler=handler)}


def training_arguments(job: Job, folder: str) -> transformers.TrainingArguments:
    """The job's `training`, for the class that the loop takes, with everything off that has no part in a step."""
    arguments = {"logging_strategy": "no", **job["training"], **of_processes(job)}
    arguments.pop("cut_cross_entropy", None)
    if evaluates(job):
        arguments.setdefault("eval_steps", 1)  # TrainingArguments would take logging_steps
    if not arguments["use_liger_kernel"]:
        del arguments["use_liger_kernel"]  # older versions do not know it
    cls: Any = transformers.TrainingArguments
    if job["loop"]["kind"] == "sft" and not trl_makes_adapters(job):
        import trl

        cls = trl.SFTConfig
        arguments = {"max_length": None, **arguments, "dataset_kwargs": {"skip_prepare_dataset": True}}
    elif job["loop"]["kind"] == "unsloth":
        import trl

        cls = trl.SFTConfig
        arguments = {"max_length": job["unsloth"]["max_seq_length"] or job["batch"]["sequence_length"], **arguments}
        if job["batch"]["lengths"] and not arguments.get("packing"):
            arguments = {"train_sampling_strategy": "sequential", **arguments}  # batches are of the rows that the job says
    elif job["loop"]["kind"] in BATCHES:
        if llama_factory.is_asked(job):
            arguments = llama_factory.arguments_of(arguments)
        elif ms_swift.is_asked(job):
            cls, arguments = ms_swift.arguments_class(job), ms_swift.arguments_of(job, arguments)
        else:
            cls = of_trl(job["loop"]["kind"], "Config")
        if job["loop"]["kind"] == "ppo":
            arguments = ppo.arguments_of(job, arguments)
    checked(cls, arguments, "training")
    return cls(output_dir=folder, max_steps=job["loop"]["steps"], save_strategy="no", report_to=[], disable_tqdm=True, **arguments)
