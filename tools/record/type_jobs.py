"""Jobs for traces of recorded types, and what of the traces is kept: tests/data/networks/type_traces.jsonl.

    python3 tools/record/type_jobs.py jobs FOLDER opt glm            # FOLDER/opt-full.json, ...; then tools/trace run FOLDER/*.json --out TRACES
    python3 tools/record/type_jobs.py kept TRACES/*.json >> tests/data/networks/type_traces.jsonl

A stack behind a type's name is that of its jobs: falcon_h1@axolotl-0.19.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

#: Sizes that are all small and all differ.
LLAMA = {"vocab_size": 320, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "max_position_embeddings": 2048, "tie_word_embeddings": False, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GPT2 = {"vocab_size": 320, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 2048, "bos_token_id": 1, "eos_token_id": 2}
LATENT = {"q_lora_rank": 24, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "num_key_value_heads": 4}
MAMBAS = ("mamba", "falcon_mamba", "jamba", "zamba")
INDEXER = {"index_topk": 512, "index_n_heads": 6, "index_head_dim": 20}
#: As a causal language model.
BERT = {"is_decoder": True, "vocab_size": 320, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 2048,
        "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
BART = {"vocab_size": 320, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 176,
        "decoder_ffn_dim": 176, "max_position_embeddings": 2048, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
FALCON = {"vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "bos_token_id": 1, "eos_token_id": 2}
MIXTURE = {**LLAMA, "num_experts_per_tok": 2}
#: Layers with a gated delta rule, then attention with heads of 256 as rotary embeddings of images want them.
DELTA = {**{k: v for k, v in LLAMA.items() if k != "pad_token_id"}, "head_dim": 256, "linear_key_head_dim": 16, "linear_value_head_dim": 24, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
         "layer_types": ["linear_attention", "full_attention"]}
DELTA_MIXTURE = {**DELTA, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 40, "shared_expert_intermediate_size": 48}
#: Layers of a state space (Mamba 2) beside those of attention, as Granite 4.0 has them.
GRANITE4 = {**LLAMA, "num_hidden_layers": 4, "tie_word_embeddings": True, "num_local_experts": 8, "num_experts_per_tok": 2, "intermediate_size": 40, "shared_intermediate_size": 72, "position_embedding_type": "nope",
            "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16, "layer_types": ["mamba", "mamba", "attention", "mamba"]}
GRANITE4_DENSE = {**GRANITE4, "num_local_experts": 0, "num_experts_per_tok": 0, "intermediate_size": 72}
BAMBA = {**LLAMA, "num_hidden_layers": 4, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16, "attn_layer_indices": [2]}
#: The same in eight groups, as Nemotron-H has them with experts; its models with plain feed-forward layers are OTHERS.
NEMOTRON_H = {"vocab_size": 320, "hidden_size": 64, "hybrid_override_pattern": "ME*ME", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 176, "mamba_num_heads": 16, "mamba_head_dim": 8,
              "ssm_state_size": 16, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 40, "moe_shared_expert_intermediate_size": 72, "routed_scaling_factor": 2.5, "max_position_embeddings": 2048}
#: A state space beside the attention of every layer, with the numbers of Falcon-H1-0.5B; OTHERS has two groups and a norm behind the state space.
FALCON_H1 = {**LLAMA, "mamba_d_ssm": 96, "mamba_n_heads": 8, "mamba_d_head": 12, "mamba_d_state": 16, "mamba_chunk_size": 128, "mamba_norm_before_gate": False, "mlp_multipliers": [0.88, 0.29], "ssm_multipliers": [0.35, 0.25, 0.17, 0.5, 0.35],
             "key_multiplier": 0.39, "lm_head_multiplier": 0.04, "embedding_multiplier": 5.65}
#: Layers that differ in their attention and in their feed-forward part.
IN_TWO_WAYS = {"num_hidden_layers": 4, "sliding_window": 512, "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]}
#: Gemma 4 as its dense models are; per-layer inputs, layers that take the keys and values of others, and experts are OTHERS.
GEMMA4 = {"vocab_size": 320, "vocab_size_per_layer_input": 304, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
          "global_head_dim": 264, "hidden_size_per_layer_input": 0, "sliding_window": 512, "max_position_embeddings": 2048, "final_logit_softcapping": 30.0,
          "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2}
GEMMA4_DENSE = {**GEMMA4, "num_attention_heads": 8, "num_key_value_heads": 4, "attention_k_eq_v": True, "num_global_key_value_heads": 2, "use_bidirectional_attention": "vision"}
#: Gemma 4 12B.
UNIFIED = {k: v for k, v in GEMMA4_DENSE.items() if k not in ("vocab_size_per_layer_input", "hidden_size_per_layer_input")}
#: Gemma 3n: three layers whose feed-forward parts are sparse, and three at the end that take the keys and values of others.
GEMMA3N = {**{k: v for k, v in GEMMA4.items() if k != "global_head_dim"}, "num_hidden_layers": 9, "hidden_size_per_layer_input": 24, "laurel_rank": 12, "num_kv_shared_layers": 3,
           "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 3, "activation_sparsity_pattern": [0.95] * 3 + [0.0] * 6}
#: North Micro: layers of full attention have no rotary embeddings, those of the others are cut into three parts.
COMPASS = {**LLAMA, "head_dim": 128, "num_hidden_layers": 4, "sliding_window": 512, "layer_types": ["sliding_attention"] * 3 + ["full_attention"], "logit_scale": 0.25, "tie_word_embeddings": True,
           "rope_parameters": {"full_attention": None, "sliding_attention": {"rope_type": "default", "rope_theta": 50000, "mrope_section": [24, 20, 20], "mrope_interleaved": True}}}
LLAMA4 = {**LLAMA, "head_dim": 16, "num_hidden_layers": 4, "num_local_experts": 8, "num_experts_per_tok": 1, "intermediate_size": 40, "intermediate_size_mlp": 176, "attention_chunk_size": 512}
OLMO_HYBRID = {**{k: v for k, v in DELTA.items() if k != "head_dim"}, "pad_token_id": 0}
OWN: dict[str, dict[str, Any]] = {
    "olmo_hybrid": OLMO_HYBRID,
    "granitemoehybrid": GRANITE4, "bamba": BAMBA, "nemotron_h": NEMOTRON_H, "falcon_h1": FALCON_H1,
    "mamba2": {"vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 3, "state_size": 16, "num_heads": 16, "head_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    "doge": {**LLAMA, "keep_window_size": 2048},
    "modernbert-decoder": {"vocab_size": 320, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "max_position_embeddings": 2048, "local_attention": 1024, "pad_token_id": 0,
                           "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
    "llama4_text": {**LLAMA4, "interleave_moe_layer_step": 2, "use_qk_norm": False},
    "qwen3_5_text": DELTA, "qwen3_5_moe_text": DELTA_MIXTURE, "qwen3_next": {**DELTA_MIXTURE, "head_dim": 32},
    "olmoe": {**MIXTURE, "num_experts": 8}, "granitemoe": {**MIXTURE, "num_local_experts": 8}, "phimoe": {**MIXTURE, "num_local_experts": 8, "head_dim": 24, "attention_bias": True, "lm_head_bias": True, "input_jitter_noise": 0.01},
    "minimax_m2": {**MIXTURE, "num_local_experts": 8, "head_dim": 16}, "flex_olmo": {**MIXTURE, "num_experts": 8},
    "glm4_moe": {**MIXTURE, "n_routed_experts": 8, "moe_intermediate_size": 40, "head_dim": 16},
    "dots1": {**MIXTURE, "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 40, "first_k_dense_replace": 1},
    "ernie4_5_moe": {**LLAMA, "moe_k": 2, "moe_num_experts": 8, "moe_num_shared_experts": 2, "moe_intermediate_size": 40},
    "exaone4": {**LLAMA, "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"]},
    "granite_swa": {**LLAMA, "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"]},
    "ministral": {**LLAMA, "head_dim": 16}, "ernie4_5": {**LLAMA, "head_dim": 16}, "glm": {**LLAMA, "head_dim": 16}, "helium": {**LLAMA, "head_dim": 16},
    "opt": {"vocab_size": 320, "hidden_size": 64, "ffn_dim": 176, "num_hidden_layers": 2, "num_attention_heads": 4, "word_embed_proj_dim": 64,
            "max_position_embeddings": 2048, "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2},
    "biogpt": {"vocab_size": 320, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 1024,
               "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2},
    "bloom": {"vocab_size": 320, "hidden_size": 64, "n_layer": 2, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2}, "gpt_bigcode": GPT2, "gptj": {**GPT2, "rotary_dim": 8}, "codegen": {**GPT2, "n_head": 8, "rotary_dim": 4},
    "xglm": {"vocab_size": 320, "d_model": 64, "ffn_dim": 176, "num_layers": 2, "attention_heads": 4, "max_position_embeddings": 2048, "pad_token_id": 1, "bos_token_id": 0,
             "eos_token_id": 2},
    "lfm2": {**LLAMA, "layer_types": ["conv", "full_attention"], "tie_word_embeddings": True},
    "lfm2_moe": {**MIXTURE, "num_experts": 8, "moe_intermediate_size": 40, "num_hidden_layers": 4, "num_dense_layers": 1, "tie_word_embeddings": True,
                 "layer_types": ["conv", "conv", "full_attention", "conv"]},
    "exaone_moe": {**MIXTURE, "num_experts": 8, "moe_intermediate_size": 40, **IN_TWO_WAYS, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
    "afmoe": {**MIXTURE, "num_experts": 8, "moe_intermediate_size": 40, "head_dim": 16, **IN_TWO_WAYS, "num_dense_layers": 1},
    "mellum": {**MIXTURE, "num_local_experts": 8, "moe_intermediate_size": 40, "head_dim": 16, **IN_TWO_WAYS, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
    "cohere2_moe": {**MIXTURE, "num_experts": 8, "head_dim": 16, **IN_TWO_WAYS, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"], "prefix_dense_intermediate_size": 96},
    "deepseek_v2": {**MIXTURE, **LATENT, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 40, "first_k_dense_replace": 1},
    "granitemoeshared": {**MIXTURE, "num_local_experts": 8, "shared_intermediate_size": 40},
    "deepseek_v3": {**MIXTURE, **LATENT, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 2, "topk_group": 1, "moe_intermediate_size": 40, "first_k_dense_replace": 1},
    "axk1": {**MIXTURE, **LATENT, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 2, "topk_group": 1, "moe_intermediate_size": 40, "first_k_dense_replace": 1},
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa"), {**MIXTURE, **LATENT, **INDEXER, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 2, "topk_group": 1, "moe_intermediate_size": 40, "first_k_dense_replace": 1}),
    "axk2": {**MIXTURE, **LATENT, **INDEXER, "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 40, "first_k_dense_replace": 1},
    "mimo_v2_flash": {**MIXTURE, "num_attention_heads": 8, "head_dim": 192, "v_head_dim": 24, "num_hidden_layers": 4, "n_routed_experts": 8, "moe_intermediate_size": 40, "sliding_window": 512,
                      "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"], "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
    "minimax_m3_vl_text": {**MIXTURE, "num_local_experts": 8, "intermediate_size": 40, "dense_intermediate_size": 176, "shared_intermediate_size": 72, "head_dim": 16, "num_hidden_layers": 4,
                           "layer_types": ["full_attention"] * 4, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
    "kimi_linear": {**{k: v for k, v in LLAMA.items() if k not in ("max_position_embeddings", "num_key_value_heads")}, "num_hidden_layers": 4, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
                    "num_key_value_heads": 4, "linear_head_dim": 16, "linear_num_heads": 4, "moe_intermediate_size": 40, "num_experts": 8, "num_experts_per_token": 2, "model_max_length": 2048,
                    "layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"], "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
    "aria_text": {**LLAMA, "intermediate_size": 40, "moe_num_experts": 8, "moe_topk": 2, "moe_num_shared_experts": 2},
    "longcat_flash": {**{k: v for k, v in LLAMA.items() if k not in ("intermediate_size", "num_hidden_layers", "num_key_value_heads")}, "q_lora_rank": 24, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
                      "num_layers": 2, "num_hidden_layers": 4, "ffn_hidden_size": 176, "expert_ffn_hidden_size": 40, "n_routed_experts": 6, "zero_expert_num": 2, "moe_topk": 2},
    "jetmoe": {**{k: v for k, v in MIXTURE.items() if k != "num_attention_heads"}, "num_local_experts": 8, "kv_channels": 16},
    "hy_v4": {**MIXTURE, **LATENT, **INDEXER, "n_routed_experts": 8, "moe_intermediate_size": 40, "num_hidden_layers": 6, "indexer_types": ["full", "full", "shared", "shared", "full", "shared"],
              "mlp_layer_types": ["dense", "sparse", "sparse", "sparse", "sparse", "sparse"]},
    "glm4_moe_lite": {**MIXTURE, **LATENT, "n_routed_experts": 8, "moe_intermediate_size": 40}, "youtu": {**LLAMA, **LATENT}, "minicpm3": {**LLAMA, **LATENT},
    "gpt_neo": {"vocab_size": 320, "hidden_size": 64, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 2048, "attention_types": [[["global", "local"], 1]],
                "attention_layers": ["global", "local"], "bos_token_id": 1, "eos_token_id": 2},
    "solar_open": {**MIXTURE, "n_routed_experts": 8, "moe_intermediate_size": 40, "head_dim": 16},
    "hunyuan_v1_moe": {**LLAMA, "num_experts": 8, "moe_topk": 2, "head_dim": 16},
    "hy_v3": {**MIXTURE, "num_experts": 8, "moe_intermediate_size": 40, "head_dim": 16, "mlp_layer_types": ["dense", "sparse"]},
    "granitemoe_swa": {**MIXTURE, "num_local_experts": 8, "shared_intermediate_size": 40, "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"]},
    "gemma4_text": GEMMA4_DENSE, "gemma4_unified_text": UNIFIED, "gemma3n_text": GEMMA3N, "cohere_compass_text": COMPASS, "falcon": FALCON, "mpt": {"vocab_size": 320, "d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": 2048, "bos_token_id": 1, "eos_token_id": 2},
    "jamba": {**{k: v for k, v in LLAMA.items() if k != "max_position_embeddings"}, "num_experts": 1, "num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 12, "mamba_dt_rank": 6},
    **dict.fromkeys(MAMBAS[:2], {"vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2, "state_size": 12, "time_step_rank": 6, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}),
    "cpmant": {"vocab_size": 320, "hidden_size": 64, "num_attention_heads": 4, "dim_head": 16, "dim_ff": 176, "num_hidden_layers": 2, "bos_token_id": 1, "eos_token_id": 2},
    "xlnet": {"vocab_size": 320, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 176, "pad_token_id": 5, "bos_token_id": 1, "eos_token_id": 2},
    "inkling_text": {"vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "swa_num_attention_heads": 8, "swa_num_key_value_heads": 4, "swa_head_dim": 24,
                     "sliding_window_size": 512, "d_rel": 8, "rel_extent": 96, "intermediate_size": 176, "moe_intermediate_size": 40, "n_routed_experts": 8, "num_experts_per_tok": 2, "max_position_embeddings": 2048, "pad_token_id": 0,
                     "layer_types": ["hybrid_sliding", "hybrid_sliding", "hybrid", "hybrid_sliding"], "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"], "bos_token_id": 1, "eos_token_id": 2},
    "rwkv": {"vocab_size": 320, "hidden_size": 64, "attention_hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 3, "context_length": 2048, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2},
    "laguna": {**MIXTURE, "num_experts": 8, "moe_intermediate_size": 40, "shared_expert_intermediate_size": 48, "head_dim": 16, "num_hidden_layers": 4, "sliding_window": 512, "gating": "per-head",
               "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"], "num_attention_heads_per_layer": [4, 8, 4, 8], "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"],
               "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 4.0, "original_max_position_embeddings": 512, "beta_fast": 64.0, "beta_slow": 1.0, "attention_factor": 1.0,
                                                      "partial_rotary_factor": 0.5}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0}}},
    "electra": {**BERT, "embedding_size": 32}, "roformer": {**BERT, "embedding_size": 32}, "rembert": {**BERT, "input_embedding_size": 32, "output_embedding_size": 48}, "openai-gpt": GPT2, "gpt-sw3": GPT2}
#: Encoders that AutoModelForCausalLM loads as causal language models; as published, without is_decoder, with a warning.
BERTS = ("bert", "big_bird", "bert-generation", "camembert", "data2vec-text", "electra", "ernie", "megatron-bert", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "xlm-roberta", "xlm-roberta-xl", "xmod")
#: Networks of one type that are not alike: "falcon-rw-full" and so on.
OTHERS: dict[str, dict[str, dict[str, Any]]] = {
    "nemotron_h": {"8b": {**NEMOTRON_H, "hybrid_override_pattern": "M-M*-"}, "super": {**NEMOTRON_H, "moe_latent_size": 48}},
    "falcon_h1": {"34b": {**FALCON_H1, "mamba_n_groups": 2, "mamba_rms_norm": True, "mamba_chunk_size": 256, "head_dim": 24}},
    "granitemoehybrid": {"h": GRANITE4_DENSE,
                         "micro": {**GRANITE4_DENSE, "position_embedding_type": "rope", "layer_types": ["attention"] * 4}},
    "exaone4": {"1.2b": {**LLAMA, "head_dim": 16, "sliding_window": None, "layer_types": ["full_attention", "full_attention"], "tie_word_embeddings": True}},
    "gemma4_unified_text": {"12b": {**UNIFIED, "num_global_key_value_heads": 1}},
    "gemma4_text": {"e4b": {**GEMMA4, "hidden_size_per_layer_input": 24, "num_kv_shared_layers": 3},
                    "e2b": {**GEMMA4, "hidden_size_per_layer_input": 24, "num_kv_shared_layers": 3, "num_key_value_heads": 1, "use_double_wide_mlp": True},
                    "26b": {**GEMMA4_DENSE, "enable_moe_block": True, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 40}},
    "falcon": {"40b": {**FALCON, "num_attention_heads": 8, "num_kv_heads": 2, "new_decoder_architecture": True},
               "rw": {**FALCON, "multi_query": False, "parallel_attn": False, "bias": True, "alibi": True, "ffn_hidden_size": 176}},
    "llama4_text": {"scout": {**LLAMA4, "use_qk_norm": True, "rope_scaling": {"rope_type": "llama3", "factor": 16.0, "high_freq_factor": 1.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 1024}}},
    "bloom": {"176b": {"vocab_size": 320, "hidden_size": 896, "n_layer": 2, "n_head": 112, "bos_token_id": 1, "eos_token_id": 2}},
    "stablelm": {"12b": {**LLAMA, "hidden_size": 512, "num_attention_heads": 32, "num_key_value_heads": 8, "qk_layernorm": True, "use_parallel_residual": True, "pad_token_id": None}},
    "cohere2_moe": {"shared": {**MIXTURE, "num_experts": 8, "head_dim": 16, "num_hidden_layers": 4, "sliding_window": 512, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
                               "num_shared_experts": 2, "expert_selection_fn": "sigmoid", "rms_norm_eps": 1e-6, "tie_word_embeddings": True}},
    "phimoe": {"plain": {**MIXTURE, "num_local_experts": 8, "sliding_window": 512}},
    "opt": {"350m": {"vocab_size": 320, "hidden_size": 64, "ffn_dim": 176, "num_hidden_layers": 2, "num_attention_heads": 4, "word_embed_proj_dim": 32, "do_layer_norm_before": False,
                     "max_position_embeddings": 2048, "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2}}}
OWN |= {name: BERT for name in BERTS if name not in OWN}
OTHERS |= {name: {"encoder": {**OWN[name], "is_decoder": False}} for name in BERTS}
OTHERS["bert"]["untied"] = {**BERT, "tie_word_embeddings": False}
#: Decoders of networks that have an encoder too, which AutoModelForCausalLM loads alone.
BARTS = ("bart", "blenderbot", "blenderbot-small", "marian", "mbart", "mvp", "pegasus", "plbart", "trocr", "whisper", "prophetnet", "bigbird_pegasus")
OWN |= {name: BART for name in BARTS} | {"bigbird_pegasus": {**BART, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1}, "whisper": {k: v for k, v in BART.items() if k != "max_position_embeddings"},
                                       "prophetnet": {"vocab_size": 320, "hidden_size": 64, "num_encoder_layers": 2, "num_decoder_layers": 2, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4,
                                                      "encoder_ffn_dim": 176, "decoder_ffn_dim": 176, "max_position_embeddings": 128, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}}
OWN["gemma3"] = {"text_config": {**LLAMA, "head_dim": 16, "num_key_value_heads": 2, "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"], "tie_word_embeddings": True, "use_cache": False},
                 "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 896, "patch_size": 14,
                                   "vision_use_head": False}, "image_token_index": 300}  # as published, below the size of the vocabulary
#: Whole with their towers, the keys and values of whose text part are not kept (Trainer switches the whole's cache off alone).
OWN["qwen3_5"] = {"text_config": {**DELTA, "use_cache": False}, "vision_config": {"depth": 2, "hidden_size": 48, "intermediate_size": 96, "num_heads": 4, "out_hidden_size": 64}}
OWN["qwen3_5_moe"] = {**OWN["qwen3_5"], "text_config": {**DELTA_MIXTURE, "use_cache": False}}
#: Gemma 4's vision tower as its models without one for sound have it.
GEMMA4_VISION = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16, "position_embedding_size": 64, "standardize": True}
#: Embeddings of images and of sound are single layers.
UNIFIED_PARTS = {"vision_config": {"mm_embed_dim": 48, "mm_posemb_size": 40, "output_proj_dims": 48}, "audio_config": {}}
OWN["gemma3n"] = {"text_config": {**GEMMA3N, "use_cache": False}, "vision_config": {}, "audio_config": {"conf_num_hidden_layers": 1}}
OWN["gemma4_unified"] = {"text_config": {**UNIFIED, "num_global_key_value_heads": 1}, **UNIFIED_PARTS}
OWN["gemma4"] = {"text_config": GEMMA4_DENSE, "vision_config": GEMMA4_VISION}
OTHERS["gemma4"] = {"26b": {"text_config": OTHERS["gemma4_text"]["26b"], "vision_config": GEMMA4_VISION}}
#: Patches of images go through one linear layer; the text part is a persimmon.
OWN["fuyu"] = {"text_config": {"model_type": "persimmon", **{k: v for k, v in LLAMA.items() if k != "num_key_value_heads"}, "use_cache": False}, **{k: v for k, v in LLAMA.items() if k not in ("num_key_value_heads", "pad_token_id")}}
#: Its keys are those of the text, with the towers of the published model.
OWN["phi4_multimodal"] = {**LLAMA, "vision_config": {}, "audio_config": {}}
#: The same with a tower like SAM's as it is published.
OWN["got_ocr2"] = {"text_config": {"model_type": "qwen2", **LLAMA, "use_cache": False}, "vision_config": {}, "tie_word_embeddings": False}
#: The text part is of several types, and says which.
PIXTRAL = {"model_type": "pixtral", "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 1540, "patch_size": 14}
OWN |= {name: {"model_type": "mistral3", "text_config": {"model_type": text, **LLAMA, "head_dim": 16, "sliding_window": None}, "vision_config": PIXTRAL, "tie_word_embeddings": False}
        for name, text in (("mistral3", "mistral"), ("mistral3_ministral3", "ministral3"))}
#: Linear attention, whose rows are one block of it.
OWN["minimax"] = {**MIXTURE, "num_hidden_layers": 4, "head_dim": 16, "num_local_experts": 8, "layer_types": ["linear_attention", "linear_attention", "full_attention", "linear_attention"], "sliding_window": None}
#: Layers with attention share its parameters.
OWN["zamba"] = {**{k: v for k, v in LLAMA.items() if k != "num_key_value_heads"}, "num_hidden_layers": 6, "num_key_value_heads": 4, "mamba_d_state": 8, "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid", "mamba", "mamba"]}
#: Two stacks of two layers, which run eight times together.
OWN["hrm_text"] = {**{k: v for k, v in LLAMA.items() if k not in ("num_hidden_layers", "num_key_value_heads")}, "head_dim": 16, "num_layers_per_stack": 2, "num_hidden_layers": 16}
OTHERS["hrm_text"] = {"causal": {**OWN["hrm_text"], "prefix_lm": False, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "num_layers_per_stack": 3, "num_hidden_layers": 24}}
OWN["xlm"] = {"vocab_size": 320, "emb_dim": 64, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 2048, "pad_token_id": 2, "bos_token_id": 0, "eos_token_id": 1}
OTHERS["rwkv"] = {"tied": {**{k: v for k, v in OWN["rwkv"].items() if k not in ("attention_hidden_size", "intermediate_size")}, "tie_word_embeddings": True, "num_hidden_layers": 2}}
#: As databricks/dbrx-base is published, with small sizes.
OWN["dbrx"] = {"vocab_size": 320, "d_model": 64, "n_layers": 2, "n_heads": 8, "max_seq_len": 2048, "tie_word_embeddings": False, "attn_config": {"clip_qkv": 8, "kv_n_heads": 2, "rope_theta": 500000},
               "ffn_config": {"ffn_hidden_size": 40, "moe_jitter_eps": 0, "moe_loss_weight": 0.05, "moe_num_experts": 8, "moe_top_k": 4}, "bos_token_id": 1, "eos_token_id": 2}
OTHERS["dbrx"] = {"plain": {**OWN["dbrx"], "ffn_config": {**OWN["dbrx"]["ffn_config"], "moe_jitter_eps": None, "moe_num_experts": 6, "moe_top_k": 2}}}
#: A causal network of several languages, whose embeddings no row looks up.
OTHERS["xlm"] = {"causal": {**OWN["xlm"], "causal": True, "n_langs": 3, "gelu_activation": False, "tie_word_embeddings": False}}
OWN["ctrl"] = {"vocab_size": 320, "n_embd": 64, "dff": 176, "n_layer": 2, "n_head": 4, "n_positions": 256, "bos_token_id": 1, "eos_token_id": 2}
#: The decoder of text, beside whose keys stand parts for sound that it does not have.
OWN["moshi"] = {**{k: v for k, v in LLAMA.items() if k != "intermediate_size"}, "ffn_dim": 352, "sliding_window": 3000}
#: Parts of text that AutoModelForCausalLM knows by their whole.
OWN["emu3_text_model"] = {"model_type": "emu3", "text_config": {"model_type": "emu3_text_model", **LLAMA}}
OWN["hunyuan_v1_dense"] = {**LLAMA, "head_dim": 16}
OWN["mllama_text_model"] = {"model_type": "mllama", "text_config": {"model_type": "mllama_text_model", **LLAMA, "num_hidden_layers": 4, "cross_attention_layers": [1, 2]}, "vision_config": {"model_type": "mllama_vision_model"}}
#: Types that AutoModelForCausalLM loads another class of, or none.
WHOLE = ("qwen3_5", "qwen3_5_moe", "mistral3", "mistral3_ministral3")
#: Llama's network under other names of keys; published with embeddings whose frequencies change with rows of more than max_position_embeddings tokens. That they have so many the tracer's host reads of rows without padding.
OWN["internlm3"] = {**LLAMA, "head_dim": 16, "qkv_bias": False, "bias": False}
OTHERS["internlm3"] = {"8b": {**OWN["internlm3"], "rope_scaling": {"rope_type": "dynamic", "factor": 6.0}}}
#: Layers that differ in two ways, of which the first are dense; the last one has full attention.
OWN["flint"] = {**MIXTURE, **IN_TWO_WAYS, "num_experts": 8, "moe_intermediate_size": 40, "shared_expert_intermediate_size": 48, "head_dim": 16, "layer_types": ["full_attention", "full_attention", "sliding_attention", "full_attention"], "mlp_only_layers": [0]}
OWN["beam"] = {**MIXTURE, **IN_TWO_WAYS, "num_experts": 8, "moe_intermediate_size": 40, "head_dim": 16, "n_group": 2, "topk_group": 1, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"],
               "rope_parameters": {"full_attention": None, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}
OWN["kolibri1"] = {**{k: v for k, v in MIXTURE.items() if k != "intermediate_size"}, "num_hidden_layers": 4, "num_experts": 8, "moe_intermediate_size": 40, "shared_expert_intermediate_size": 48, "head_dim": 16, "sliding_window": 512,
                   "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]}
OWN["moss_transcribe_diarize"] = {"text_config": {"model_type": "qwen3", **LLAMA, "head_dim": 16, "use_cache": False}, "audio_config": {"num_hidden_layers": 2}, "tie_word_embeddings": True}
#: LFM2's short convolutions, full attention and attention with a window.
OWN["lfm3"] = {**LLAMA, "num_hidden_layers": 5, "head_dim": 16, "sliding_window": 512, "layer_types": ["conv", "conv", "full_attention", "conv", "sliding_attention"]}
#: Types whose masks are made where rows reach a window, and the key that says it.
WINDOWS = {**dict.fromkeys(("afmoe", "cohere2_moe", "cwm", "exaone4", "exaone_moe", "cohere_compass_text", "gemma3n_text", "gemma4_text", "gemma4_unified_text", "ministral", "ministral3", "olmo3", "phimoe", "vaultgemma", "flint", "beam", "kolibri1", "lfm3"), "sliding_window"), **dict.fromkeys(("axk2", "deepseek_v32", "glm_moe_dsa", "hy_v4"), "index_topk"), "mimo_v2_flash": "sliding_window", "laguna": "sliding_window", "inkling_text": "sliding_window_size", "llama4_text": "attention_chunk_size", "gemma3": "sliding_window", "gemma4": "sliding_window", "modernbert-decoder": "local_attention"}
#: Rows of several lengths where the code goes over them in chunks of 64: less than one, whole ones, a part of one.
LENGTHS = {"lora": 200, "checkpointing": 128, "autocast": 200, "padded": 130, "padded-lora-checkpointing": 200, "qlora": 191, "sft-lora": 72, "lora-casts": 200, "qlora-casts": 191, "qlora-norm-casts": 191}
#: Rows with more rounds than torch.cat takes at once, and with fewer.
ROUNDS = {"full": 150, "lora": 200}
#: The same of chunks of 256.
LONG = {"full": 300, "lora": 256, "checkpointing": 600, "autocast": 512, "padded": 280, "padded-lora-checkpointing": 512, "qlora": 1000, "sft-lora": 120}
#: One block of linear attention of 256 tokens, and a part of a second.
BLOCKS = {"minimax": {"lora": 300, "padded": 400, "qlora": 257}}
IN_LONG_CHUNKS = ("granitemoehybrid", "bamba", "nemotron_h", "falcon_h1", "mamba2")
IN_CHUNKS = ("kimi_linear", "olmo_hybrid", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next", "qwen3_5", "qwen3_5_moe")
#: Types that the library trains in float32 alone (vramfit_record/variants.py).
IN_FLOAT32 = ("xlnet",)
#: Linear layers that get adapters.
TARGETS: dict[str, list[str] | str] = {**dict.fromkeys(("gemma3n", "gemma4", "gemma4_unified"), r".*language_model.*\.(q_proj|v_proj)"),  # the tower's layers of these names are no nn.Linear
           **dict.fromkeys(("qwen3_5", "qwen3_5_moe"), ["q_proj", "v_proj", "in_proj_qkv", "out_proj", "qkv"]),
           "qwen3_5_text": ["q_proj", "v_proj", "in_proj_qkv", "out_proj"], "qwen3_5_moe_text": ["q_proj", "v_proj", "in_proj_qkv", "out_proj"], "qwen3_next": ["q_proj", "v_proj", "in_proj_qkvz"],
           **dict.fromkeys((*IN_LONG_CHUNKS, *MAMBAS), ["q_proj", "v_proj", "in_proj"]),
           "olmo_hybrid": ["q_proj", "v_proj", "o_proj"], "lfm2": ["q_proj", "v_proj", "in_proj"], "lfm2_moe": ["q_proj", "v_proj", "in_proj"], "lfm3": ["q_proj", "v_proj", "in_proj"], "bloom": ["query_key_value"], "mpt": ["Wqkv"],
           "cpmant": ["project_q", "project_v"], "jetmoe": ["kv_proj"], "ctrl": ["Wq", "Wv"], "xlm": ["q_lin", "v_lin"], "dbrx": ["Wqkv", "out_proj"], "moshi": ["q_proj.linear", "v_proj.linear"], "phi4_multimodal": ["qkv_proj", "gate_up_proj"], "fuyu": ["query_key_value", "dense"], "xlnet": ["layer_1", "layer_2"], "rwkv": ["key", "value"], "prophetnet": ["query_proj", "value_proj"],
           **dict.fromkeys(BERTS, ["query", "value"]), **dict.fromkeys(("axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa", "hy_v4", "kimi_linear", "longcat_flash", "glm4_moe_lite", "youtu", "minicpm3"), ["q_b_proj", "kv_b_proj"]),
           **dict.fromkeys(("openai-gpt", "gpt-sw3"), ["c_attn", "c_proj"]), "falcon": ["query_key_value"], "gpt_neox_japanese": ["query_key_value"], "gpt_bigcode": ["c_attn", "c_proj"], "glm": ["q_proj", "gate_up_proj"], "codegen": ["qkv_proj", "fc_in"]}
#: Classes without scaled_dot_product_attention.
EAGER = {"flint", "hy_v4", "xlm", *MAMBAS[:2], "big_bird", "bigbird_pegasus", "got_ocr2", "cpmant", "xlnet", "rwkv", "mamba2", "mimo_v2_flash", "bloom", "mpt", "gpt_neo", "granitemoe_swa", "xglm", "openai-gpt", "gpt_neox_japanese", "gptj", "codegen", "granite_swa", "megatron-bert", "rembert", "roformer", "mvp", "trocr", "prophetnet"}

#: ... in stacks with transformers 5.23 (modeling_vaultgemma.py _supports_sdpa).
EAGER_IN = {("vaultgemma", "hf-2026-11-24")}
#: Classes whose code asks whether there are gradients.
NOT_REENTRANT = {"kolibri1"}
#: Mixtures to which trl adds the loss that balances experts, which is switched off here.
BALANCED = {"dbrx", "minimax_m3_vl_text", "jetmoe", "jamba", "afmoe", "mellum", "granitemoe_swa", "olmoe", "granitemoe", "granitemoeshared", "granitemoehybrid", "minimax", "minimax_m2", "flex_olmo", "ernie4_5_moe", "llama4_text", "phimoe"}

#: Classes that transformers stops with flash_attention_2, that call it in their own way, or that were not compared with it.
WITHOUT_FLASH = {"flint", "zamba", "dbrx", "hrm_text", "xlm", "minimax", "got_ocr2", "phi4_multimodal", "cohere_compass_text", "gemma3n", "gemma3n_text", "gemma4_unified", "gemma4_unified_text", *MAMBAS, "cpmant", "fuyu", "laguna", "inkling_text", "xlnet", "rwkv", "hy_v4", "minimax_m3_vl_text", "kimi_linear", "axk2", "bloom", "deepseek_v32", "glm_moe_dsa", "mimo_v2_flash", "olmo_hybrid", "diffllama", "doge", "falcon_h1", "gpt_neox_japanese", "mamba2", "modernbert-decoder", "nemotron_h", "openai-gpt", "cohere2_moe", "codegen", "llama4_text", "mpt", "xglm", "falcon", "gpt_neo", "gptj", "granite_swa", "granitemoe_swa", *BERTS, *BARTS}
#: Classes of whose forward axolotl's cut cross entropy replaces the loss alone.
CUT = {"apertus", "deepseek_v2", "deepseek_v3", "exaone4", "exaone_moe", "glm", "glm4_moe", "glm4_moe_lite", "hunyuan_v1_dense", "hunyuan_v1_moe", "lfm2", "lfm2_moe", "ministral", "ministral3", "mistral3",
       "mistral3_ministral3", "olmo", "olmo3", "qwen3_5_text"}
#: Types whose modules Liger replaces in a way that was compared.
LIGER = {"exaone4", "gemma4_text", "hunyuan_v1_dense", "ministral", "olmo3", "qwen3_5_text"}
#: Types whose generation was compared (src/spec/network/rewritten/generation.cpp can_generate).
GENERATING = {"apertus", "ernie4_5", "exaone4", "glm", "helium", "hunyuan_v1_dense", "hyperclovax", "jais2", "ministral", "ministral3", "nanochat", "olmo", "olmo3", "opt", "persimmon", "stablelm"}
#: What switches that loss off.
BALANCING = {name: {"router_aux_loss_coef": 0.0} for name in BALANCED}

LORA = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "lora_dropout": 0.05, "bias": "none"}
NF4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": "bfloat16"}


def jobs_of(model_type: str) -> dict[str, dict[str, Any]]:
    peft = {**LORA, "target_modules": TARGETS.get(model_type, ["q_proj", "v_proj"])}

    def job(name: str, load: dict[str, Any] | None = None, peft: Any = None, mask: str = "ones", loop: str = "trainer", prepare: Any = None, **training: Any) -> dict[str, Any]:
        return {"schema": "vramfit.job/1", "name": f"{model_type}-{name}", "stack": "hf-2026-11", "model": {"model_type": model_type, **OWN.get(model_type, LLAMA)},
                "load": {"dtype": "float32" if model_type in IN_FLOAT32 else "bfloat16", "attn_implementation": "eager" if model_type in EAGER else "sdpa", "device_map": {"": 0}, **({"text_part": False} if model_type in WHOLE else {}), **(load or {})}, "peft": peft,
                "training": {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 1, "optim": "adamw_torch", "gradient_checkpointing": False, "bf16": False, **training},
                "batch": {"sequence_length": ROUNDS.get(name, 56) if model_type in MAMBAS else LENGTHS.get(name, 56) if model_type in IN_CHUNKS else LONG.get(name, 56) if model_type in IN_LONG_CHUNKS else BLOCKS.get(model_type, {}).get(name, 56), "attention_mask": mask}, "loop": {"kind": loop}, **({"prepare_kbit": prepare} if prepare else {})}
    checkpointing = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}
    made = [job("full"), job("lora", peft=peft), job("checkpointing", gradient_checkpointing=True), job("autocast", {"dtype": "float32"}, bf16=True),
            job("padded", mask="right_padded"), job("padded-lora-checkpointing", peft=peft, mask="right_padded", **checkpointing),
            job("qlora", {"quantization_config": NF4}, peft), job("sft-lora", peft=peft, mask="right_padded", loop="sft", **BALANCING.get(model_type, {}))]
    # What axolotl does: casts, preparation with checkpointing, autocast.
    both, prepared = "norms_and_embeddings", {"use_gradient_checkpointing": True, **({"gradient_checkpointing_kwargs": {"use_reentrant": False}} if model_type in NOT_REENTRANT else {})}
    made += [job("lora-casts", {"upcast": both}, peft, bf16=True), job("full-casts", {"upcast": both}, bf16=True),
             job("qlora-casts", {"quantization_config": NF4, "upcast": both}, peft, prepare=prepared, bf16=True),
             job("qlora-norm-casts", {"quantization_config": NF4, "upcast": "norms"}, peft, prepare=prepared, bf16=True)]
    if model_type not in WITHOUT_FLASH:
        made += flash(model_type, job, peft, prepared)
    if model_type in CUT:
        made += [cut(model_type, row) for row in made if row["name"].endswith(("-full", "-checkpointing", "-flash-qlora-casts")) and "padded" not in row["name"]]
    if model_type in LIGER:
        made += [with_liger(model_type, row) for row in made[:8]]
    if model_type in WINDOWS:
        made += [reached(row, WINDOWS[model_type], 56 if i == 0 else 24) for i, row in enumerate(row for row in made if "-flash" in row["name"] or row in made[:8])]
    generated = generating(model_type, job, peft) if model_type in GENERATING else []
    return {row["name"]: row for row in [*made, *others(model_type, made), *preferences(job, peft), *generated]}


def flash(model_type: str, job: Any, peft: dict[str, Any], prepared: dict[str, Any]) -> list[dict[str, Any]]:
    """The package flash_attn, which is given rows without padding."""
    there = {"attn_implementation": "flash_attention_2"}
    checkpointing = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}
    return [job("flash", there), job("flash-qlora-casts", {**there, "quantization_config": NF4, "upcast": "norms_and_embeddings"}, peft, prepare=prepared, bf16=True),
            job("flash-lora-checkpointing", there, peft, **checkpointing), job("flash-autocast", {**there, "dtype": "float32"}, bf16=True),
            job("flash-sft-lora", there, peft, loop="sft", **BALANCING.get(model_type, {}))]


def cut(model_type: str, job: dict[str, Any]) -> dict[str, Any]:
    """The same job without logits."""
    return {**job, "name": job["name"].replace(model_type, f"{model_type}-cut", 1), "training": {**job["training"], "cut_cross_entropy": True}}


def with_liger(model_type: str, job: dict[str, Any]) -> dict[str, Any]:
    """The same job with Liger's kernels."""
    return {**job, "name": job["name"].replace(model_type, f"{model_type}-liger", 1), "training": {**job["training"], "use_liger_kernel": True}}


def with_window(model: dict[str, Any], key: str, window: int) -> dict[str, Any]:
    """The network with a window, which its text part has."""
    return {**model, "text_config": {**model["text_config"], key: window}} if "text_config" in model else {**model, key: window}


def reached(job: dict[str, Any], key: str, window: int) -> dict[str, Any]:
    """The same job with rows that reach a window, as one that ends with them does."""
    return {**job, "name": f"{job['name']}-window", "model": with_window(job["model"], key, window)}


def others(model_type: str, made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same jobs of the type's other networks."""
    key = WINDOWS.get(model_type, "")

    def model_of(job: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
        has_window = job["name"].endswith("-window") and model.get(key, 1)
        own = job["model"].get("text_config", job["model"])
        return {"model_type": model_type, **(with_window(model, key, own[key]) if has_window else model)}
    return [{**job, "name": job["name"].replace(model_type, f"{model_type}-{name}", 1), "model": model_of(job, model)}
            for name, model in OTHERS.get(model_type, {}).items() for job in made if not (job["name"].endswith("-window") and model.get(key, 1) is None)]


def preferences(job: Any, peft: dict[str, Any]) -> list[dict[str, Any]]:
    """trl's trainers of preferences, whose rows are pairs of a prompt and two completions, or one."""
    pairs, one = {"prompt_length": 20, "completion_length": 28, "rejected_length": 17}, {"prompt_length": 20, "completion_length": 28, "desirable": [True, False]}
    in_trainer = {"peft_module_casting_to_bf16": False, "peft_config": True, "trainer": "trl"}
    checkpointing = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}

    def preferring(kind: str, name: str, batch: dict[str, Any], *load: Any, **training: Any) -> dict[str, Any]:
        made = job(f"{kind}-{name}", *load, loop=kind, **training)
        made["batch"], made["trl"] = dict(batch), in_trainer
        return made
    return [preferring("dpo", "lora", pairs, None, peft, bf16=True), preferring("dpo", "full", pairs, {"dtype": "float32"}, bf16=True),
            preferring("dpo", "lora-checkpointing", pairs, None, peft, bf16=True, **checkpointing),
            preferring("dpo", "qlora", pairs, {"quantization_config": NF4}, peft, bf16=True), preferring("kto", "lora", one, None, peft, bf16=True),
            preferring("kto", "full", one, {"dtype": "float32"}, bf16=True)]


def generating(model_type: str, job: Any, peft: dict[str, Any]) -> list[dict[str, Any]]:
    """trl's trainers that generate: prompts of one length, prompts and completions of several, and windows that the cache of a layer is filled beyond."""
    one, several = {"prompt_length": 20, "completion_length": 12}, {"prompt_length": [20, 13], "completion_length": [12, 9, 5, 12]}

    def made(name: str, batch: dict[str, Any], load: Any = None, peft: Any = None, window: int | None = None, **training: Any) -> dict[str, Any]:
        row = job(name, load, peft, loop=name.split("-")[0], **{"per_device_train_batch_size": 4, "bf16": True, "max_completion_length": 64, **training})
        model = {**row["model"], "vocab_size": 512}
        return {**row, "model": with_window(model, WINDOWS[model_type], window) if window else model, "batch": batch, "loop": {**row["loop"], "steps": 2},
                "trl": {"peft_module_casting_to_bf16": False, "peft_config": True, "trainer": "trl"}}
    two = {"num_generations": 2, "shuffle_dataset": False}
    rows = [made("grpo-full", one, {"dtype": "float32"}, num_generations=4), made("grpo-lora-padded", several, None, peft, **two), made("rloo-full-bf16", one, bf16=False, num_generations=4)]
    if model_type in WINDOWS:
        rows.append(made("grpo-full-padded-window-passed", several, {"dtype": "float32"}, window=26, **two))
    return rows


def in_stack(job: dict[str, Any], stack: str) -> dict[str, Any]:
    """The job as that stack's libraries run it."""
    load = {**job["load"], "attn_implementation": "eager"} if (job["model"]["model_type"], stack) in EAGER_IN else job["load"]
    return {**job, "stack": stack, "load": load}


def kept(trace: dict[str, Any]) -> dict[str, Any]:
    """The job as it was asked, and of each window the highest requested bytes and those at its end."""
    name = trace["job"]["name"]
    job = jobs_of(type_of(name))[name]
    if (stack := trace["job"]["stack"]) != job["stack"]:
        name, job = f"{name}-{stack}", in_stack(job, stack)
    if said := trace["job"].get("environment"):  # how the loader's threads were switched off, on which the peak of experts depends
        job = {**job, "environment": said}
    return {"name": name, "job": job, "windows": [[w["name"], w["peak"], w["end"]] for w in trace["windows"]]}


def type_of(name: str) -> str:
    """Whose job it is: a type's name may have a dash itself."""
    return max((t for t in OWN if "-" in t and name.startswith(f"{t}-")), key=len, default=name.split("-")[0])


def main(arguments: list[str]) -> None:
    if arguments[0] == "jobs":
        for asked in arguments[2:]:
            model_type, _, stack = asked.partition("@")
            for name, job in jobs_of(model_type).items():
                (Path(arguments[1]) / f"{name}.json").write_text(json.dumps(in_stack(job, stack or job["stack"])))
    else:
        for path in arguments[1:]:
            print(json.dumps(kept(json.loads(Path(path).read_text())), separators=(",", ":")))


if __name__ == "__main__":
    main(sys.argv[1:])
