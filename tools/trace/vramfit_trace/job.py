"""Reads a job file (schema vramfit.job/1): defaults filled in, unknown keys and choices refused."""
from __future__ import annotations

import copy
import json
from typing import Any

from .cards import card_named

Job = dict[str, Any]


class JobError(Exception):
    """The job cannot be understood, or asks for what this tracer does not do."""


SCHEMA = "vramfit.job/1"

DEFAULTS: Job = {
    "schema": SCHEMA,
    "name": "",
    "stack": "hf-2026-11",
    "model": None,
    "load": {
        "dtype": "bfloat16",
        "attn_implementation": "sdpa",
        "sdpa_kernel": None,
        "sdpa_expand_kv": None,
        "device_map": {"": 0},
        "moved_by": "script",
        "gradient_checkpointing": False,
        "shard_size": None,
        "resize_token_embeddings": None,
        "num_labels": None,
        "upcast": None,
        "upcast_stays": False,
        "cast_after_adapter": None,
        "quantization_config": None,
        "text_part": None,
        "task_type": None,
    },
    "prepare_kbit": None,
    "peft": None,
    "trl": {"peft_module_casting_to_bf16": False, "peft_config": False},
    "training": {
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 1,
        "gradient_checkpointing": False,
        "gradient_checkpointing_kwargs": None,
        "bf16": False,
        "fp16": False,
        "optim": "adamw_torch",
        "max_grad_norm": 1.0,
        "use_liger_kernel": False,
    },
    "batch": {"sequence_length": 128, "attention_mask": "ones", "labels": "copy"},
    "loop": {
        "kind": "trainer",
        "steps": 2,
        "peak_window": "process",
        "phase_step": None,
        "output": "until_next_forward",
        "zero_grad": "after_step",
        "batch": "every_step",
        "input_require_grads": False,
        "reward_models": None,
        "reward_functions": None,
        "teacher": None,
        "value_model": None,
        "ref_model": None,
    },
    "evaluation": {"batches": 2, "sequence_length": None, "attention_mask": None},
    "distributed": None,
    "device": {"name": None, "vram_bytes": None, "total_bytes": None, "free_bytes": None},
    "card": "a100",
    "environment": {},
}

#: Of Unsloth: arguments of FastLanguageModel.from_pretrained by its names, but for the checkpoint; null: not given, but for
#: max_seq_length, which is then the batch's. `llm_int8_skip_modules`: a BitsAndBytesConfig that leaves these in 16 bits too. `embedding_learning_rate`: of UnslothTrainingArguments. `peft` has the arguments of FastLanguageModel.get_peft_model, `training` those of SFTConfig.
UNSLOTH: Job = {"max_seq_length": None, "dtype": None, "load_in_4bit": True, "full_finetuning": False, "use_gradient_checkpointing": "unsloth",
                "llm_int8_skip_modules": None, "embedding_learning_rate": None}
#: `lengths` has one length for each row of the run, over and over; without packing they come in this order.
UNSLOTH_BATCH: Job = {"sequence_length": 128, "lengths": None, "attention_mask": "ones", "labels": "copy"}
#: What is left out is Unsloth's and trl's own choice.
UNSLOTH_TRAINING: Job = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 1, "optim": "adamw_8bit", "max_grad_norm": 1.0,
                         "use_liger_kernel": False}

#: Of a job with several processes. `kind` is one of the keys of KINDS.
DISTRIBUTED: Job = {
    "kind": None,
    "world_size": 2,
    "local_world_size": None,
    "rank": 0,
    "events": "slow",
    "load_first": False,
    "load_on_device": False,
    "prepared_by": "accelerate",
    "cp_size": 1,
    "cp_comm_strategy": "allgather",
    "dp_replicate_size": 1,
    "ddp": {},
    "fsdp_config": {},
    "deepspeed": {},
    "tp": {},
    "pipeline": {},
}
#: The section of each kind's own options.
KINDS = {"ddp": "ddp", "fsdp1": "fsdp_config", "fsdp2": "fsdp_config", "deepspeed": "deepspeed", "tp": "tp", "pipeline": "pipeline"}
#: Of a pipeline: the schedule, what torch.distributed.pipelining calls n_microbatches, and stages in each process.
PIPELINE: Job = {"schedule": "1f1b", "micro_batches": None, "virtual_stages": 1, "return_outputs": True}

#: What the rows of trl's trainers of preferences are made of, in place of the other loops' `batch`: lengths in tokens, each a number
#: or one for each row of a batch. A completion ends with the end-of-sequence token, which counts.
PAIRS: Job = {"prompt_length": 32, "completion_length": 32, "rejected_length": None}
BATCHES: dict[str, Job] = {
    **dict.fromkeys(("dpo", "reward", "orpo", "cpo"), PAIRS),
    "kto": {"prompt_length": 32, "completion_length": 32, "desirable": [True, False]},
    **dict.fromkeys(("grpo", "rloo", "online_dpo"), {"prompt_length": 32, "completion_length": 32}),
    # `generated_length`: of what the student or the teacher generates; nothing: as long as max_new_tokens allows
    "gkd": {"prompt_length": 32, "completion_length": 32, "generated_length": None},
    # one step, whose last token has the label; the separator behind it is no token here
    "prm": {"prompt_length": 32, "completion_length": 32},
    "bco": {"prompt_length": 32, "completion_length": 32, "desirable": [True, False]},
    # a row's end is drawn as its token `completion_length`, if `response_length` lets it; nothing: as the last one. `padded`: prompts begin with a token of padding
    "ppo": {"prompt_length": 32, "completion_length": None, "padded": False},
}
#: Whose rows are prompts: the trainer generates the completions, and rewards them.
SAMPLING = ("grpo", "rloo", "online_dpo")
#: Whose trainer is given reward models, as objects or by name.
REWARDED = (*SAMPLING, "ppo")
#: Of these loops: whether the trainer makes the adapters from a `peft_config`, or is given a model that has them;
#: "axolotl" in place of "trl": the trainer empties the cache after each training step, as axolotl's of DPO does;
#: `ref_model` "given": the reference is loaded as the policy is, behind it, and given to the trainer, as axolotl does it without an adapter;
#: "unused": the same where the trainer takes none (axolotl's of KTO, SimPO and GRPO), and it goes once that is built;
#: "ms-swift": ms-swift's own of dpo, reward (its rm), kto, orpo and cpo, which is given one too;
#: "llama-factory": LLaMA-Factory's own trainer of its stages dpo (with `cpo` for simpo), kto and rm, which is given a model that has adapters.
PREFERENCE_TRL: Job = {**DEFAULTS["trl"], "peft_config": True, "trainer": "trl", "ref_model": None}
#: A second network: a reward model of GRPO, RLOO and PPO, the teacher of GKD, PPO's value model. `model` is the content of its config.json; what is null is not given to
#: from_pretrained. A config without a dtype is that of a checkpoint in bfloat16. It is loaded in host memory, as trl does it, or by the script on the device (`device_map`, quantized weights).
SECOND: Job = {"model": None, "dtype": None, "attn_implementation": None, "device_map": None, "quantization_config": None}
#: Trainers of preferences that are not trl's: of which kinds.
OWN_TRAINERS = {"llama-factory": ("dpo", "reward", "kto", "orpo", "cpo"), "ms-swift": ("dpo", "reward", "kto", "orpo", "cpo", "grpo")}

CHOICES: dict[str, tuple[Any, ...]] = {
    "load.attn_implementation": ("eager", "sdpa", "flash_attention_2"),
    "load.sdpa_kernel": (None, "flash", "efficient", "cudnn", "math"),
    "load.sdpa_expand_kv": (None, "repeat_interleave"),
    "load.device_map": ({"": 0}, None),
    "load.moved_by": ("script", "trainer"),
    "load.text_part": (None, False),
    "load.task_type": (None, "SEQ_CLS", "TOKEN_CLS"),
    "batch.attention_mask": ("absent", "ones", "left_padded", "right_padded"),
    "batch.labels": ("copy", "same_tensor"),
    "loop.kind": ("trainer", "plain", "sft", "unsloth", *BATCHES),
    "loop.output": ("until_next_forward", "until_step_end"),
    "loop.zero_grad": ("after_step", "before_forward"),
    "loop.batch": ("every_step", "once"),
}

#: The libraries read these; the runtime's own variables are no business of a job.
VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE", "HF_DEACTIVATE_ASYNC_LOAD")
#: Of these, what is read when it is needed, not when a library is imported. This one: transformers 5 loads without threads.
WITHOUT_THREADS = "HF_DEACTIVATE_ASYNC_LOAD"


def read_job(text: str) -> Job:
    """The job of a job file, or of a trace, which carries its job."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise JobError(f"not JSON: {error}") from None
    if not isinstance(document, dict):
        raise JobError("a job is one JSON object")
    return complete(document["job"] if document.get("schema") == "vramfit.trace/1" else document)


def complete(job: Job) -> Job:
    """The job with all defaults; sections are merged key by key."""
    full = copy.deepcopy(DEFAULTS)
    kind = (job.get("loop") or {}).get("kind")
    if kind in BATCHES:
        full.update(batch=copy.deepcopy(BATCHES[kind]), trl=copy.deepcopy(PREFERENCE_TRL))
        if (job.get("trl") or {}).get("trainer") in OWN_TRAINERS:
            full["trl"]["peft_config"] = False
    if kind == "unsloth":
        full.update(copy.deepcopy({"unsloth": UNSLOTH, "batch": UNSLOTH_BATCH, "training": UNSLOTH_TRAINING}))
    for key, value in job.items():
        section = full.get(key)
        if key not in full:
            raise JobError(f"unknown key {key!r}")
        if key == "distributed":
            full[key] = None if value is None else distributed(value)
            continue
        if not isinstance(section, dict):
            full[key] = value
            continue
        # `training` goes to a class of the libraries and `environment` to the process: they are checked there
        unknown = set() if key in ("training", "environment") else set(value) - set(section)
        if unknown:
            raise JobError(f"unknown keys in {key!r}: {', '.join(sorted(unknown))}")
        section.update(value)
    seconds(full["loop"])
    check(full)
    if full["load"]["moved_by"] == "script":  # of which most jobs say nothing
        del full["load"]["moved_by"]
    for key in ("text_part", "task_type"):  # as AutoModelForCausalLM loads the model; of which most jobs say nothing
        if full["load"][key] is None:
            del full["load"][key]
    if "ref_model" in full["trl"] and full["trl"]["ref_model"] is None:
        del full["trl"]["ref_model"]
    return full


def seconds(loop: Job) -> None:
    """The networks beside the one that is trained, with their defaults; a loop without them does not speak of them."""
    if loop["reward_models"] is not None:
        loop["reward_models"] = [second(given, "loop.reward_models") for given in loop["reward_models"]]
    for key in ("teacher", "value_model"):
        if loop[key] is not None:
            loop[key] = second(loop[key], f"loop.{key}")
    for key in ("reward_models", "reward_functions", "teacher", "value_model", "ref_model"):
        if loop[key] is None:
            del loop[key]


def second(given: Job, place: str) -> Job:
    unknown = set(given) - set(SECOND)
    if unknown:
        raise JobError(f"unknown keys in {place!r}: {', '.join(sorted(unknown))}")
    full = {**SECOND, **given}
    if not isinstance(full["model"], dict) or "model_type" not in full["model"]:
        raise JobError(f"{place}: model must be the content of a config.json with its model_type")
    full["model"] = {"dtype": "bfloat16", **full["model"]}
    return full


def distributed(given: Job) -> Job:
    """The section of several processes with its defaults."""
    full = {**copy.deepcopy(DISTRIBUTED), **given}
    unknown = set(given) - set(DISTRIBUTED)
    if unknown:
        raise JobError(f"unknown keys in 'distributed': {', '.join(sorted(unknown))}")
    if full["kind"] not in KINDS:
        raise JobError(f"distributed.kind must be one of {', '.join(KINDS)}")
    if full["prepared_by"] not in ("accelerate", "axolotl") or (full["prepared_by"] == "axolotl" and full["kind"] != "fsdp2"):
        raise JobError("distributed.prepared_by must be accelerate, or axolotl under fsdp2")
    if full["events"] not in ("slow", "fast"):
        raise JobError("distributed.events must be slow or fast")
    if not 0 <= full["rank"] < full["world_size"]:
        raise JobError("distributed.rank must be below world_size")
    for part in ("local_world_size", "dp_replicate_size", "cp_size"):
        if full[part] is not None and (full[part] < 1 or full["world_size"] % full[part]):
            raise JobError(f"distributed.{part} must divide world_size")
    if full["cp_comm_strategy"] not in ("allgather", "alltoall"):
        raise JobError("distributed.cp_comm_strategy must be allgather or alltoall")
    for options in set(KINDS.values()) - {KINDS[full["kind"]]}:
        if full[options]:
            raise JobError(f"distributed.{options} does not belong to the kind {full['kind']}")
    if full["kind"] == "pipeline":
        full["pipeline"] = pipeline(full["pipeline"], full["world_size"])
    return full


def pipeline(given: Job, stages: int) -> Job:
    """The options of a pipeline; as many micro batches as stages if nothing is said."""
    unknown = set(given) - set(PIPELINE)
    if unknown:
        raise JobError(f"unknown keys in 'distributed.pipeline': {', '.join(sorted(unknown))}")
    full = {**PIPELINE, **given}
    if full["schedule"] not in ("gpipe", "1f1b", "interleaved_1f1b"):
        raise JobError("distributed.pipeline.schedule must be gpipe, 1f1b or interleaved_1f1b")
    full["micro_batches"] = full["micro_batches"] or stages
    return full


def check(job: Job) -> None:
    """Refuses what no library would be asked about."""
    if job["schema"] != SCHEMA:
        raise JobError(f"the schema is {job['schema']!r}, not {SCHEMA!r}")
    if not isinstance(job["model"], dict) or "model_type" not in job["model"]:
        raise JobError("model must be the content of a config.json with its model_type")
    for place, allowed in CHOICES.items():
        section, key = place.split(".")
        if key in job[section] and job[section][key] not in allowed:
            raise JobError(f"{place} must be one of {', '.join(map(json.dumps, allowed))}")
    if job["loop"]["kind"] in BATCHES:
        check_lengths(job["batch"])
        check_trainer(job)
    if job["loop"]["kind"] == "unsloth":
        check_unsloth(job)
    if job["load"].get("task_type") and not job["load"]["num_labels"]:
        raise JobError("load.task_type is that of a network with load.num_labels")
    if job["loop"]["kind"] not in REWARDED and "reward_models" in job["loop"]:
        raise JobError(f"loop.reward_models belong to loop.kind {', '.join(REWARDED)}")
    if job["loop"]["kind"] not in SAMPLING and "reward_functions" in job["loop"]:
        raise JobError(f"loop.reward_functions belong to loop.kind {', '.join(SAMPLING)}")
    if job["loop"]["kind"] == "ppo" and len(job["loop"].get("reward_models", ())) != 1:
        raise JobError("loop.kind ppo has one of loop.reward_models")
    if (job["loop"]["kind"] == "ppo") != ("value_model" in job["loop"]):
        raise JobError("loop.kind ppo has a loop.value_model, and no other kind has one")
    if "ref_model" in job["loop"] and (job["loop"]["kind"] != "ppo" or job["peft"] is not None or job["loop"]["ref_model"] is not True):
        raise JobError("loop.ref_model is true (the script loads the reference), or left out, of loop.kind ppo without peft")
    if (job["loop"]["kind"] == "gkd") != ("teacher" in job["loop"]):
        raise JobError("loop.kind gkd has a loop.teacher, and no other kind has one")
    if job["distributed"]:
        trained = ("trainer", "sft", "dpo", "reward", "grpo", "rloo")
        kinds = {"pipeline": ("plain",), "ddp": (*trained, "unsloth"), "deepspeed": trained, "fsdp2": trained}.get(job["distributed"]["kind"], ("trainer", "sft"))
        if job["loop"]["kind"] not in kinds:
            raise JobError(f"distributed.kind {job['distributed']['kind']} is traced with loop.kind {' or '.join(kinds)}")
    foreign = set(job["environment"]) - set(VARIABLES)
    if foreign:
        raise JobError(f"environment knows only {', '.join(VARIABLES)}")
    try:
        card_named(job["card"])
    except ValueError as error:
        raise JobError(str(error)) from None


def check_unsloth(job: Job) -> None:
    """Unsloth loads and prepares the model itself, and its collator makes the mask."""
    for key in ("prepare_kbit", "evaluation", "load", "batch.attention_mask", "batch.labels"):
        section, _, rest = key.partition(".")
        given, default = (job[section][rest], UNSLOTH_BATCH[rest]) if rest else (job[section], DEFAULTS[section])
        if given != default:
            raise JobError(f"{key} does not belong to loop.kind unsloth")
    lengths = job["batch"]["lengths"]
    if lengths is not None and (not isinstance(lengths, list) or not lengths or any(type(length) is not int or length < 2 for length in lengths)):
        raise JobError("batch.lengths must be a list with a number of tokens from 2 for each row of a batch")
    if job["unsloth"]["full_finetuning"] != (job["peft"] is None):
        raise JobError("unsloth.full_finetuning must be true without peft, and false with it")


def check_trainer(job: Job) -> None:
    """Of preferences: whose class it is."""
    trainer = job["trl"]["trainer"]
    if trainer not in ("trl", "axolotl", *OWN_TRAINERS):
        raise JobError(f"trl.trainer must be trl, axolotl, {' or '.join(OWN_TRAINERS)}")
    if job["trl"]["ref_model"] not in (None, "given", "unused"):
        raise JobError("trl.ref_model must be given or unused")
    if trainer in OWN_TRAINERS and job["loop"]["kind"] not in OWN_TRAINERS[trainer]:
        raise JobError(f"the trainers of {trainer} are traced with loop.kind {', '.join(OWN_TRAINERS[trainer])}")
    if trainer in OWN_TRAINERS and job["trl"]["peft_config"]:
        raise JobError(f"trl.peft_config: {trainer} makes the adapters before its trainer")


def check_lengths(batch: Job) -> None:
    """Of prompts and completions: whole numbers from 1."""
    for key, value in batch.items():
        if key in ("desirable", "padded") or value is None and (key in ("rejected_length", "generated_length") or "padded" in batch):
            continue
        lengths = value if isinstance(value, list) else [value]
        if not lengths or any(type(length) is not int or length < 1 for length in lengths):
            raise JobError(f"batch.{key} must be a number of tokens from 1, or a list with one for each row")
    desirable = batch.get("desirable", [True])
    if not isinstance(desirable, list) or not desirable or any(type(value) is not bool for value in desirable):
        raise JobError("batch.desirable must be a list of true and false, one for each row")
