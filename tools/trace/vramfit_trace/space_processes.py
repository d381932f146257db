"""The space of jobs with several processes: draws the section `distributed`, for each of Trainer's methods."""
from __future__ import annotations

import random
from typing import Any

from .job import Job

AUTO = {"enabled": "auto"}
STRATEGIES = ("full_shard", "full_shard", "full_shard", "shard_grad_op", "no_shard", "hybrid_shard")


def ddp(of: random.Random) -> Job:
    out: Job = {}
    if of.random() < 0.5:
        out["ddp_find_unused_parameters"] = of.choice((True, False))
    if of.random() < 0.2:
        out["ddp_bucket_cap_mb"] = of.choice((1, 4))
    if of.random() < 0.1:
        out["ddp_broadcast_buffers"] = False
    if of.random() < 0.1:
        out["ddp_static_graph"] = True
    return out


def fsdp1(of: random.Random) -> Job:
    out: Job = {"auto_wrap_policy": of.choice(("TRANSFORMER_BASED_WRAP",) * 5 + ("NO_WRAP",)), "sharding_strategy": of.choice(STRATEGIES),
                "use_orig_params": of.random() < 0.8, "sync_module_states": True,
                "backward_prefetch": of.choice(("backward_pre", "backward_pre", "backward_post"))}
    for key, share in (("forward_prefetch", 0.2), ("cpu_offload", 0.2), ("cpu_ram_efficient_loading", 0.2), ("activation_checkpointing", 0.1)):
        if of.random() < share:
            out[key] = True
    if of.random() < 0.1:
        out["limit_all_gathers"] = False
    if of.random() < 0.15:
        out.update(auto_wrap_policy="SIZE_BASED_WRAP", min_num_params=of.choice((5_000, 50_000, 200_000, 1_000_000)))
    return out


def fsdp2(of: random.Random) -> Job:
    out: Job = {"auto_wrap_policy": of.choice(("TRANSFORMER_BASED_WRAP",) * 5 + ("NO_WRAP",)), "reshard_after_forward": of.random() < 0.7}
    for key, share in (("cpu_offload", 0.2), ("cpu_ram_efficient_loading", 0.2), ("activation_checkpointing", 0.1)):
        if of.random() < share:
            out[key] = True
    return out


def deepspeed(of: random.Random) -> Job:
    stage = of.choice((1, 2, 2, 3, 3, 3))
    zero: Job = {"stage": stage}
    for key, choices in (("overlap_comm", (True, False)), ("contiguous_gradients", (True, True, False)), ("reduce_scatter", (True, True, False)),
                         ("reduce_bucket_size", ("auto", 20000, 1000000))):
        if of.random() < 0.5:
            zero[key] = of.choice(choices)
    if of.random() < 0.2:
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": of.random() < 0.5}
        if stage == 3 and of.random() < 0.5:
            zero["offload_param"] = {"device": "cpu"}
    if stage == 3:
        for key, choices in (("stage3_param_persistence_threshold", ("auto", 0, 10000)), ("stage3_prefetch_bucket_size", ("auto", 0, 100000)),
                             ("stage3_max_live_parameters", (0, 1000000000)), ("stage3_max_reuse_distance", (0, 1000000000)),
                             ("sub_group_size", (100000, 1000000000))):
            if of.random() < 0.4:
                zero[key] = of.choice(choices)
    out: Job = {"bf16": AUTO, "fp16": AUTO, "zero_optimization": zero, "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
                "gradient_accumulation_steps": "auto", "gradient_clipping": "auto"}
    if of.random() < 0.5:
        out["optimizer"] = {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}}
    return out


METHODS: dict[str, Any] = {"ddp": ddp, "fsdp1": fsdp1, "fsdp2": fsdp2, "deepspeed": deepspeed, "tp": lambda of: {}}
SECTIONS = {"ddp": "ddp", "fsdp1": "fsdp_config", "fsdp2": "fsdp_config", "deepspeed": "deepspeed", "tp": "tp"}


def processes(of: random.Random, kind: str) -> Job:
    """The section of one rank of 2 to 8."""
    world = of.choice((2, 2, 2, 3, 4, 8)) if kind != "tp" else 2
    out: Job = {"kind": kind, "world_size": world, "rank": of.choice((0, 0, world - 1, of.randrange(world))), SECTIONS[kind]: METHODS[kind](of)}
    hybrid = "hybrid" in str(out[SECTIONS[kind]])
    if world % 2 == 0 and (hybrid or (kind == "fsdp2" and of.random() < 0.15)):
        out["local_world_size" if kind == "fsdp1" else "dp_replicate_size"] = of.choice((2, world // 2))
    if kind == "deepspeed" and of.random() < 0.2:
        out["load_first"] = True
    return out


def divisible(job: Job, of: random.Random) -> Job:
    """What tensor parallelism cuts, over a number that divides it; mostly what it can train."""
    pieces = of.choice((2, 2, 4))
    model, training, load = dict(job["model"]), dict(job["training"]), dict(job["load"])
    for key in ("vocab_size", "num_key_value_heads", "num_attention_heads", "intermediate_size", "moe_intermediate_size"):
        if key in model:
            model[key] += -model[key] % pieces
    load.pop("quantization_config", None)
    training.update(fp16=False, optim=of.choice(("adamw_torch", "adamw_torch_fused", training["optim"])))
    peft = {key: value for key, value in job["peft"].items() if key not in ("use_dora", "modules_to_save")} if job.get("peft") else None
    return {**job, "model": model, "training": training, "load": load, "peft": peft, "prepare_kbit": None,
            "distributed": {"kind": "tp", "world_size": pieces, "rank": of.randrange(pieces)}}


def among_processes(job: Job, of: random.Random, kind: str) -> Job:
    """The job as one rank of `kind`: Trainer's loop, more often in bf16, packed weights as FSDP needs them."""
    out = {**job, "distributed": processes(of, kind), "loop": {"kind": of.choice(("trainer",) * 5 + ("sft",)), "steps": 3}}
    training, load = dict(job["training"]), dict(job["load"])
    if out["loop"]["kind"] == "sft":  # the sampler's order decides how long padded rows are
        out["batch"] = {**job["batch"], "attention_mask": "ones"}
    if "activation_checkpointing" in str(out["distributed"]):
        for key in ("gradient_checkpointing", "gradient_checkpointing_kwargs"):
            training.pop(key, None)
    if of.random() < 0.5:
        training.update(bf16=True, fp16=False)
        load["dtype"] = "bfloat16"
        out["card"] = "a100" if job["card"] == "t4" else job["card"]
    quantization = load.get("quantization_config")
    if quantization and "load_in_4bit" in quantization and of.random() < 0.7:
        load["quantization_config"] = {**quantization, "bnb_4bit_quant_storage": load["dtype"]}
        out.pop("prepare_kbit", None)
    out.update(training=training, load=load)
    return divisible(out, of) if kind == "tp" and of.random() < 0.9 else out
