"""What differs between versions of the libraries, and how their classes are given a job's arguments."""
from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any

from ..job import Job, JobError

NAMES = ("torch", "transformers", "peft", "bitsandbytes", "accelerate", "trl", "liger-kernel", "triton", "deepspeed", "unsloth", "unsloth_zoo")


def version(package: str) -> tuple[int, ...]:
    """(4, 40) of 4.40.2."""
    return tuple(int(part) for part in importlib.metadata.version(package).split("+")[0].split(".")[:2])


def versions() -> dict[str, str]:
    """Every library that is installed."""
    out = {}
    for name in NAMES:
        try:
            out[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return out


def dtype_key() -> str:
    """The dtype's name in configs and in from_pretrained (renamed in transformers 4.56)."""
    return "dtype" if version("transformers") >= (4, 56) else "torch_dtype"


def trl_makes_adapters(job: Job) -> bool:
    """trl 0.8's SFTTrainer prepares the quantized model and makes the adapters; later it gets a model that has them."""
    return job["loop"]["kind"] == "sft" and version("trl") < (0, 9)


def trainer_makes_adapters(job: Job) -> bool:
    """Of any loop: whether adapters are made where the trainer is built."""
    return trl_makes_adapters(job) or (job["peft"] is not None and bool(job["trl"].get("peft_config")))


#: trl's names of the trainers of preferences; those of TRL_LATER have their own folder under trl.experimental in later versions.
TRL_NAMES = {"dpo": "DPO", "reward": "Reward", "kto": "KTO", "orpo": "ORPO", "cpo": "CPO", "grpo": "GRPO", "rloo": "RLOO", "gkd": "GKD",
             "online_dpo": "OnlineDPO", "prm": "PRM", "bco": "BCO", "ppo": "PPO"}
TRL_LATER = ("kto", "orpo", "cpo", "gkd", "online_dpo", "prm", "bco", "ppo")


def of_trl(kind: str, part: str) -> Any:
    """The Trainer or Config of a loop's kind."""
    import trl

    name = TRL_NAMES[kind] + part
    if kind in TRL_LATER and importlib.util.find_spec(f"trl.experimental.{kind}"):
        try:
            return getattr(trl, name)
        except AttributeError:
            return getattr(importlib.import_module(f"trl.experimental.{kind}"), name)
    return getattr(trl, name)


def checked(callee: Callable[..., Any], arguments: dict[str, Any], place: str) -> dict[str, Any]:
    """The arguments, if the class or function of the installed version has them all."""
    unknown = set(arguments) - set(inspect.signature(callee).parameters)
    if unknown:
        raise JobError(f"the installed version does not know these keys of {place}: {', '.join(sorted(unknown))}")
    return arguments
