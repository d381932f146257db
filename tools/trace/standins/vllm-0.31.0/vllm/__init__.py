"""Stands in for the package vllm beside a trainer: takes its weights and gives completions. The engine's own memory is not in it."""
from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

#: The tokens of the completion of each row of a generation, by the row's number; the tracer says which.
completion_of: Callable[[int], list[int]] | None = None


class SamplingParams:
    """What a generation is asked for."""

    def __init__(self, **given: Any) -> None:
        self.given = given


@dataclass
class Logprob:
    """Of one token."""

    logprob: float
    rank: int


class RequestOutput:
    """A prompt with one completion, and log-probabilities of the tokens drawn."""

    def __init__(self, prompt: list[int], tokens: list[int]) -> None:
        self.prompt_token_ids = prompt
        self.outputs = [SimpleNamespace(token_ids=tokens, logprobs=[{token: Logprob(-1.0, 1)} for token in tokens])]


class Network:
    """The engine's network: weights are copied into its own, in place."""

    def load_weights(self, weights: list[tuple[str, Any]]) -> set[str]:
        return {name for name, _ in weights}


class LLM:
    """An engine in the trainer's process, as vllm_mode colocate makes it."""

    def __init__(self, model: str, max_model_len: int | None = None, enable_sleep_mode: bool = False, **given: Any) -> None:
        if enable_sleep_mode:
            raise NotImplementedError("not in the stand-in for vllm: sleep mode")
        # v1/worker/gpu_worker.py init_device and utils/mem_utils.py memory_profiling, before and behind the profiling run.
        gc.collect()
        torch.accelerator.empty_cache()
        worker = SimpleNamespace(model_runner=SimpleNamespace(model=Network()))
        self.llm_engine = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=worker),
                                          model_config=SimpleNamespace(max_model_len=max_model_len))

    def generate(self, prompts: list[dict[str, list[int]]], sampling_params: SamplingParams, use_tqdm: bool = True) -> list[RequestOutput]:
        assert completion_of and sampling_params.given["n"] == 1
        return [RequestOutput(prompt["prompt_token_ids"], completion_of(row)) for row, prompt in enumerate(prompts)]

    def reset_prefix_cache(self) -> bool:
        return True
