"""The families that a random walk draws from: a tiny config of each, and the names of its linear layers."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LLAMA_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
LLAMA_MLP = ("gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class Family:
    """`config` is a small model of the family; the names are those that adapters are put on, empty where they are not known."""

    config: dict[str, Any]
    attention: tuple[str, ...] = LLAMA_ATTENTION
    mlp: tuple[str, ...] = LLAMA_MLP
    embedding: str = "embed_tokens"
    head: str = "lm_head"
    layers: str = "num_hidden_layers"
    kernels: tuple[str, ...] = ("sdpa", "sdpa", "eager")


def llama_like(model_type: str, hidden: int, intermediate: int, heads: int, groups: int, vocabulary: int, tied: bool = False,
               **more: Any) -> dict[str, Any]:
    """The keys that most families share."""
    return {"model_type": model_type, "hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": 2,
            "num_attention_heads": heads, "num_key_value_heads": groups, "vocab_size": vocabulary, "max_position_embeddings": 4096,
            "tie_word_embeddings": tied, **more}


GEMMA2 = dict(head_dim=256, query_pre_attn_scalar=256, sliding_window=64, attn_logit_softcapping=50.0, final_logit_softcapping=30.0)
GEMMA3 = dict(head_dim=256, query_pre_attn_scalar=256, sliding_window=64, sliding_window_pattern=3)
GRANITE = dict(embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, attention_multiplier=0.015625)
MOE = dict(moe_intermediate_size=192, num_experts=8, num_experts_per_tok=2)
GPT_OSS = dict(head_dim=64, num_local_experts=8, num_experts_per_tok=2, sliding_window=128, rope_scaling=None)

FAMILIES: dict[str, Family] = {
    "llama": Family(llama_like("llama", 512, 1376, 8, 2, 32000)),
    "mistral": Family(llama_like("mistral", 512, 1792, 8, 2, 32768, head_dim=128, sliding_window=128)),
    "qwen2": Family(llama_like("qwen2", 448, 1216, 7, 1, 51936, tied=True)),
    "qwen3": Family(llama_like("qwen3", 384, 1024, 6, 2, 50001, tied=True, head_dim=128)),
    "gemma": Family(llama_like("gemma", 512, 2048, 4, 1, 64001, tied=True, head_dim=256, hidden_act="gelu_pytorch_tanh")),
    "gemma2": Family(llama_like("gemma2", 576, 2304, 4, 2, 50000, tied=True, **GEMMA2)),
    "gemma3_text": Family(llama_like("gemma3_text", 640, 2048, 4, 1, 50096, tied=True, **GEMMA3)),
    "phi3": Family(llama_like("phi3", 768, 2048, 8, 8, 32064, sliding_window=2047, pad_token_id=0), ("qkv_proj", "o_proj"),
                   ("gate_up_proj", "down_proj")),
    "starcoder2": Family(llama_like("starcoder2", 768, 3072, 6, 2, 49152, tied=True, use_bias=True, sliding_window=256,
                                    residual_dropout=0.1, embedding_dropout=0.1), mlp=("c_fc", "c_proj")),
    "olmo2": Family(llama_like("olmo2", 512, 2048, 8, 8, 50352, pad_token_id=0)),
    "granite": Family(llama_like("granite", 512, 2048, 8, 2, 49155, tied=True, **GRANITE)),
    "smollm3": Family(llama_like("smollm3", 512, 2752, 8, 2, 49155, tied=True, pad_token_id=0)),
    "phi": Family(llama_like("phi", 512, 2048, 8, 8, 51200, resid_pdrop=0.1), ("q_proj", "k_proj", "v_proj", "dense"), ("fc1", "fc2")),
    "nemotron": Family(llama_like("nemotron", 512, 1536, 4, 2, 30001, head_dim=128), mlp=("up_proj", "down_proj")),
    "arcee": Family(llama_like("arcee", 512, 3072, 4, 2, 30001, head_dim=128), mlp=("up_proj", "down_proj")),
    "seed_oss": Family(llama_like("seed_oss", 512, 1408, 8, 2, 30001, head_dim=64, attention_bias=True)),
    "glm4": Family(llama_like("glm4", 512, 1408, 8, 2, 30001, head_dim=64, pad_token_id=0), mlp=("gate_up_proj", "down_proj")),
    "cohere": Family(llama_like("cohere", 512, 1408, 8, 2, 30001, tied=True, pad_token_id=0)),
    "cohere2": Family(llama_like("cohere2", 512, 1408, 8, 2, 30001, tied=True, sliding_window=256, pad_token_id=0)),
    "mixtral": Family(llama_like("mixtral", 256, 896, 8, 2, 32000, num_local_experts=4, num_experts_per_tok=2), mlp=()),
    "qwen2_moe": Family(llama_like("qwen2_moe", 512, 1024, 8, 2, 30001, shared_expert_intermediate_size=512, **MOE), mlp=()),
    "qwen3_moe": Family(llama_like("qwen3_moe", 512, 1024, 8, 2, 30001, head_dim=64, **MOE), mlp=()),
    "gpt_oss": Family(llama_like("gpt_oss", 512, 512, 8, 2, 40001, **GPT_OSS), mlp=(), kernels=("eager",)),
    "gpt2": Family({"model_type": "gpt2", "n_embd": 384, "n_layer": 3, "n_head": 6, "n_positions": 1024, "vocab_size": 50257},
                   ("c_attn",), ("c_fc", "c_proj"), "wte", layers="n_layer"),
    "gpt_neox": Family({"model_type": "gpt_neox", "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 2,
                        "num_attention_heads": 8, "vocab_size": 50304, "max_position_embeddings": 2048, "rotary_pct": 0.25,
                        "tie_word_embeddings": False}, ("query_key_value", "dense"), ("dense_h_to_4h", "dense_4h_to_h"), "embed_in",
                       "embed_out"),
}
