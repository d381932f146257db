"""Jobs of trl's trainers of preferences: rows and arguments are drawn from a generator of their own, the rest is the walk's job."""
from __future__ import annotations

import random
from typing import Any

from .families import FAMILIES
from .job import Job
from .worker.rows import SAMPLED

LENGTHS = (1, 7, 32, 60, 100, 128, 200, 400)
LOSSES = ("sigmoid", "sigmoid", "sigmoid", "hinge", "ipo", "nca_pair", "robust", "bco_pair", "sppo_hard", "apo_zero", "apo_down",
          "discopop", "sft", "sigmoid_norm")
#: Of GRPO.
GROUP_LOSSES = ("dapo", "dapo", "grpo", "bnpo", "dr_grpo", "cispo", "sapo", "luspo", "vespo")
#: What trl up to 0.28 does not know, or computes in another way.
NEWER = ("sigmoid_norm", "bco_pair")


def lengths(walker: random.Random, rows: int) -> dict[str, Any]:
    """Of a batch: mostly the same for all rows, some as long as each other, some not."""
    batch: dict[str, Any] = {"prompt_length": walker.choice(LENGTHS), "completion_length": walker.choice(LENGTHS)}
    kind = walker.random()
    if kind < 0.4:
        batch["rejected_length"] = walker.choice(LENGTHS)
    elif kind < 0.6 and rows > 1:
        batch["prompt_length"] = [walker.choice(LENGTHS) for _ in range(rows)]
        batch["completion_length"] = [walker.choice(LENGTHS) for _ in range(rows)]
        batch["rejected_length"] = [walker.choice(LENGTHS) for _ in range(rows)]
    return batch


def losses_of(walker: random.Random, kind: str) -> dict[str, Any]:
    """Arguments of the loss."""
    if kind == "reward":
        return {"center_rewards_coefficient": 0.01} if walker.random() < 0.3 else {}
    if kind in ("orpo", "bco"):
        return {}
    if kind == "kto":
        return {"loss_type": walker.choice(("kto", "kto", "kto", "apo_zero_unpaired"))}
    if kind == "cpo":
        return {"loss_type": walker.choice(("sigmoid", "hinge", "ipo", "simpo", "simpo")), "cpo_alpha": walker.choice((0.0, 1.0))}
    if kind == "older":
        return {"loss_type": walker.choice([loss for loss in LOSSES if loss not in NEWER])}
    if walker.random() < 0.3:
        return {"loss_type": walker.sample(sorted(set(LOSSES)), 2)}
    return {"loss_type": walker.choice(LOSSES)}


def rows_of(walker: random.Random, kind: str, rows: int) -> dict[str, Any]:
    """The batch: KTO and BCO have a label for each row in place of pairs."""
    batch = lengths(walker, rows)
    if kind in ("kto", "bco"):
        batch.pop("rejected_length", None)
        batch["desirable"] = walker.choice(([True, False], [True], [False], [True, True, False]))
    if kind == "bco":  # which stops at an answer without tokens in front of its end
        tokens = batch["completion_length"]
        batch["completion_length"] = [max(2, each) for each in tokens] if isinstance(tokens, list) else max(2, tokens)
    return batch


#: LLaMA-Factory's trainers, by kind.
FACTORY = ("dpo", "dpo", "dpo", "dpo", "orpo", "cpo", "kto", "kto", "reward", "reward")


def by_llama_factory(job: Job, walker: random.Random) -> Job:
    """The job with a trainer of LLaMA-Factory's, and without what its files cannot ask for."""
    kind = walker.choice(FACTORY)
    training = dict(job["training"])
    if kind == "dpo":
        training["loss_type"] = walker.choice(("sigmoid", "sigmoid", "hinge", "ipo"))
    if kind != "reward" and walker.random() < 0.3:
        training["pref_ftx"] = 0.1
    rows = training["per_device_train_batch_size"]
    batch = rows_of(walker, kind, rows if training["gradient_accumulation_steps"] == 1 else 1)
    if len(batch.get("desirable", ())) > 1 and (training["gradient_accumulation_steps"] > 1 or rows % len(batch["desirable"])):
        batch["desirable"] = [True]
    several = isinstance(batch["prompt_length"], list) or len(batch.get("desirable", ())) > 1
    out = {**job, "name": f"{job['name']}-factory-{kind}", "loop": {"kind": kind, **({"steps": 1} if several else {})}, "batch": batch,
           "training": training, "prepare_kbit": None, "trl": {"trainer": "llama-factory"}}
    whole = not job.get("peft") and job["load"]["dtype"] == "float32"  # trained weights are cast, those of the reference are not
    out["model"] = {**job["model"], "dtype": walker.choice(("bfloat16", "float32")) if whole else job["load"]["dtype"]}
    if job.get("peft"):
        own = ("bias", "modules_to_save", "layers_to_transform")
        out["peft"] = {key: value for key, value in job["peft"].items() if key not in own}
        targets = out["peft"]["target_modules"]
        if not set(targets) & {"q_proj", "qkv_proj", "gate_proj", "c_attn"} or "embed_tokens" in targets:
            out["peft"]["target_modules"] = "all-linear"
    quantized = job["load"].get("quantization_config")
    if quantized:
        out["load"] = {**job["load"], "quantization_config": {**quantized, "bnb_4bit_quant_storage": quantized["bnb_4bit_compute_dtype"]}}
    return out


def ratios_of(walker: random.Random) -> dict[str, Any]:
    """What GRPO's loss does with the ratios to the old policy."""
    out: dict[str, Any] = {"importance_sampling_level": walker.choice(("token", "token", "sequence"))}
    if walker.random() < 0.2:
        out["delta"] = 4.0
    if walker.random() < 0.2:
        out["use_bias_correction_kl"] = False
    return out


def with_bf16(job: Job) -> str:
    """The card of a job in mixed precision: a T4 computes bfloat16 only by emulation, which torch tries out first."""
    return "a100" if job["card"] == "t4" else str(job["card"])


def generating(job: Job, walker: random.Random, kind: str) -> Job:
    """The job with trl's GRPOTrainer or RLOOTrainer: without eager attention and fp16, which vramfit does not know of it. Where a generation is one batch rows may
    differ in length: which of them share a batch is known."""
    training = {**job["training"], "fp16": False}
    training["bf16"] = bool(job["training"].get("bf16") or job["training"].get("fp16"))
    steps = training["gradient_accumulation_steps"]
    group = walker.choice((2, 2, 3, 4))
    processes = job.get("distributed")
    rows = group * walker.choice((1, 1, 2))
    if processes and processes["world_size"] % group == 0 and walker.random() < 0.5:  # a group over several processes
        rows = walker.choice((1, 2, 3))
    training.update(num_generations=group, per_device_train_batch_size=rows, max_completion_length=512,
                    loss_type=walker.choice(GROUP_LOSSES), beta=walker.choice((0.0, 0.0, 0.04)),
                    num_iterations=walker.choice((1, 1, 1, 2)), temperature=walker.choice((1.0, 1.0, 0.7)))
    if walker.random() < 0.3:
        training["steps_per_generation"] = walker.choice((1, 2, steps, 2 * steps))
    load = {key: value for key, value in job["load"].items() if key not in ("sdpa_kernel", "sdpa_expand_kv")}
    load["attn_implementation"] = "flash_attention_2" if walker.random() < 0.35 and job["card"] != "t4" else "sdpa"
    batch: dict[str, Any] = {"prompt_length": walker.choice(LENGTHS), "completion_length": walker.choice(LENGTHS[:6])}
    if training.get("steps_per_generation", steps) == 1 and walker.random() < 0.5 and rows % group == 0:
        training["shuffle_dataset"] = False
        if rows > group:
            batch["prompt_length"] = [walker.choice(LENGTHS) for _ in range(rows // group)]
        if rows == group or walker.random() < 0.5:
            batch["completion_length"] = [walker.choice(LENGTHS[:6]) for _ in range(rows)]
    if walker.random() < 0.3:
        training["repetition_penalty"] = 1.1
    if walker.random() < 0.3:
        training["mask_truncated_completions"] = True
    if kind == "grpo":
        training.update(ratios_of(walker))
    if kind == "rloo":
        del training["loss_type"]
        training.update(beta=walker.choice((0.0, 0.05, 0.05)), normalize_advantages=walker.random() < 0.3)
        if walker.random() < 0.3:
            training["reward_clip_range"] = [-1.0, 1.0]
    return {**job, "name": f"{job['name']}-{kind}", "loop": {"kind": kind}, "batch": batch, "training": training, "load": load,
            "card": with_bf16(job) if training["bf16"] else job["card"], "prepare_kbit": job.get("prepare_kbit") if walker.random() < 0.3 else None}


#: Families of networks beside the one that is trained.
SECOND = ("llama", "llama", "qwen2", "qwen3", "gemma", "gemma2", "mistral", "phi3", "olmo2", "smollm3", "starcoder2", "gpt2")


def second_of(walker: random.Random, vocabulary: int | None = None) -> dict[str, Any]:
    """A reward model, or with the student's vocabulary a teacher."""
    config: dict[str, Any] = {**FAMILIES[walker.choice(SECOND)].config, "dtype": walker.choice(("bfloat16", "bfloat16", "float32"))}
    if vocabulary:
        config["vocab_size"] = vocabulary
    out: dict[str, Any] = {"model": config}
    if walker.random() < 0.3:
        out["dtype"] = walker.choice(("bfloat16", "float16", "float32"))
    if walker.random() < 0.2:
        out["device_map"] = {"": 0}
    if walker.random() < 0.15:
        out["quantization_config"] = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16"}
    return out


def rewarded(job: Job, walker: random.Random) -> Job:
    """The job with GRPO or RLOO, to which one or two networks give rewards."""
    kind = walker.choice(("grpo", "grpo", "rloo"))
    out = generating(job, walker, kind)
    loop: dict[str, Any] = {"kind": kind, "reward_models": [second_of(walker) for _ in range(walker.choice((1, 1, 2)))]}
    if walker.random() < 0.3:
        loop["reward_functions"] = walker.choice((1, 2))
    return {**out, "loop": loop}


def distilling(job: Job, walker: random.Random) -> Job:
    """The job with trl's GKDTrainer: without fp16 and another attention than sdpa's own choice, which vramfit does not know of it."""
    training = {**job["training"], "fp16": False}
    training["bf16"] = bool(job["training"].get("bf16") or job["training"].get("fp16"))
    training.update(lmbda=walker.choice((0.0, 0.0, 1.0)), beta=walker.choice((0.0, 0.5, 0.5, 1.0)), max_new_tokens=walker.choice((7, 24, 60)))
    if walker.random() < 0.3:
        training["seq_kd"] = True
    if walker.random() < 0.3:
        training["temperature"] = 1.0
    load = {key: value for key, value in job["load"].items() if key not in ("sdpa_kernel", "sdpa_expand_kv")}
    load["attn_implementation"] = "sdpa"
    rows = training["per_device_train_batch_size"] if training["gradient_accumulation_steps"] == 1 else 1
    batch = rows_of(walker, "orpo", rows)
    batch.pop("rejected_length", None)
    loop: dict[str, Any] = {"kind": "gkd", "teacher": second_of(walker, job["model"]["vocab_size"])}
    if isinstance(batch["prompt_length"], list):
        loop["steps"] = 1
    drawn = walker.random() < 0.5  # a student without a token that ends a row goes on to the limit
    if drawn and job["model"]["model_type"] not in ("qwen2", "qwen3"):
        batch["generated_length"] = walker.choice((1, 5, training["max_new_tokens"]))
    return {**job, "name": f"{job['name']}-gkd", "loop": loop, "batch": batch, "training": training, "load": load, "prepare_kbit": None,
            "card": with_bf16(job) if training["bf16"] else job["card"]}


def beside_policy(job: Job, walker: random.Random) -> dict[str, Any]:
    """A network that gives numbers: of the policy's own configuration, or another one."""
    if walker.random() < 0.4:
        return second_of(walker)
    return {"model": {**job["model"], "dtype": job["load"]["dtype"]}, "dtype": job["load"]["dtype"]}


def rolling_out(job: Job, walker: random.Random) -> Job:
    """The job with trl's PPOTrainer: without a kernel of attention that is named, and bf16 over packed weights, at which torch stops."""
    packed = job["load"].get("quantization_config")
    training = {**job["training"], "fp16": False, "bf16": not packed and walker.random() < 0.3, "gradient_checkpointing": walker.random() < 0.3}
    training.pop("gradient_checkpointing_kwargs", None)
    mini_batches, rows = walker.choice((1, 1, 2)), walker.choice((1, 2, 3, 4))
    training.update(per_device_train_batch_size=rows, gradient_accumulation_steps=mini_batches * walker.choice((1, 1, 2)),
                    num_mini_batches=mini_batches, num_ppo_epochs=walker.choice((1, 2, 4)),
                    local_rollout_forward_batch_size=walker.choice((1, 3, 4, 64)), response_length=walker.choice((1, 7, 32, 53)))
    if walker.random() < 0.5:
        training["stop_token"] = "eos"
    if walker.random() < 0.5:
        training["missing_eos_penalty"] = 1.0
    if walker.random() < 0.3:
        training["kl_estimator"] = "k3"
    if rows * training["gradient_accumulation_steps"] // mini_batches >= 8:
        training["whiten_rewards"] = walker.random() < 0.5
    load = {key: value for key, value in job["load"].items() if key not in ("sdpa_kernel", "sdpa_expand_kv")}
    load.update(attn_implementation="sdpa", gradient_checkpointing=walker.random() < 0.4)
    batch: dict[str, Any] = {"prompt_length": walker.choice(LENGTHS[1:]), "completion_length": walker.choice((None, 1, 5, 40, 100))}
    if walker.random() < 0.4:
        batch["padded"] = True
    value = {key: given for key, given in beside_policy(job, walker).items() if key != "quantization_config"}
    loop: dict[str, Any] = {"kind": "ppo", "value_model": value, "reward_models": [beside_policy(job, walker)]}
    if not job.get("peft") and walker.random() < 0.3:
        loop["ref_model"] = True
    return {**job, "name": f"{job['name']}-ppo", "loop": loop, "batch": batch, "training": training, "load": load, "prepare_kbit": None}


def preferring(job: Job, walker: random.Random, kind: str = "dpo") -> Job:
    """The job with one of trl's trainers, which makes the adapters; "older" is DPO as trl up to 0.28 knows it, "llama-factory" any of
    LLaMA-Factory's trainers."""
    if kind == "llama-factory":
        return by_llama_factory(job, walker)
    if kind == "rewarded":
        return rewarded(job, walker)
    if kind == "gkd":
        return distilling(job, walker)
    if kind == "ppo":
        return rolling_out(job, walker)
    if kind in SAMPLED:
        return generating(job, walker, kind)
    training = {**job["training"], **losses_of(walker, kind)}
    if kind in ("dpo", "older", "kto", "bco") and walker.random() < 0.2:
        training["precompute_ref_log_probs"] = True
    rows = training["per_device_train_batch_size"]
    whole = training["gradient_accumulation_steps"] == 1 and not job.get("distributed")  # a batch has all rows
    batch = rows_of(walker, kind, rows if whole else 1)
    name = "dpo" if kind == "older" else kind
    loop: dict[str, Any] = {"kind": name}
    several = isinstance(batch["prompt_length"], list) or len(batch.get("desirable", ())) > 1
    in_order = kind == "bco" and rows % len(batch["desirable"]) == 0
    if several and not in_order:  # the sampler has an order of its own: a batch is known where it has all rows
        loop["steps"] = 1
    if "evaluation" in job:  # its rows are those of training
        job = {**job, "evaluation": {"batches": job["evaluation"]["batches"]}}
    prepare = job.get("prepare_kbit") if walker.random() < 0.3 and kind != "older" else None
    return {**job, "name": f"{job['name']}-{name}", "loop": loop, "batch": batch, "training": training, "prepare_kbit": prepare}
