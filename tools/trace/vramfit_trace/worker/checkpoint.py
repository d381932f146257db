"""Writes a checkpoint that has the published names, shapes and dtypes; without contents (sparse files) where nothing computes."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import torch
import transformers

from ..job import Job
from . import llama_factory
from .device import VARIABLE
from .libraries import dtype_key

#: The size of a file where the job names none.
SHARD = 5 * 10**9

DTYPES = {torch.bfloat16: "BF16", torch.float16: "F16", torch.float32: "F32", torch.int64: "I64", torch.uint8: "U8", torch.bool: "BOOL"}

Tensors = dict[str, torch.Tensor]


def bytes_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def second_names(model: torch.nn.Module) -> set[str]:
    """Names under which a tensor stands a second time; checkpoints leave them out."""
    if hasattr(model, "all_tied_weights_keys"):  # transformers 5
        return set(model.all_tied_weights_keys or {})
    first: set[int] = set()
    second: set[str] = set()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if id(parameter) in first:
            second.add(name)
        first.add(id(parameter))
    return second


def as_published(model: torch.nn.Module, tensors: Tensors) -> Tensors:
    """One tensor for each expert: transformers 5 puts them together while it loads."""
    try:
        from transformers.core_model_loading import revert_weight_conversion
    except ImportError:
        return tensors
    return revert_weight_conversion(model, tensors)


def divided(tensors: Tensors, limit: int) -> list[list[str]]:
    """The names in each file: the next file begins where a tensor would exceed the limit."""
    files: list[list[str]] = [[]]
    filled = 0
    for name, tensor in tensors.items():
        if filled and filled + bytes_of(tensor) > limit:
            files.append([])
            filled = 0
        files[-1].append(name)
        filled += bytes_of(tensor)
    return files


def contents(dtype: torch.dtype) -> bytes:
    """A MiB of small random numbers."""
    numbers = torch.randn(2**20 // dtype.itemsize, generator=torch.Generator().manual_seed(0)) * 0.02
    return numbers.to(dtype).view(torch.uint8).numpy().tobytes()


def write_contents(file: BinaryIO, tensor: torch.Tensor, blocks: dict[torch.dtype, bytes]) -> None:
    """The same MiB again and again."""
    block = blocks.setdefault(tensor.dtype, contents(tensor.dtype))
    whole, rest = divmod(bytes_of(tensor), len(block))
    for _ in range(whole):
        file.write(block)
    file.write(block[:rest])


def write_file(path: Path, names: list[str], tensors: Tensors, filled: bool) -> None:
    """A safetensors file: the length of the header, the header, a hole; or, `filled`, numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name in names:
        tensor = tensors[name]
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + bytes_of(tensor)]}
        at += bytes_of(tensor)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        if not filled:
            file.truncate(8 + len(text) + at)
            return
        blocks: dict[torch.dtype, bytes] = {}
        for name in names:
            write_contents(file, tensors[name], blocks)


def classifies(job: Job) -> bool:
    """Whether the model has a head for each sequence: of one number, as trl's reward models, or of as many labels as the job says."""
    return labels(job) > 0


def labels(job: Job) -> int:
    """How many numbers that head has; 0: the head is a language model's."""
    if job["loop"]["kind"] == "reward" and not llama_factory.is_asked(job):
        return 1
    if job["loop"]["kind"] == "prm":
        return 2
    return job["load"]["num_labels"] or 0


def marks_tokens(job: Job) -> bool:
    """Whether that head has labels for each token in place of each sequence."""
    return job["loop"]["kind"] == "prm" or job["load"].get("task_type") == "TOKEN_CLS"


def auto_class(job: Job) -> Any:
    """The class of the job's model."""
    if marks_tokens(job):
        return transformers.AutoModelForTokenClassification
    return transformers.AutoModelForSequenceClassification if classifies(job) else language_class(job)


def language_class(job: Job) -> Any:
    """The class of the language model: of text and images, if the job says so."""
    return transformers.AutoModelForImageTextToText if job["load"].get("text_part") is False else transformers.AutoModelForCausalLM


def empty_model(job: Job) -> torch.nn.Module:
    """The published model as from_config makes it, on the meta device, in the checkpoint's dtype: reward models too start from one with
    a language model's head, of whose weights they make no use."""
    fields = dict(job["model"])
    stored = getattr(torch, fields.get("dtype") or fields.get("torch_dtype") or job["load"]["dtype"])
    if classifies(job):
        fields["num_labels"] = labels(job)
    return made_from_config(language_class(job), fields, stored)


def made_from_config(auto: Any, fields: dict[str, Any], stored: torch.dtype) -> torch.nn.Module:
    """As from_config makes it of a config.json's content, on the meta device, in the dtype that is stored."""
    config = transformers.AutoConfig.for_model(**fields)
    auto._model_mapping[type(config)]  # imports the class outside of the device's context: some compute while imported
    with torch.device("meta"):
        model = auto.from_config(config, **{dtype_key(): stored})
    setattr(config, dtype_key(), stored)
    config.architectures = [type(model).__name__]
    model.published_config = config  # of a whole that the class takes its part of (auto_factory.py from_config), the whole's: the part alone has no class
    return model


def write_second(model: torch.nn.Module, folder: Path) -> None:
    """The checkpoint of a network beside the job's."""
    left_out = second_names(model)
    tensors = as_published(model, {name: tensor for name, tensor in model.state_dict().items() if name not in left_out})
    model.config.save_pretrained(folder)
    write_file(folder / "model.safetensors", sorted(tensors), tensors, VARIABLE not in os.environ)


def write_checkpoint(job: Job, folder: Path) -> None:
    """config.json and the files of tensors. A real device computes with the weights: zeros end in infinite gradients where DoRA divides
    by their norm, and Unsloth refuses embeddings of zeros."""
    filled = VARIABLE not in os.environ
    model = empty_model(job)
    left_out = second_names(model)
    tensors = as_published(model, {name: tensor for name, tensor in model.state_dict().items() if name not in left_out})
    chosen = job["load"]["shard_size"]
    files = divided(tensors, chosen or SHARD)
    model.published_config.save_pretrained(folder)
    index = {}
    for number, names in enumerate(files, 1):
        file = f"model-{number:05d}-of-{len(files):05d}.safetensors" if len(files) > 1 else "model.safetensors"
        write_file(folder / file, sorted(names) if chosen else names, tensors, filled)
        index.update(dict.fromkeys(names, file))
    if len(files) > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": index}))
