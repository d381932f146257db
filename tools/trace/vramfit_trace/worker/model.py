"""From the job to the model that is trained: checkpoint, load, preparation, adapters."""
from __future__ import annotations

import contextlib
import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

from ..job import Job, JobError
from . import axolotl, llama_factory, ms_swift
from .checkpoint import auto_class, classifies, marks_tokens, write_checkpoint
from .libraries import checked, dtype_key, trainer_makes_adapters
from .recorder import Recorder

DEVICE = torch.device("cuda", 0)


def quantization(arguments: dict[str, Any]) -> transformers.BitsAndBytesConfig:
    arguments = dict(checked(transformers.BitsAndBytesConfig, arguments, "load.quantization_config"))
    compute = arguments.get("bnb_4bit_compute_dtype")
    if isinstance(compute, str):
        arguments["bnb_4bit_compute_dtype"] = getattr(torch, compute)
    return transformers.BitsAndBytesConfig(**arguments)


def knows_zero3() -> bool:
    """Whether TrainingArguments with ZeRO-3 exist already."""
    from transformers.integrations import is_deepspeed_zero3_enabled

    return is_deepspeed_zero3_enabled()


def load(job: Job, recorder: Recorder, before: Callable[[], None], kept: str | None = None, window: str = "load") -> torch.nn.Module:
    """from_pretrained on an empty checkpoint, and what a script does right before and after it.

    `kept`: a folder for the checkpoint, where it is read again later.
    """
    wanted = job["load"]
    arguments: dict[str, Any] = {dtype_key(): getattr(torch, wanted["dtype"]), "attn_implementation": wanted["attn_implementation"]}
    processes = job["distributed"]
    on_device = processes["load_on_device"] or bool(wanted["quantization_config"]) if processes else bool(wanted["device_map"])
    if processes and processes["kind"] == "tp":
        arguments["tp_plan"] = processes["tp"].get("tp_plan", "auto")
    with contextlib.nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
        write_checkpoint(job, Path(folder))
        before()
        if processes and processes["prepared_by"] == "axolotl" and processes["fsdp_config"].get("cpu_ram_efficient_loading"):
            on_device, arguments["device_map"] = False, "cpu"  # loaders/model.py _build_model, of a machine's first process
        # transformers stops at a map under ZeRO-3; bitsandbytes takes the process's own card without one.
        if on_device and not (processes and knows_zero3()):
            arguments["device_map"] = {"": 0}
        if ms_swift.is_asked(job):
            arguments.update(ms_swift.config_arguments(job))
            ms_swift.load_reference(job, lambda: auto_class(job).from_pretrained(folder, **arguments), recorder)
        recorder.window(window)
        if wanted["quantization_config"]:
            arguments["quantization_config"] = quantization(wanted["quantization_config"])
        model = auto_class(job).from_pretrained(folder, **arguments)
        arguments.clear()
        if not on_device and not processes and wanted.get("moved_by") != "trainer":
            model = model.to(DEVICE)
    if wanted["num_labels"] and model.config.pad_token_id is None:  # as scripts do it: without one it takes batches of one row
        model.config.pad_token_id = 0
    if wanted["resize_token_embeddings"]:
        resize(model, wanted["resize_token_embeddings"])
    return model


def resize(model: torch.nn.Module, rows: int) -> None:
    """Without the mean of the old rows, which transformers 4.46 and later put into the new ones."""
    has_mean = "mean_resizing" in inspect.signature(model.resize_token_embeddings).parameters
    model.resize_token_embeddings(rows, **({"mean_resizing": False} if has_mean else {}))


def prepare(model: torch.nn.Module, job: Job, recorder: Recorder, window: str = "prepare") -> torch.nn.Module:
    """peft's preparation for k-bit training, and checkpointing where the job turns it on by hand."""
    upcast = job["load"]["upcast"]
    if upcast or job["prepare_kbit"] is not None:
        recorder.window(window)
    if upcast:
        cast_as_axolotl(model, torch.float32, upcast, True)
    if job["prepare_kbit"] is not None:
        import peft

        arguments = checked(peft.prepare_model_for_kbit_training, job["prepare_kbit"], "prepare_kbit")
        model = peft.prepare_model_for_kbit_training(model, **arguments)
    if upcast and not job["load"]["upcast_stays"]:
        cast_as_axolotl(model, getattr(torch, job["load"]["dtype"]), upcast, False)
    if job["load"]["gradient_checkpointing"] and not model.is_gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=job["training"]["gradient_checkpointing_kwargs"])
    return model


def cast_as_axolotl(model: torch.nn.Module, dtype: torch.dtype, parts: str, before: bool) -> None:
    """What axolotl 0.18 and 0.19 do in loaders/model.py _convert_embedding_modules_dtype."""
    tables = {"gpt_neox": ("embed_in", "embed_out"), "falcon": ("word_embeddings", "lm_head")}  # loaders/utils.py get_linear_embedding_layers
    words = () if parts == "norms" else tables.get(model.config.model_type, ("embed_tokens", "lm_head"))
    for name, module in model.named_modules():
        if "norm" in name:
            module.to(dtype)
        if before and name.endswith(".gate"):
            module.to(dtype)
        if any(word in name for word in words) and hasattr(module, "weight"):
            module.to(dtype)


def lora_config(job: Job) -> Any:
    """peft's configuration of the job: LoraConfig, or that of its `peft_type`."""
    import peft

    task = "TOKEN_CLS" if marks_tokens(job) else "SEQ_CLS" if classifies(job) else "CAUSAL_LM"
    arguments = {"task_type": task, **job["peft"]}
    kind = arguments.pop("peft_type", "LORA")
    if kind not in peft.PEFT_TYPE_TO_CONFIG_MAPPING:
        raise JobError(f"peft_type {kind} is not one of this release of peft")
    config = peft.PEFT_TYPE_TO_CONFIG_MAPPING[kind]
    return config(**checked(config, arguments, "peft"))


def add_adapters(model: torch.nn.Module, job: Job, recorder: Recorder) -> torch.nn.Module:
    """get_peft_model, and the casts that scripts make after it."""
    import peft

    recorder.window("adapters")
    model = peft.get_peft_model(model, lora_config(job))
    if job["trl"]["peft_module_casting_to_bf16"]:
        cast_to_bf16(model)
    if job["load"]["cast_after_adapter"]:
        model.to(DEVICE, getattr(torch, job["load"]["cast_after_adapter"]))
    return model


def cast_to_bf16(model: torch.nn.Module) -> None:
    """trl's peft_module_casting_to_bf16 (trl/trainer/utils.py), for stacks without trl."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.LayerNorm) or "norm" in name:
            module.to(torch.float32)
        elif any(part in name for part in ("lm_head", "embed_tokens", "wte", "wpe")):
            if hasattr(module, "weight") and module.weight.dtype == torch.float32:
                module.to(torch.bfloat16)


def build(job: Job, recorder: Recorder, before: Callable[[], None], kept: str | None = None) -> torch.nn.Module:
    """The model as the training loop gets it. `before` is called once the checkpoint is there."""
    model = load(job, recorder, before, kept)
    recorder.know(model)
    model = prepare(model, job, recorder)
    if llama_factory.is_asked(job):
        llama_factory.checkpoint_layers(job, model)
    recorder.reading("after_load")
    if job["peft"] is not None and not trainer_makes_adapters(job):
        model = add_adapters(model, job, recorder)
    if llama_factory.has_value_head(job):
        model = llama_factory.with_value_head(model)
    recorder.know(model)
    recorder.reading("after_adapter")
    axolotl.load_reference(job, lambda: prepare(load(job, recorder, before, kept, axolotl.WINDOW), job, recorder, axolotl.WINDOW), recorder)
    return model


def counts(model: torch.nn.Module) -> dict[str, Any]:
    """Parameters and their bytes by dtype, each once and as stored (4-bit weights packed)."""
    out: dict[str, Any] = {"parameters": 0, "trainable": 0, "parameter_bytes": {}, "trainable_bytes": {}}
    for parameter in model.parameters():
        kinds = [("parameters", "parameter_bytes")] + [("trainable", "trainable_bytes")] * parameter.requires_grad
        dtype = str(parameter.dtype).removeprefix("torch.")
        for elements, stored in kinds:
            count = getattr(parameter, "ds_numel", parameter.numel())  # ZeRO-3 empties what it has cut
            out[elements] += count
            out[stored][dtype] = out[stored].get(dtype, 0) + count * parameter.element_size()
    out["buffer_bytes"] = sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
    return out
