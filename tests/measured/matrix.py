"""Jobs to measure, chosen so that each differs from a base in one thing: what it does to memory is then known."""
from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Job = dict[str, Any]

#: Wide enough that scratch of every kernel is seen beside the weights, and loaded in seconds.
LLAMA: Job = {"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 4, "num_attention_heads": 16,
              "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 32000, "max_position_embeddings": 8192, "tie_word_embeddings": False}
QWEN2: Job = {"model_type": "qwen2", "hidden_size": 1792, "intermediate_size": 4864, "num_hidden_layers": 4, "num_attention_heads": 14,
              "num_key_value_heads": 2, "vocab_size": 151936, "max_position_embeddings": 8192, "tie_word_embeddings": True}

BASE: Job = {"schema": "vramfit.job/1", "stack": "hf-2026-11", "model": LLAMA, "training": {"per_device_train_batch_size": 2},
             "batch": {"sequence_length": 512}, "loop": {"steps": 3}}
LORA = {"r": 16, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}
NF4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": "bfloat16"}
QLORA: Job = {"load": {"quantization_config": NF4}, "prepare_kbit": {}, "peft": LORA}

OPTIMIZERS = ("adamw_torch", "adamw_torch_fused", "adafactor", "adagrad", "rmsprop", "sgd", "adamw_bnb_8bit", "paged_adamw_8bit",
              "paged_adamw_32bit", "lion_8bit")


def merged(base: Job, change: Job) -> Job:
    """The base with sections merged key by key; a config of a model or an adapter is replaced as a whole."""
    out = copy.deepcopy(base)
    for key, value in change.items():
        if isinstance(value, dict) and key in ("load", "training", "batch", "loop", "environment", "device"):
            out[key] = {**out.get(key, {}), **value}
        else:
            out[key] = copy.deepcopy(value)
    return out


def workspaces() -> Iterator[tuple[str, Job]]:
    """cuBLAS, and cuBLASLt where linear layers have a bias; both as the environment sets them."""
    yield "cublas", {}
    yield "cublaslt", {"model": QWEN2}
    yield "cublas-small", {"environment": {"CUBLAS_WORKSPACE_CONFIG": ":16:8"}}
    yield "cublas-large", {"environment": {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}}
    yield "cublaslt-large", {"model": QWEN2, "environment": {"CUBLASLT_WORKSPACE_SIZE": "32768"}}


def attention() -> Iterator[tuple[str, Job]]:
    """Kernels, dtypes, head sizes, masks, grouped heads."""
    for kernel in ("flash", "efficient", "cudnn", "math"):
        yield kernel, {"load": {"sdpa_kernel": kernel}}
        yield f"{kernel}-ungrouped", {"model": {**LLAMA, "num_key_value_heads": 16}, "load": {"sdpa_kernel": kernel}}
    yield "eager", {"load": {"attn_implementation": "eager"}}
    yield "package", {"load": {"attn_implementation": "flash_attention_2"}}
    for dtype in ("float16", "float32"):
        yield dtype, {"load": {"dtype": dtype}}
    for width in (64, 80, 256):
        yield f"head-{width}", {"model": {**LLAMA, "head_dim": width}}
    for mask in ("absent", "left_padded", "right_padded"):
        yield mask, {"batch": {"attention_mask": mask}}
    for length in (1, 129, 4096):
        yield f"length-{length}", {"batch": {"sequence_length": length}}


def loads() -> Iterator[tuple[str, Job]]:
    """The order of the loader, its buffers, where it loads to."""
    yield "host", {"load": {"device_map": None}}
    yield "shards", {"load": {"shard_size": 500_000_000}}
    yield "resized", {"load": {"resize_token_embeddings": 32008}}
    for name, dtype in (("float16", "float16"), ("float32", "float32")):
        yield f"nf4-{name}", {"load": {"dtype": dtype, "quantization_config": NF4}, "peft": LORA}
    yield "nf4-shards", merged({"peft": LORA}, {"load": {"shard_size": 500_000_000, "quantization_config": NF4}})
    yield "nf4-prepared", QLORA
    yield "int8", {"load": {"quantization_config": {"load_in_8bit": True}}, "peft": LORA}


def checkpoints() -> Iterator[tuple[str, Job]]:
    """Both kinds of checkpointing, with all and with few gradients."""
    for method, change in (("full", {}), ("lora", {"peft": LORA})):
        for kind, reentrant in (("reentrant", True), ("non-reentrant", False)):
            training = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": reentrant}}
            yield f"{method}-{kind}", merged(change, {"training": training})
        yield f"{method}-off", change


def optimizers() -> Iterator[tuple[str, Job]]:
    for name in OPTIMIZERS:
        yield name, {"training": {"optim": name}}
    yield "no-clipping", {"training": {"max_grad_norm": 0.0}, "loop": {"kind": "plain"}}
    yield "accumulated", {"training": {"gradient_accumulation_steps": 3}}


def precisions() -> Iterator[tuple[str, Job]]:
    for name, other in (("bf16", "bfloat16"), ("fp16", "float16")):
        yield f"{name}-autocast", {"load": {"dtype": "float32"}, "training": {name: True}}
        yield f"{name}-autocast-lora", {"load": {"dtype": other}, "training": {name: True}, "peft": LORA}


def four_bits() -> Iterator[tuple[str, Job]]:
    """A single token goes to another kernel than many do."""
    for rows, length in ((1, 1), (1, 8), (1, 64), (2, 512), (4, 2048)):
        yield f"tokens-{rows * length}", merged(QLORA, {"training": {"per_device_train_batch_size": rows}, "batch": {"sequence_length": length}})
    yield "fp4", merged(QLORA, {"load": {"quantization_config": {**NF4, "bnb_4bit_quant_type": "fp4"}}})
    yield "single-quant", merged(QLORA, {"load": {"quantization_config": {**NF4, "bnb_4bit_use_double_quant": False}}})
    yield "paged", merged(QLORA, {"training": {"optim": "paged_adamw_8bit"}})


def loops() -> Iterator[tuple[str, Job]]:
    for kind in ("trainer", "plain", "sft"):
        yield kind, {"loop": {"kind": kind}}
    yield "empty-cache", {"training": {"torch_empty_cache_steps": 1}}
    yield "expandable", {"environment": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}}
    yield "liger", {"training": {"use_liger_kernel": True}}


GROUPS = {"workspaces": workspaces, "attention": attention, "loads": loads, "checkpoints": checkpoints, "optimizers": optimizers,
          "precisions": precisions, "four-bits": four_bits, "loops": loops}


def jobs() -> Iterator[Job]:
    """Every job, named by its group and by what it changes."""
    for group, changes in GROUPS.items():
        for name, change in changes():
            yield {**merged(BASE, change), "name": f"{group}-{name}"}


#: What is run near its capacity, and where between the allocated (0) and the reserved (1) peak the limits lie.
NEAR = {"full": {}, "qlora": merged(QLORA, {"batch": {"sequence_length": 2048}})}
PLACES = (-0.02, 0.0, 0.25, 0.5, 0.75, 1.0, 1.02)


def near_capacity(name: str, allocated: int, reserved: int) -> Iterator[Job]:
    """The same run under limits around what it takes, of which some end out of memory and some after a retry."""
    for place in PLACES:
        base = allocated if place < 0 else reserved if place > 1 else allocated + place * (reserved - allocated)
        limit = int(base * (1 + (place if place < 0 else place - 1 if place > 1 else 0)))
        yield {**merged(BASE, merged(NEAR[name], {"device": {"free_bytes": limit}})), "name": f"near-{name}{place:+.2f}"}
