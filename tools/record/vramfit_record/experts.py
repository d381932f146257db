"""Experts that the library's Python asks one by one, for as many tokens as chose them: recorded as one function by name, which the engine runs as the loop does, all having equally many."""
from __future__ import annotations

from typing import Any, Callable, Iterator

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import handle_torch_function, has_torch_function


def product_dtype(t: torch.Tensor) -> torch.dtype:
    """What a product with a weight of the same dtype gives, under autocast too."""
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else t.dtype


def parallel_experts(inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """5.17.0 modeling_jetmoe.py JetMoeParallelExperts.forward: weight -- [experts, out, in]."""
    if has_torch_function((inputs, weight)):
        return handle_torch_function(parallel_experts, (inputs, weight), inputs, weight)
    return torch.empty((inputs.shape[0], weight.shape[1]), dtype=product_dtype(inputs), device=inputs.device)


def parallel_forward(self: torch.nn.Module, inputs: torch.Tensor, expert_size: Any) -> torch.Tensor:
    return parallel_experts(inputs, self.weight)


def sequential_experts_gemm(token_states: torch.Tensor, expert_weights: torch.Tensor, tokens_per_expert: Any) -> torch.Tensor:
    """5.17.0 modeling_aria.py sequential_experts_gemm: expert_weights -- [experts, in, out]."""
    if has_torch_function((token_states, expert_weights)):
        return handle_torch_function(sequential_experts_gemm, (token_states, expert_weights), token_states, expert_weights, tokens_per_expert)
    return torch.empty((token_states.shape[0], expert_weights.shape[2]), dtype=token_states.dtype, device=token_states.device)


def experts_or_identity(hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor, gate_up_proj: torch.Tensor, down_proj: torch.Tensor) -> torch.Tensor:
    """5.17.0 modeling_longcat_flash.py LongcatFlashExperts.forward: down_proj has as many experts as compute something, gate_up_proj all."""
    given = (hidden_states, top_k_index, top_k_weights, gate_up_proj, down_proj)
    return handle_torch_function(experts_or_identity, given, *given) if has_torch_function(given) else torch.empty_like(hidden_states)


def gated_experts(hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor, v1: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, ffn_hidden_size: int) -> torch.Tensor:
    """5.17.0 modeling_dbrx.py DbrxExperts.forward: v1, w1 and w2 -- [experts * ffn_hidden_size, hidden]."""
    given = (hidden_states, top_k_index, top_k_weights, v1, w1, w2)
    return handle_torch_function(gated_experts, given, *given, ffn_hidden_size) if has_torch_function(given) else torch.empty_like(hidden_states)


for function in (parallel_experts, sequential_experts_gemm, experts_or_identity, gated_experts):
    function.__module__, function.__qualname__ = "experts", f"experts.{function.__name__}"

def sequential_forward(self: torch.nn.Module, input: torch.Tensor, tokens_per_expert: torch.Tensor) -> torch.Tensor:  # noqa: A002  as the library calls it
    return sequential_experts_gemm(input, self.weight, tokens_per_expert)  # which the library copies to the host


def identity_forward(self: torch.nn.Module, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor) -> torch.Tensor:
    return experts_or_identity(hidden_states, top_k_index, top_k_weights, self.gate_up_proj, self.down_proj)


def gated_forward(self: torch.nn.Module, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor) -> torch.Tensor:
    return gated_experts(hidden_states, top_k_index, top_k_weights, self.mlp.v1, self.mlp.w1, self.mlp.w2, self.ffn_hidden_size)


#: What stands in for a class's forward.
FORWARDS: dict[str, Callable[..., Any]] = {"DbrxExperts": gated_forward, "JetMoeParallelExperts": parallel_forward, "AriaGroupedExpertsGemm": sequential_forward, "LongcatFlashExperts": identity_forward}


def replacements(network: torch.nn.Module) -> Iterator[tuple[Any, str, Any]]:
    """Of the network's modules whose experts are asked one by one."""
    for cls in {type(m) for m in network.modules()}:
        if cls.__name__ in FORWARDS:
            yield cls, "forward", FORWARDS[cls.__name__]
            yield FakeTensor, "tolist", torch.Tensor.tolist  # asked for as one list
