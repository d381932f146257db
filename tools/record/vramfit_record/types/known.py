"""What is known of types and their keys: sizes that are varied, values that are choices, lists of layers."""
from __future__ import annotations

from typing import Any

SIZE, REAL = {"varied": "size"}, {"varied": "real"}
VARIED = (SIZE, REAL)

#: How many experts there are.
EXPERTS = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}
#: How many of them a token has.
USED = ("num_experts_per_tok", "moe_k", "moe_topk", "top_k_experts")
#: Sizes that tell the keys apart: heads of 16, 40 and 24 numbers where nothing else is said, 2 to 10 heads for each of keys and values.
SIZES: dict[str, tuple[int, ...]] = {
    "hidden_size": (192, 320, 480), "intermediate_size": (208, 344, 392), "vocab_size": (331, 457, 263), "num_attention_heads": (12, 8, 20),
    "num_key_value_heads": (3, 4, 2), "num_kv_heads": (3, 4, 2), "head_dim": (40, 24, 56), **dict.fromkeys(("max_position_embeddings", "max_seq_len"), (5003, 7001, 6007)), "sliding_window": (1031, 1153, 1277), "pad_token_id": (7, 13, 5),
    **dict.fromkeys(("ffn_dim", "n_inner", "ffn_hidden_size", "decoder_ffn_dim", "dff"), (208, 344, 392)), "rotary_dim": (10, 28, 14), **dict.fromkeys(("word_embed_proj_dim", "embedding_size"), (96, 80, 160)),
    **dict.fromkeys(EXPERTS, (24, 40, 36)),
    **dict.fromkeys(USED, (3, 5, 2)),
    **dict.fromkeys(("moe_intermediate_size", "moe_ffn_hidden_size"), (136, 152, 104)), "shared_intermediate_size": (184, 232, 88), "type_vocab_size": (6, 11, 9), "vocab_size_per_layer_input": (307, 439, 281), "hidden_size_per_layer_input": (52, 76, 116), "laurel_rank": (21, 33, 45), "global_head_dim": (296, 328, 408), "num_global_key_value_heads": (6, 2, 5), "shared_expert_intermediate_size": (184, 232, 88),
    **dict.fromkeys(("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"), (6, 2, 5)),
    "n_group": (3, 8, 6), "topk_group": (1, 3, 2), "intermediate_size_mlp": (216, 296, 248), "attention_chunk_size": (1049, 1171, 1291), "local_attention": (1034, 1154, 1278),
    "linear_key_head_dim": (20, 36, 28), "linear_value_head_dim": (44, 52, 76), "linear_num_key_heads": (7, 5, 9), "linear_head_dim": (20, 36, 28), "linear_num_heads": (14, 18, 10), "linear_num_value_heads": (14, 20, 27),
    "mamba_num_heads": (40, 16, 24), "mamba_head_dim": (22, 10, 26), "ssm_state_size": (36, 44, 28), "moe_latent_size": (68, 92, 124), "moe_shared_expert_intermediate_size": (184, 232, 88),
    "mamba_d_ssm": (224, 440, 320), "mamba_dt_rank": (21, 33, 45), "mamba_n_heads": (16, 20, 32), "mamba_d_state": (36, 44, 28), "num_heads": (16, 40, 32), "state_size": (36, 44, 28), "time_step_rank": (21, 33, 45),
    "dim_head": (40, 24, 56), **dict.fromkeys(("dim_ff", "d_inner"), (208, 344, 392)), "router_hidden_size": (84, 132, 156), "swa_num_attention_heads": (30, 18, 28), "swa_num_key_value_heads": (5, 9, 7), "swa_head_dim": (28, 44, 36),
    "sliding_window_size": (1031, 1153, 1277), "d_rel": (22, 38, 14), "rel_extent": (1063, 1187, 1301), "unpadded_vocab_size": (317, 443, 251), "input_embedding_size": (100, 148, 172), "output_embedding_size": (236, 268, 204),
    "prefix_dense_intermediate_size": (216, 296, 248), "dense_intermediate_size": (216, 296, 248), "expert_ffn_hidden_size": (136, 152, 104), "zero_expert_num": (13, 27, 19), "q_lora_rank": (72, 128, 56), "kv_lora_rank": (88, 168, 112), "qk_rope_head_dim": (18, 26, 10), "qk_nope_head_dim": (46, 34, 62), "v_head_dim": (74, 58, 94),
    "index_topk": (1033, 1163, 1283), "index_n_heads": (11, 9, 17), "index_head_dim": (98, 66, 122)}
#: Sizes of one type: Python loops compute its sines of positions (5.17.0 modeling_marian.py MarianSinusoidalPositionalEmbedding), or all pairs of positions are
#: looked up (modeling_prophetnet.py compute_all_stream_relative_buckets).
SIZES_OF = dict.fromkeys(("marian", "pegasus", "prophetnet"), {"max_position_embeddings": (503, 701, 607)})
#: The class asks for an even number of pairs of keys and values.
SIZES_OF["diffllama"] = {"num_attention_heads": (24, 16, 20)}
#: Types whose sliding layers have twice the pairs of keys and values, which are repeated even so.
TWICE_THE_PAIRS = ("mimo_v2_flash",)
SIZES_OF |= dict.fromkeys(TWICE_THE_PAIRS, {"num_attention_heads": (24, 16, 20)})
SIZES_OF["minimax_m3_vl_text"] = {"index_n_heads": (11, 9, 19), "rotary_dim": (26, 14, 38)}
SIZES_OF["nemotron_h"] = {"num_experts_per_tok": (2, 3, 7)}  # others give with the heads of its state space the number of chunks of a row
#: Sizes of one type that are powers of two: of others alibi's slopes are made in another way (5.17.0 modeling_bloom.py build_alibi_tensor).
POWERS: dict[str, dict[str, tuple[int, ...]]] = {**dict.fromkeys(("bloom", "mpt"), {"num_attention_heads": (16, 4, 8)}), "diffllama": {"num_key_value_heads": (8, 4, 2)}, "falcon": {"num_attention_heads": (16, 32, 8), "num_kv_heads": (2, 8, 4)}}
POWERS_WHERE = {"falcon": "alibi"}  # the switch with which they have to be
#: Sizes that go with the state of a key: BLOOM's 112 heads, whose slopes are made in two parts (build_alibi_tensor), and a norm of its own for each head
#: (5.17.0 modeling_stablelm.py StableLmLayerNormPerHead), where a plain number is what the type was recorded with and all that it allows.
SIZES_WITH: dict[str, tuple[str, Any, dict[str, Any]]] = {"bloom": ("n_head", 112, {"hidden_size": (1792, 2240, 3360)}),
                                                         "stablelm": ("qk_layernorm", True, {"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": (1280, 3840, 2560)})}
QWEN3_5 = ("qwen3_5_text", "qwen3_5_moe_text", "qwen3_5", "qwen3_5_moe")
DELTA_RULES = (*QWEN3_5, "qwen3_next", "olmo_hybrid", "kimi_linear")  # layers of linear attention beside those of full attention
MAMBAS = ("mamba", "falcon_mamba")  # whose states are collected round by round
#: Types of which plain rotary embeddings were recorded.
PLAIN_ROPE = (*DELTA_RULES, "dbrx", "lfm2", "lfm2_moe", "falcon", "granitemoehybrid", "bamba", "falcon_h1")
#: Sizes that have the value that all published models have. Rotary embeddings of images' rows and columns are interleaved up to a fixed place (mrope_section).
#: No published model has biases of attention.
RARE: dict[str, list[Any]] = {"attention_bias": [False]}
GEMMA4: dict[str, list[Any]] = {"attention_bias": [False], "attention_dropout": [0.0], "hidden_activation": ["gelu_pytorch_tanh"], "tie_word_embeddings": [True],
                          "use_bidirectional_attention": [None, "vision"], "num_key_value_heads": [SIZE, 1], "hidden_size_per_layer_input": [SIZE, 0], "pad_token_id": [SIZE, None],
                          "sliding_window": [SIZE], "num_experts": [SIZE], "top_k_experts": [SIZE], "moe_intermediate_size": [SIZE], "final_logit_softcapping": [REAL, None]}
PLAIN: dict[str, dict[str, list[Any]]] = {**dict.fromkeys(QWEN3_5, {"head_dim": [256], **RARE}), **dict.fromkeys(("qwen3_next", "olmo_hybrid"), RARE),
                                         "gemma4_text": GEMMA4,
                                         "granitemoehybrid": {**RARE, "attention_dropout": [0.0], "mamba_conv_bias": [True], "mamba_proj_bias": [False], "num_local_experts": [SIZE, 0], "position_embedding_type": ["nope", "rope"],
                                                              **dict.fromkeys(("embedding_multiplier", "logits_scaling", "residual_multiplier", "attention_multiplier"), [REAL])},
                                         "bamba": {**RARE, "mlp_bias": [False], "attention_dropout": [0.0], "mamba_conv_bias": [True], "mamba_proj_bias": [False], "z_loss_coefficient": [0.0], "hidden_act": ["silu"]},
                                         "cohere2_moe": {"num_shared_experts": [SIZE, 0], "expert_selection_fn": ["sigmoid", "softmax"], "shared_expert_combination_strategy": ["average", "sum"], "sliding_window": [SIZE], "rms_norm_eps": [None, REAL]},
                                         "nemotron_h": {**RARE, "attention_dropout": [0.0], "hidden_dropout": [0.0], "mlp_bias": [False], "use_bias": [False], "use_conv_bias": [True], "norm_topk_prob": [True], "mlp_hidden_act": ["relu2"], "sliding_window": [None],
                                                        "n_groups": [8], "n_group": [1], "topk_group": [1], "moe_latent_size": [None, SIZE], "routed_scaling_factor": [REAL], "mamba_hidden_act": ["silu"]},
                                         "modernbert-decoder": {**RARE, "hidden_activation": ["gelu"], "norm_bias": [False], "mlp_bias": [False], "decoder_bias": [True], "attention_dropout": [0.0], "mlp_dropout": [0.0], "embedding_dropout": [0.0], "sliding_window": []},
                                         "cohere_compass_text": {**RARE, "head_dim": [128], "attention_dropout": [0.0], "logit_scale": [REAL, None], "hidden_act": ["silu"], "sliding_window": [SIZE]},
                                         "doge": {**RARE, "mlp_bias": [False], "attention_dropout": [0.0], "hidden_dropout": [0.0], "is_moe": [False], "norm_topk_prob": [False], "sliding_window": [None]},
                                         "falcon_h1": {**RARE, "mlp_bias": [False], "projectors_bias": [False], "attention_dropout": [0.0], "hidden_act": ["silu"], "mamba_conv_bias": [True], "mamba_proj_bias": [False], "mamba_n_groups": [1, 2], "mamba_chunk_size": [256, 128],
                                                       "mamba_norm_before_gate": [False],
                                                       **dict.fromkeys(("lm_head_multiplier", "embedding_multiplier", "key_multiplier", "attention_out_multiplier", "attention_in_multiplier", "ssm_in_multiplier", "ssm_out_multiplier"), [REAL])},
                                         "mimo_v2_flash": {**RARE, "head_dim": [192], "attention_value_scale": [REAL], "sliding_window": [SIZE], "routed_scaling_factor": [1.0, REAL], "n_group": [1], "topk_group": [1]},
                                         **dict.fromkeys(MAMBAS, {"use_bias": [False], "use_conv_bias": [True], "hidden_act": ["silu"], "residual_in_fp32": [True], "rescale_prenorm_residual": [False], "time_step_scale": [REAL],
                                                                  "use_mambapy": [False], "use_associative_scan": [True]}),
                                         # As its small models are published: no experts.
                                         "jamba": {"num_experts": [1], "mamba_conv_bias": [True], "mamba_proj_bias": [False], "hidden_act": ["silu"], "attention_dropout": [0.0], "use_mambapy": [False], "use_associative_scan": [True]},
                                         "hy_v4": {**RARE, "hc_mult": [4], "n_group": [1], "topk_group": [1], "norm_topk_prob": [True], "n_shared_experts": [1], "learnable_sink_init": [0.0]},
                                         "jetmoe": {"num_attention_heads": []},
                                         "kimi_linear": {**RARE, "q_lora_rank": [None], "num_expert_group": [1], "n_group": [1], "topk_group": [1], "moe_renormalize": [True], "norm_topk_prob": [True]},
                                         "big_bird": {"attention_type": ["block_sparse", "original_full"]},
                                         # As published; the loader makes sines once more, whatever a checkpoint has.
                                         "xlm": {"n_langs": [1, SIZE], "asm": [False], "is_encoder": [True], "sinusoidal_embeddings": [False]},
                                         # As published: queries, keys and values are clipped, and there are several experts of a token.
                                         "dbrx": {"num_key_value_heads": [], "attn_config_clip_qkv": [REAL], "attn_config_attn_pdrop": [0.0], "resid_pdrop": [0.0], "ffn_config_hidden_size": [], "ffn_config_moe_jitter_eps": [None, 0.0, REAL]},
                                         "xlnet": {"use_mems_train": [False], "bi_data": [False], "same_length": [False]},
                                         "axk2": {"n_group": [None], "topk_group": [None]},
                                         # As published: without Mamba's kernels the class runs its own code, whatever the switch says.
                                         "zamba": {"mamba_conv_bias": [True], "mamba_proj_bias": [False], "hidden_act": ["gelu"], "hidden_mamba_act": ["silu"], "attention_dropout": [0.0], "use_mamba_kernels": [True], "pad_token_id": [SIZE]},
                                         "minimax": {"sliding_window": [None], "attention_dropout": [0.0]},  # as published; rows that reach a window have several blocks of linear attention
                                         "zaya": {**RARE, "num_experts_per_tok": [1], "sliding_window": [SIZE], "lm_head_bias": [False, True]},
                                         "inkling_text": {"n_shared_experts": [2], "conv_kernel_size": [4], "sliding_window_size": [SIZE], "unpadded_vocab_size": [None, SIZE], "shared_expert_sink": [True]},
                                         "laguna": {**RARE, "sliding_window": [SIZE], "gating": [True, "per-head", "per-element"], "moe_apply_router_weight_on_input": [False], "moe_router_logit_softcapping": [0.0, REAL]},
                                         "mamba2": {"n_groups": [8, 1], "use_bias": [False], "use_conv_bias": [True], "hidden_act": ["silu"]},
                                         "flint": {**RARE, "sliding_window": [SIZE]}, "beam": {**RARE, "sliding_window": [SIZE], "final_logit_softcapping": [REAL, None]},
                                         "kolibri1": {"sliding_window": [SIZE]},
                                         # As published: norms behind each part, too, and gates of heads.
                                         "lfm3": {**RARE, "conv_bias": [False], "attention_dropout": [0.0], "sliding_window": [SIZE], "use_sandwich_norm": [True], "use_attention_gate": [True]},
                                         "exaone4": {"sliding_window": [SIZE, None]}, "bloom": {"n_head": [SIZE, 112]},
                                         "falcon": {"hidden_dropout": [0.0], "attention_dropout": [0.0], "activation": ["gelu"]},  # as all published models have them
                                         **dict.fromkeys(("lfm2", "lfm2_moe"), {"block_ffn_dim_multiplier": [1.0], "conv_bias": [False]})}
#: Keys that a class takes under another name too, which goes before.
ALSO = {"lfm2": {"intermediate_size": "block_ff_dim", "tie_word_embeddings": "tie_embedding"}, "lfm2_moe": {"tie_word_embeddings": "tie_embedding"}, "inkling_text": {"conv_kernel_size": "sconv_kernel_size", "sliding_window_size": "sliding_window"}, "bloom": {"hidden_size": "n_embed"}, "internlm3": {"attention_bias": "qkv_bias", "mlp_bias": "bias"},
        "xlm": {"vocab_size": "n_words", "pad_token_id": "pad_index", "bos_token_id": "bos_index", "eos_token_id": "eos_index"}}
#: ... or behind which it goes: published models say their declared name of what the class keeps under another one (5.23.0 configuration_kolibri1.py Kolibri1Config.attribute_map).
BEHIND = {"kolibri1": {"num_local_experts": "num_experts"}}
#: Lists of so many factors, which multiply whatever they are (5.17.0 modeling_falcon_h1.py FalconH1MLP, compute_mup_vector).
FACTORS: dict[str, dict[str, int]] = {"falcon_h1": {"mlp_multipliers": 2, "ssm_multipliers": 5}}
#: Kinds of layers that a class does not have by default.
KINDS: dict[str, list[str]] = {"cohere_compass_text": ["sliding_attention"], "lfm2": ["conv"], "lfm2_moe": ["conv"], "mellum": ["sliding_attention"]}
#: Kinds of layers under names that a class takes for others (5.17.0 configuration_utils.py remap_legacy_layer_types).
LEGACY: dict[str, dict[str, str]] = {**dict.fromkeys(("granitemoehybrid", "nemotron_h"), {"mamba": "linear_attention", "attention": "full_attention"}), "zamba": {"mamba": "linear_attention"}}
#: Layers as published models have them: those of a state space first, attention between them or behind them, or attention alone.
STATE_SPACES = [[a, "full_attention", "linear_attention", b] for a, b in (("linear_attention", "linear_attention"), ("linear_attention", "full_attention"))] + [["full_attention"] * 4]
LAYER_STATES: dict[str, list[list[str]]] = {"granitemoehybrid": STATE_SPACES, "bamba": STATE_SPACES[:2],
                                            "mimo_v2_flash": [["dense+full_attention", "dense+full_attention", "sparse+full_attention", "sparse+sliding_attention", f"sparse+{kind}"] for kind in ("full_attention", "sliding_attention")],
                                            "laguna": [["dense+full_attention", "dense+full_attention", "sparse+full_attention", "sparse+sliding_attention", f"sparse+{kind}"] for kind in ("full_attention", "sliding_attention")],
                                            "lfm3": [["conv", "conv", "full_attention", "sliding_attention", kind] for kind in ("conv", "full_attention", "sliding_attention")],
                                            "flint": [["dense+full_attention", "dense+full_attention", "sparse+full_attention", "sparse+sliding_attention", f"sparse+{kind}"] for kind in ("full_attention", "sliding_attention")],
                                            "beam": [["dense+sliding_attention", "dense+sliding_attention", "sparse+full_attention", "sparse+sliding_attention", f"sparse+{kind}"] for kind in ("full_attention", "sliding_attention")],
                                            "zaya": [["hybrid"] * 4, ["hybrid"], *([a, "hybrid", "hybrid_sliding", b] for a in ("hybrid", "hybrid_sliding") for b in ("hybrid", "hybrid_sliding"))],
                                            "inkling_text": [["dense+hybrid_sliding", "dense+hybrid_sliding", "sparse+hybrid", "sparse+hybrid_sliding", f"sparse+{kind}"] for kind in ("hybrid", "hybrid_sliding")],
                                            "jamba": STATE_SPACES[:2],
                                            "zamba": [["linear_attention", "hybrid", "linear_attention", "hybrid", *last] for last in ((), ("linear_attention",))],
                                            "minimax_m3_vl_text": [["dense+full_attention", "dense+full_attention", "sparse+full_attention", "sparse+full_attention"], ["sparse+full_attention"] * 4],
                                            "kimi_linear": [["dense+linear_attention", "dense+linear_attention", "sparse+full_attention", "sparse+linear_attention", f"sparse+{kind}"] for kind in ("full_attention", "linear_attention")],
                                            "hy_v4": [["first+dense+full", "sparse+full", "sparse+shared", f"sparse+{kind}"] for kind in ("full", "shared")],
                                            "mllama_text_model": [["full_attention", "cross_attention", "full_attention", "full_attention"], ["full_attention"] * 4],
                                            "cohere_compass_text": [*(["sliding_attention", "full_attention", "sliding_attention", kind] for kind in ("full_attention", "sliding_attention")), ["full_attention"] * 4],
                                            "glm_moe_dsa": [["first+dense", "dense", "sparse", "sparse"], ["first+dense", "sparse", "sparse"], ["first+sparse", "sparse", "sparse"]],
                                            "modernbert-decoder": [["first+full_attention", "full_attention", "sliding_attention", kind] for kind in ("full_attention", "sliding_attention")],
                                            "nemotron_h": [["linear_attention", "full_attention", "linear_attention", kind, kind] for kind in ("moe", "mlp")]}
#: Kinds of the first or the last layer where all others are alike: the first one has the activation that all share (5.17.0 modeling_openai.py ACT_FNS, modeling_xlm.py gelu), the last one's attention a bias
#: (modeling_gpt_neox_japanese.py GPTNeoXJapaneseLayer), the first one is given what is not yet float32 (modeling_mamba2.py Mamba2Block), has no norm (modeling_modernbert_decoder.py) or no choice of a layer before it (modeling_glm_moe_dsa.py GlmMoeDsaModel).
ENDS: dict[str, dict[str, str]] = {"openai-gpt": {"first": "first"}, "gpt_neox_japanese": {"last": "last"},
                                   **dict.fromkeys((*MAMBAS, "mamba2", "modernbert-decoder", "glm_moe_dsa", "hy_v4", "rwkv", "xlm"), {"first": "first"})}
#: A text with a letter for each layer, where there is no list (5.17.0 configuration_nemotron_h.py NemotronHConfig._pattern_to_list).
LETTERS = {"nemotron_h": {"key": "hybrid_override_pattern", "kinds": {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}}}
#: A key with the places of one kind of layers, that kind, and all others, where there is no list of kinds.
AT_PLACES = {"lfm2": {"key": "full_attn_idxs", "kind": "full_attention", "other": "conv"},
             "bamba": {"key": "attn_layer_indices", "kind": "full_attention", "other": "linear_attention"},
             "mllama_text_model": {"key": "cross_attention_layers", "kind": "cross_attention", "other": "full_attention"}}
#: Types that say the kinds of their layers in that way alone.
BY_PLACES = ("bamba", "mllama_text_model")
#: Kinds of layers that no row of text runs: those that look at images (5.17.0 modeling_mllama.py MllamaTextModel.forward).
IDLE = {"mllama_text_model": ["cross_attention"]}
#: The paths of lists of layers, where a network has several: parts of each layer, or stacks that run one after the other.
LISTS_OF_LAYERS: dict[str, tuple[str, ...]] = {"xlm": tuple(f"transformer.{name}" for name in ("attentions", "layer_norm1", "ffns", "layer_norm2")),
                                               "hrm_text": ("model.L_module.layers", "model.H_module.layers")}
#: Entries of rotary embeddings that may be there with the class's own value.
ROPE_OWN: dict[str, dict[str, Any]] = dict.fromkeys(QWEN3_5, {"mrope_section": [11, 11, 10], "mrope_interleaved": True})
#: Sizes that may be equal, which is another network: the first is a multiple of the second.
PAIRS = (("linear_num_value_heads", "linear_num_key_heads"), ("num_attention_heads", "num_kv_heads"), ("hidden_size", "word_embed_proj_dim"), ("hidden_size", "embedding_size"))
EQUAL_IN_BASE = {"num_attention_heads == num_kv_heads", "hidden_size == word_embed_proj_dim", "hidden_size == embedding_size"}  # in the base configuration
GEMMAS_3N = ("gemma3n_text", "gemma3n")
GEMMAS_4_UNIFIED = ("gemma4_unified_text", "gemma4_unified")
GEMMAS_4 = ("gemma4_text", "gemma4", *GEMMAS_4_UNIFIED)
READ_BY_OTHERS: dict[str, set[str]] = {"modernbert-decoder": {"local_attention"}, "falcon_h1": {"mamba_norm_before_gate"}, "nemotron_h": {"intermediate_size"}, "falcon": {"num_kv_heads"}, "granitemoehybrid": {"max_position_embeddings"}, **dict.fromkeys(GEMMAS_4, {"head_dim", "global_head_dim", "num_key_value_heads", "num_global_key_value_heads", "num_experts", "top_k_experts", "moe_intermediate_size"})}  # keys that networks of other choices read than the base's
#: Choices of which all combinations are recorded, since one of them decides about nothing with the base's values of the others, or published models have them.
TOGETHER = {"xlm": (("n_langs", "use_lang_emb"),), "gemma4_unified_text": (("attention_k_eq_v", "num_key_value_heads", "num_global_key_value_heads"),), "falcon": (("new_decoder_architecture", "multi_query", "num_attention_heads == num_kv_heads"), ("alibi", "multi_query", "parallel_attn", "bias"))}
#: Arguments of a class that are no key: what a list of kinds of layers is made of where it is absent.
ARGUMENTS = {"full_attention_interval": 4, "global_attn_every_n_layers": 3, "first_k_dense_replace": 0, "index_topk_freq": 1, "index_topk_pattern": None}
#: The same of one type, and another name of a key that its class takes.
ARGUMENTS_OF: dict[str, dict[str, Any]] = {**dict.fromkeys(("deepseek_v32", "glm_moe_dsa"), {"num_experts": None}), "axk2": {"first_k_dense_replace": 1, "moe_layer_freq": 1}, "kimi_linear": {"first_k_dense_replace": 1, "linear_attn_config": None}, "minimax_m3_vl_text": {"sparse_attention_config": None, "moe_layer_freq": None}, "falcon_mamba": {"use_falcon_mambapy": False}}
#: Decoders of networks that have an encoder too, and whose other names of keys are the encoder's.
DECODERS = ("bart", "blenderbot", "blenderbot-small", "marian", "mbart", "mvp", "pegasus", "plbart", "whisper", "prophetnet", "bigbird_pegasus")
OF_DECODERS = dict.fromkeys(DECODERS, {"num_hidden_layers": "decoder_layers", "num_attention_heads": "decoder_attention_heads"})
#: Each layer has two attentions and two feed-forward parts (5.17.0 modeling_longcat_flash.py LongcatFlashModel.__init__).
OF_DECODERS["longcat_flash"] = {"num_hidden_layers": "num_layers"}
#: Layers of each of two stacks, of which the class makes the number of all that run (5.17.0 configuration_hrm_text.py __post_init__).
OF_DECODERS["hrm_text"] = {"num_hidden_layers": "num_layers_per_stack"}
OF_DECODERS["prophetnet"] = {"num_hidden_layers": "num_decoder_layers", "num_attention_heads": "num_decoder_attention_heads"}
#: Any nonzero number does as well as these, which differ.
REALS = (0.11, 0.13, 0.17)
ACTIVATIONS = ("silu", "gelu", "relu")
#: What does not reach the network, or is asked for by the plan (use_cache, dtype).
NO_PART = {"architectures", "dtype", "torch_dtype", "transformers_version", "id2label", "label2id", "problem_type", "name_or_path", "use_cache", "model_type", "num_labels",
           "finetuning_task", "task_specific_params", "auto_map",
           "time_step_limit",  # bounds of a clamp, which is there whatever they are
           "router_aux_loss_coef",  # of output_router_logits, which is not recorded
           "attention_types"}  # of gpt_neo: what attention_layers says in a shorter way
#: Parts that the class makes of a configuration, and what it compares them with, of which its network has nothing.
NO_PART_OF: dict[str, set[str]] = {"xlm": {"eos_token_id"}, "dbrx": {"attn_config", "ffn_config", "ffn_config_moe_loss_weight"}, "moshi": {"audio_encoder_config", "depth_decoder_config", "num_codebooks"},
                              "longcat_flash": {"num_hidden_layers"},  # twice num_layers whatever is said
                              "jetmoe": {"aux_loss_coef"},  # of output_router_logits, which is not recorded
                              "minimax_m3_vl_text": {"hidden_act"}}  # silu whatever is said (5.17.0 configuration_minimax_m3_vl.py __post_init__)
#: Switches of all classes: they have the value that they have.
OF_ALL = {"return_dict", "output_hidden_states", "output_attentions", "is_encoder_decoder", "chunk_size_feed_forward", "per_layer_config"}
#: Scaled rotary embeddings: entries that have to be there, and some that may. They decide about frequencies, which are made when the network is.
ROPE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}),
    "linear": ({"factor": (2.0, 3.0, 5.0)}, {}),
    "dynamic": ({"factor": (2.0, 3.0, 6.0)}, {}),
    "llama3": ({"factor": (8.0, 16.0, 32.0), "low_freq_factor": (1.0, 1.5, 1.25), "high_freq_factor": (4.0, 5.0, 6.0), "original_max_position_embeddings": (1024, 2048, 4096)}, {}),
    "yarn": ({"factor": (8.0, 4.0, 2.0), "original_max_position_embeddings": (1024, 2048, 4096)},
             {"beta_fast": (32.0, 31.0, 30.0), "beta_slow": (1.0, 1.5, 2.0), "attention_factor": (1.2, 1.3, 1.4), "mscale": (1.0, 0.7, 0.8), "mscale_all_dim": (1.0, 0.7, 0.8)})}
LAYERS = "the layers"
ROPE_TYPE = "rope_type"
EQUAL_HEADS = "num_key_value_heads == num_attention_heads"
#: The least that a size may be where it is not 1. A single pair of keys and values is repeated for all heads as a view, where several are copied.
LEAST = {"pad_token_id": 0, "num_key_value_heads": 2, "num_global_key_value_heads": 2, "linear_num_key_heads": 2, "linear_num_value_heads": 2}
#: The same of one type: heads in four groups have no dimension of one.
LEAST_OF = {"codegen": {"num_attention_heads": 8}, **dict.fromkeys(MAMBAS, {"state_size": 3}), "jamba": {"mamba_d_state": 3, "num_key_value_heads": 2}, "dbrx": {"attn_config_kv_n_heads": 2, "ffn_config_moe_top_k": 2}, "mamba2": {"num_heads": 16}, "nemotron_h": {"mamba_num_heads": 16}, "modernbert-decoder": {"local_attention": 2}, **dict.fromkeys(("bloom", "mpt"), {"num_attention_heads": 2})}
#: What a class computes of other keys where it does not say it itself: a config.json that says the same says nothing.
EQUAL = {"head_dim": ("hidden_size", "num_attention_heads")}
#: What has to be said of the layers where it is said at all.
OF_LAYERS = {"moe_layer_end_index": "={layers}-1"}
#: What a class computes of another key whatever is said (5.17.0 configuration_modernbert_decoder.py __post_init__).
OF_OTHERS = {"dbrx": {"num_key_value_heads": "=attn_config_kv_n_heads", "ffn_config_hidden_size": "=d_model"}, "hrm_text": {"num_hidden_layers": "=8*num_layers_per_stack"}, "modernbert-decoder": {"sliding_window": "=local_attention//2"}, "jetmoe": {"num_attention_heads": "=num_key_value_heads*num_experts_per_tok"}}
#: Types whose heads of attention are computed so: there are always more than pairs of keys and values.
OWN_HEADS = ("jetmoe",)
#: Keys of EQUAL that the class does not have, but its network looks for, and published models say something else.
SAID = {"glm4_moe": ("head_dim",), "exaone_moe": ("head_dim",), "phimoe": ("head_dim",), "falcon_h1": ("head_dim",)}
#: The part of each head that is turned where nothing is said, which published models say (modeling_rope_utils.py: 1.0).
PARTIAL = {"glm4_moe_lite": 1.0}
#: Keys that have to be what others say: the class says them itself, but its other sizes run into one another.
#: Of multi-head latent attention, every head has keys and values of its own, a part of which is turned.
LATENT = {"head_dim": ("qk_rope_head_dim",), "num_key_value_heads": ("num_attention_heads",)}
#: Sizes of a state space: all heads together have twice the hidden size (mamba_expand).
STATE_SPACE = {"mamba_d_head": ("hidden_size", "mamba_n_heads")}
TWICE = {**dict.fromkeys(("granitemoehybrid", "bamba"), {"mamba_d_head": 2}), "mamba2": {"head_dim": 2}, "zamba": {"attention_hidden_size": 2}}
HAS_TO_BE: dict[str, dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("granitemoehybrid", "bamba"), STATE_SPACE), "falcon_h1": {"mamba_d_head": ("mamba_d_ssm", "mamba_n_heads")},
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "glm4_moe_lite", "youtu", "minicpm3", "axk1", "deepseek_v32", "glm_moe_dsa", "axk2", "hy_v4", "kimi_linear", "longcat_flash"), LATENT), "helium": EQUAL, "marian": {"decoder_vocab_size": ("vocab_size",)}, "xlnet": {"d_head": ("hidden_size", "num_attention_heads")}, "zamba": {"attention_hidden_size": ("hidden_size",)}, "rwkv": {"attention_hidden_size": ("hidden_size",)}, "mamba2": {"head_dim": ("hidden_size", "num_heads")}}
#: Lists of the kinds of layers; or how many layers have the first kind.
LISTS = ("layer_types", "mlp_layer_types", "attention_layers", "layers_block_type", "indexer_types")
#: Types that have a list with a single kind before the one that tells their layers apart.
LIST_OF = {"axk2": "mlp_layer_types", "hy_v4": "indexer_types"}
#: Types whose layers hand on what one of those before them has chosen (5.17.0 modeling_hy_v4.py HYV4Model.forward topk_indices).
CARRIED = ("hy_v4",)
COUNTS = {"first_k_dense_replace": ("dense", "sparse"), "moe_layer_start_index": ("dense", "sparse")}
#: Types whose layers differ in two ways at once: beside their list of attention, feed-forward layers are dense or sparse by a list of their own, or dense
#: for so many at the beginning (`count`), where there is no list. A kind is written "dense+full_attention".
SECOND: dict[str, dict[str, str]] = {"afmoe": {"count": "num_dense_layers"}, "lfm2_moe": {"count": "num_dense_layers"}, "mellum": {"list": "mlp_layer_types"},
                                     "exaone_moe": {"list": "mlp_layer_types", "count": "first_k_dense_replace"}}
SECOND["cohere2_moe"] = SECOND["mimo_v2_flash"] = SECOND["laguna"] = SECOND["inkling_text"] = SECOND["minimax_m3_vl_text"] = SECOND["hy_v4"] = SECOND["kimi_linear"] = SECOND["beam"] = {"list": "mlp_layer_types"}
#: ... or by a key with the places of those that are dense (5.23.0 modeling_flint.py FlintDecoderLayer).
SECOND["flint"] = {"places": "mlp_only_layers"}
#: Lists with a size for each layer, which layers of one attention share: the list, the key that all layers have without it, and the name of the size of each kind.
SIZES_OF_KINDS: dict[str, dict[str, Any]] = {"laguna": {"key": "num_attention_heads_per_layer", "default": "num_attention_heads",
                                                       "names": {"full_attention": "heads_of_full_attention", "sliding_attention": "heads_of_sliding_attention"}}}
SIZES |= {"n_langs": (6, 11, 9), "heads_of_full_attention": (24, 16, 26), "heads_of_sliding_attention": (18, 36, 14)}
#: Layers of which every so manieth, from one on, has the second kind: the keys that say it (5.17.0 configuration_jamba.py JambaConfig.layers_block_type).
STEPS: dict[str, dict[str, Any]] = {"jamba": {"key": "attn_layer_period", "offset": "attn_layer_offset", "kinds": ["linear_attention", "full_attention"]}}
#: Where every so manieth layer is sparse.
SECOND["llama4_text"] = {"step": "interleave_moe_layer_step"}
#: Keys that say once more what the layers are, each a value for each layer, or the places of one kind; an empty list may be as good as none.
REPEATED: dict[str, list[dict[str, Any]]] = {"llama4_text": [
    {"key": "layer_types", "pattern": [*["chunked_attention"] * 3, "full_attention"]}, {"key": "no_rope_layers", "pattern": [1, 1, 1, 0], "empty": True}, {"key": "moe_layers", "places": "sparse"}]}
#: Keys that have the class's own value, whatever reads them.
#: Nemotron-H takes some of its keys under older names too (5.17.0 configuration_nemotron_h.py __post_init__).
OWN_VALUE = {"gpt_neox_japanese": {"rotary_pct": 1.0}, "nemotron_h": {"mamba_n_groups": 8, "mamba_d_conv": 4, "mamba_conv_bias": True, "mamba_chunk_size": 128}, "llama4_text": {"no_rope_layer_interval": 4}, "gemma3": {"sliding_window_pattern": 6}, "got_ocr2": {"use_sliding_window": False}}
#: Scaled rotary embeddings of mixtures: what published models have.
ROPE_OF_MIXTURES = {"llama4_text": ("llama3",)}
DENSE, SPARSE = "dense", "sparse"
#: A pattern that the class reads for its list of kinds alone: where the list is given it may be anything.
PATTERNS = {"sliding_window_pattern", "global_attn_every_n_layers"}
#: Sizes that may be null, which is another network.
OR_NULL = {"n_inner", "prefix_dense_intermediate_size", "q_lora_rank"}
#: Switches of parts that no causal language model has, layers that are left out by chance, and the loss of a router, for which all layers' numbers are joined.
LEFT = {"add_cross_attention", "layerdrop", "decoder_layerdrop", "output_router_logits"}
#: Types whose last layers take the keys and values of others: the key with their number; the size that all layers have together as many times as there are layers.
SHARED: dict[str, dict[str, Any]] = dict.fromkeys(GEMMAS_4, {"key": "num_kv_shared_layers", "default": 0})
SHARED |= dict.fromkeys(GEMMAS_3N, {"key": "num_kv_shared_layers", "default": 15, "sparsity": {"key": "activation_sparsity_pattern", "first": 10}})
#: Keys that may be a list of the same value for each layer.
EACH = dict.fromkeys(GEMMAS_3N, ("intermediate_size",))
SIZE_OF_EACH = dict.fromkeys(("gemma4_text", "gemma4", *GEMMAS_3N), "hidden_size_per_layer_input")
#: Arguments of a class that go into other keys (per_layer_config), and what they are where they are absent.
BESIDE: dict[str, dict[str, Any]] = dict.fromkeys(GEMMAS_4, {"global_head_dim": 512, "num_global_key_value_heads": "=num_key_value_heads"})
#: Keys that are looked at where another one is on.
WHEN = {**dict.fromkeys(GEMMAS_4, {"num_global_key_value_heads": "attention_k_eq_v", **dict.fromkeys(("num_experts", "top_k_experts", "moe_intermediate_size"), "enable_moe_block")}),
        "falcon_h1": {"mamba_norm_before_gate": "mamba_rms_norm"},
        "granitemoehybrid": dict.fromkeys(("num_experts_per_tok", "intermediate_size"), "num_local_experts")}
#: Sizes of which the first is less than the second, and divides it.
FEWER = {**dict.fromkeys(GEMMAS_3N, [["num_key_value_heads", "num_attention_heads"]]), **dict.fromkeys(GEMMAS_4, [["num_key_value_heads", "num_attention_heads"], ["num_global_key_value_heads", "num_attention_heads"]]), **dict.fromkeys(("granitemoehybrid", "bamba"), [["mamba_n_heads", "hidden_size"]]), "mamba2": [["num_heads", "hidden_size"]], "nemotron_h": [["n_groups", "mamba_num_heads"]], "inkling_text": [["num_key_value_heads", "num_attention_heads"], ["swa_num_key_value_heads", "swa_num_attention_heads"]], "laguna": [["num_key_value_heads", name] for name in SIZES_OF_KINDS["laguna"]["names"].values()], "falcon_h1": [["mamba_n_heads", "mamba_d_ssm"], ["mamba_n_groups", "mamba_n_heads"]]}
#: Rotary embeddings that a configuration says for each kind of layer: their type, and numbers that go into frequencies only.
ROPE_OF_KINDS = {**dict.fromkeys(GEMMAS_4, {"full_attention": {"type": "proportional", "may": ["partial_rotary_factor", "rope_theta"]}, "sliding_attention": {"type": "default", "may": ["rope_theta"]}}),
                 **dict.fromkeys(("mellum", "modernbert-decoder", "mimo_v2_flash", *GEMMAS_3N), {kind: {"type": "default", "may": ["rope_theta"]} for kind in ("full_attention", "sliding_attention")})}
ROPE_OF_KINDS["zaya"] = {kind: {"type": "default", "may": ["rope_theta"], "own": {"partial_rotary_factor": 0.5}} for kind in ("hybrid", "hybrid_sliding")}
#: As published: half of each head is turned with full attention, perhaps scaled by yarn, which goes into frequencies and one factor; all of it with a window.
ROPE_OF_KINDS["laguna"] = {"full_attention": {"type": "default", "may": ["rope_theta"], "own": {"partial_rotary_factor": 0.5},
                                              "others": {"yarn": {"needs": ["factor", "original_max_position_embeddings"], "may": ["rope_theta", "factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "attention_factor"]}}},
                           "sliding_attention": {"type": "default", "may": ["rope_theta"], "own": {"partial_rotary_factor": 1.0}}}
#: Layers that have none (5.17.0 modeling_cohere_compass.py CohereCompassTextModel.forward), and entries that the class needs, of which parts of frequencies are the published models'.
ROPE_OF_KINDS["cohere_compass_text"] = {"full_attention": {"none": True}, "sliding_attention": {"type": "default", "may": ["rope_theta"], "own": {"mrope_section": [24, 20, 20], "mrope_interleaved": True}}}
#: As Gemma 4 has them, beside convolutions.
ROPE_OF_KINDS["lfm3"] = ROPE_OF_KINDS["gemma4_text"]
#: ... or that published models say by the same names (5.23.0 modeling_beam.py BeamModel.forward).
ROPE_OF_KINDS["beam"] = {"full_attention": {"none": True}, "sliding_attention": {"type": "default", "may": ["rope_theta"], "own": {}}}
#: Entries beside the kinds, which a class takes away (5.17.0 configuration_cohere_compass.py convert_rope_params_to_dict).
ROPE_BESIDE = {"cohere_compass_text": ["rope_theta", "rope_type"]}
#: States that a class has with others only: without a window no layer slides, and all have rotary embeddings (5.17.0 modeling_exaone4.py Exaone4Attention).
NEEDS: dict[str, dict[str, dict[str, Any]]] = {"exaone4": {"sliding_window": {LAYERS: ["full_attention"] * 4}}}

#: Networks of text and images, of which batches of text run the text decoder alone: the parts of their configuration, and what stands before a part's keys.
#: Of those whose text part may be of several types: the whole's type and the text part's. What a config.json says of both is the type's name here.
OF_TEXT = {"fuyu": ("fuyu", "persimmon"), "mistral3": ("mistral3", "mistral"), "mistral3_ministral3": ("mistral3", "ministral3"), "got_ocr2": ("got_ocr2", "qwen2"), "moss_transcribe_diarize": ("moss_transcribe_diarize", "qwen3")}
TEXT_AND_IMAGES = {"text_config": "", "vision_config": "vision_", "": "whole_"}
PARTS: dict[str, dict[str, str]] = dict.fromkeys(("gemma3", "qwen3_5", "qwen3_5_moe", "gemma4", *OF_TEXT), TEXT_AND_IMAGES)
PARTS["fuyu"] = {"text_config": "", "": "whole_"}  # patches of images go through one linear layer
HAS_TO_BE["fuyu"] = {"whole_hidden_size": ("hidden_size",)}
#: Its keys are those of the text, beside which its other parts stand.
PARTS["phi4_multimodal"] = {"": "", "vision_config": "vision_", "audio_config": "audio_"}
TEXT_BESIDE_PARTS = ("phi4_multimodal", "dbrx")
#: Its layers' attention and experts.
PARTS["dbrx"] = {"": "", "attn_config": "attn_config_", "ffn_config": "ffn_config_"}
SIZES |= {"attn_config_kv_n_heads": (3, 4, 2), "ffn_config_ffn_hidden_size": (136, 152, 104), "ffn_config_moe_num_experts": (24, 40, 36), "ffn_config_moe_top_k": (3, 5, 2)}
FEWER["dbrx"] = [["attn_config_kv_n_heads", "n_heads"]]
PARTS["moss_transcribe_diarize"] = {"text_config": "", "audio_config": "audio_", "": "whole_"}
#: Wholes that AutoModelForCausalLM loads, and no other Auto class of models of text and images.
BY_CAUSAL_LM = ("moss_transcribe_diarize",)
PARTS["gemma3n"] = PARTS["gemma4_unified"] = {"text_config": "", "vision_config": "vision_", "audio_config": "audio_", "": "whole_"}
#: Parts without which a network is another one: the class makes none where a configuration has none (5.17.0 modeling_gemma4.py Gemma4Model, modeling_gemma4_unified.py Gemma4UnifiedModel).
GIVEN_PARTS = {"dbrx": ["attn_config", "ffn_config"], "gemma4": ["vision_config"], "gemma4_unified": ["vision_config", "audio_config"]}
#: Lists of layers that no batch of text runs, and the key that says how many there are.
TOWERS: dict[str, dict[str, str]] = {"gemma3": {"model.vision_tower.encoder.layers": "vision_num_hidden_layers"},
                                     **dict.fromkeys(("qwen3_5", "qwen3_5_moe"), {"model.visual.blocks": "vision_depth"}), "gemma4": {"model.vision_tower.encoder.layers": "vision_num_hidden_layers"},
                                     **dict.fromkeys(OF_TEXT, {"model.vision_tower.transformer.layers": "vision_num_hidden_layers"}), "fuyu": {},
                                     "moss_transcribe_diarize": {"model.audio_tower.layers": "audio_num_hidden_layers"},
                                     "got_ocr2": {}}  # twelve layers, of which some look at all of an image
SIZES |= {"vision_hidden_size": (840, 240, 1056), "vision_intermediate_size": (406, 266, 156), "vision_num_attention_heads": (15, 10, 22), "vision_num_heads": (21, 12, 22), "vision_mm_embed_dim": (244, 508, 772), "vision_mm_posemb_size": (643, 811, 977), "vision_output_proj_dims": (428, 596, 716), "vision_out_hidden_size": (428, 596, 716), "vision_num_key_value_heads": (3, 5, 11), "vision_head_dim": (68, 84, 148), "vision_position_embedding_size": (643, 811, 977), "whole_image_token_index": (45, 54, 52), "query_pre_attn_scalar": (211, 307, 409)}
TOWERS["gemma3n"] = {"model.audio_tower.conformer": "audio_conf_num_hidden_layers"}
#: Sizes of images go into a number of positions that is no product of keys: what published models have.
PLAIN["gemma3"] = {"vision_image_size": [896], "vision_patch_size": [14], "attention_bias": [False], "attention_dropout": [0.0], "final_logit_softcapping": [None],
                   "attn_logit_softcapping": [None], "use_bidirectional_attention": [False], "sliding_window": [SIZE], "query_pre_attn_scalar": [SIZE]}
#: Gemma 4 as its models without a tower for sound are published.
PLAIN["gemma4"] = {**GEMMA4, "use_bidirectional_attention": ["vision"], "num_key_value_heads": [SIZE], "hidden_size_per_layer_input": [0], "pad_token_id": [SIZE], "final_logit_softcapping": [REAL],
                   "attention_k_eq_v": [True], "use_double_wide_mlp": [False], "vision_standardize": [True], "vision_use_clipped_linears": [False], "whole_tie_word_embeddings": [True]}
#: Gemma 3n as its models are published: four predictions for each layer, of which the first one goes through it.
PLAIN["gemma3n_text"] = {"hidden_activation": ["gelu_pytorch_tanh"], "attention_bias": [False], "attention_dropout": [0.0], "tie_word_embeddings": [True], "final_logit_softcapping": [REAL], "sliding_window": [SIZE],
                         "altup_active_idx": [0], "altup_coef_clip": [REAL], "altup_correct_scale": [True], "altup_num_inputs": [4], "pad_token_id": [SIZE], "num_key_value_heads": [SIZE]}
#: Gemma 4 12B, whose embeddings of images and sound are single layers.
UNIFIED: dict[str, list[Any]] = {**GEMMA4, "use_bidirectional_attention": ["vision", None], "final_logit_softcapping": [REAL, None], "use_double_wide_mlp": [False], "attention_k_eq_v": [True, False],
                                 "num_global_key_value_heads": [SIZE, 1]}  # Gemma 4 12B has one
PLAIN["gemma4_unified_text"] = UNIFIED
PLAIN["gemma4_unified"] = {**UNIFIED, "use_bidirectional_attention": ["vision"], "num_key_value_heads": [SIZE], "pad_token_id": [SIZE], "whole_tie_word_embeddings": [True]}
#: Its tower for images is timm's of that name.
PLAIN["gemma3n"] = {**PLAIN["gemma3n_text"], "whole_tie_word_embeddings": [True]}
#: What its parts compute of these, however it is called.
OWN_VALUE["gemma4_unified"] = {"vision_model_patch_size": 48, **dict.fromkeys(("audio_hidden_size", "audio_output_proj_dims", "audio_audio_samples_per_token"), 640)}
PLAIN |= dict.fromkeys(OF_TEXT, {"sliding_window": [None], "attention_dropout": [0.0], "vision_patch_size": [14], "vision_hidden_act": ["gelu", "silu"]})
#: Its towers as they are published.
PLAIN["phi4_multimodal"] = {**dict.fromkeys(("attention_dropout", "resid_pdrop", "embd_pdrop"), [0.0]), "sliding_window": [None, SIZE], "vision_hidden_size": [1152], "vision_intermediate_size": [4304], "vision_num_attention_heads": [16],
                            "vision_hidden_act": ["gelu_pytorch_tanh"]}
PLAIN["got_ocr2"] = {"attention_dropout": [0.0], "vision_hidden_size": [768], "vision_num_attention_heads": [12], "vision_hidden_act": ["gelu"]}
PLAIN["moss_transcribe_diarize"] = {**RARE, "attention_dropout": [0.0], "use_sliding_window": [False], "sliding_window": [None, SIZE], "audio_hidden_size": [1024], "audio_intermediate_size": [4096], "audio_num_attention_heads": [16], "whole_tie_word_embeddings": [True, False]}
#: The same before that release of transformers: Pixtral's rotary embedding had a row for each place of the largest image.
OLDER = dict.fromkeys(OF_TEXT, ((5, 17), {"vision_image_size": [1540]}))
#: Keys of parts that the class does not have, but its network looks for, and what published models say.
SAID_IN_PARTS = {"dbrx": {"attn_config_rope_theta": REAL}, "gemma3": {"vision_vision_use_head": False}}
#: Keys whose absence published checkpoints decide about: the class ties the head, but the loader does not where a checkpoint has both, as those have that say nothing
#: (5.17.0 modeling_utils.py tie_weights).
ABSENT: dict[str, dict[str, Any]] = {name: {"whole_tie_word_embeddings": False} for name in OF_TEXT if name not in ("got_ocr2", "moss_transcribe_diarize")}
ABSENT |= {**dict.fromkeys(MAMBAS, {"time_step_rank": "=(hidden_size+15)//16"}), "jamba": {"mamba_dt_rank": "=(hidden_size+15)//16"},
           "zamba": {"mamba_dt_rank": "=(hidden_size+15)//16", "attention_head_dim": "=(2*hidden_size)//num_attention_heads"}}  # rounded up (5.17.0 configuration_mamba.py __post_init__)
#: Keys that decide about nothing where another one is given: the size of all heads, which is computed of them.
UNLESS = {**dict.fromkeys(MAMBAS, {"expand": "intermediate_size"}), "zamba": dict.fromkeys(("attn_layer_period", "attn_layer_offset"), "layers_block_type")}
#: Keys of parts of which several values are the same: published models say the whole's type of the part (5.17.0 configuration_qwen3_5.py Qwen3_5Config.__post_init__).
SAME_IN_PARTS = {name: {"vision_model_type": [f"{name}_vision", name]} for name in ("qwen3_5", "qwen3_5_moe")}
#: Keys beside the parts that reach the network of text.
BESIDE_PARTS = ("whole_tie_word_embeddings",)
#: What does not reach the network of text, whatever a part or what stands beside the parts says of it.
NO_PART_OF_PARTS = (NO_PART | OF_ALL | {"initializer_range", "distributed_config", "sub_configs", "text_config", "vision_config", "gradient_checkpointing",
                                            "rope_parameters"}) - {"model_type", "is_encoder_decoder"}
#: Types of which other scaled rotary embeddings were not recorded.
ROPE_OF_PARTS: dict[str, tuple[str, ...]] = {"gemma3": ("linear",), "internlm3": ("linear", "dynamic"), **dict.fromkeys(OF_TEXT, ())}
#: ... and of all others.
ROPE_OF_OTHERS = ("linear", "llama3", "yarn")
