#!/usr/bin/env python3
"""Writes models/*.json, the built-in models, from a table of model architectures.

    tools/make_models.py TABLE.json models/ [COUNTS.jsonl]

models/types/ has the recorded types: their checkpoints keep the keys that the type reads.

TABLE.json: {"models": [{"id", "aliases", "model_type", "config", "source", "params", "check"}, ...]} with config in the
naming of config.json. Checkpoints of one network (a base model and its chat versions, mirrors) become one file; their
names are aliases. COUNTS.jsonl gets the configurations of all rows with their parameter counts, for the tests.
"""
import glob
import json
import os
import re
import sys

FAMILIES = {"llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "gemma3_text", "phi3", "olmo2", "granite",
            "smollm3", "starcoder2", "gpt2", "gpt_neox",
            "mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss", "arcee", "nemotron", "phi", "seed_oss",
            "glm4", "cohere", "cohere2"}
# Keys that reading a config.json looks at (src/spec/config.cpp and src/spec/configs/).
KEYS = ["model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "vocab_size", "max_position_embeddings", "hidden_act", "hidden_activation",
        "attention_bias", "use_qk_norm", "attention_out_bias", "mlp_bias", "tie_word_embeddings", "sliding_window", "use_sliding_window",
        "max_window_layers", "layer_types", "attn_logit_softcapping", "final_logit_softcapping", "n_embd", "n_layer",
        "n_head", "n_positions", "n_inner", "activation_function", "use_bias", "use_parallel_residual",
        "attention_dropout", "residual_dropout", "embedding_dropout", "resid_pdrop", "partial_rotary_factor", "original_max_position_embeddings", "sliding_window_pattern",
        "num_local_experts", "num_experts", "num_experts_per_tok", "moe_intermediate_size",
        "shared_expert_intermediate_size", "decoder_sparse_step", "mlp_only_layers", "norm_topk_prob", "qkv_bias", "rope_scaling",
        "rope_theta", "rms_norm_eps", "torch_dtype"]
# What describes a network; rotary and norm constants and a source's missing dtype say nothing about its shape.
SHAPE = KEYS[:KEYS.index("rope_scaling")]
# Short names that the rule of short_name does not give.
NAMES = {"TinyLlama/TinyLlama-1.1B-Chat-v1.0": "tinyllama-1.1b", "huggyllama/llama-7b": "llama-7b",
         "zai-org/glm-4-9b-chat-hf": "glm-4-9b-chat-hf"}  # without -hf it is of another model type
# Mistral checkpoints whose attention slides; every other one has "sliding_window": null in its config.json.
SLIDING = {"mistralai/Mistral-7B-v0.1": 4096, "mistralai/Mistral-7B-Instruct-v0.1": 4096,
           "HuggingFaceH4/zephyr-7b-beta": 4096, "mistralai/Ministral-8B-Instruct-2410": 32768}
STARCODER2_DROPOUT = {"attention_dropout": 0.1, "residual_dropout": 0.1, "embedding_dropout": 0.1}
# Corrections of the table, each with its reason.
FIXES = {
    # Its config.json says 32768; the table shows the sliding window.
    "mistralai/Mistral-7B-v0.1": {"max_position_embeddings": 32768},
    "mistralai/Mistral-7B-Instruct-v0.1": {"max_position_embeddings": 32768},
    "HuggingFaceH4/zephyr-7b-beta": {"max_position_embeddings": 32768},
    # Its config.json says 8192; the table has a source's own default.
    "google/gemma-7b": {"max_position_embeddings": 8192},
    "google/gemma-7b-it": {"max_position_embeddings": 8192},
    "google/codegemma-7b-it": {"max_position_embeddings": 8192},
    # Their config.json says so; the table has the numbers of a port, which leaves out the scaling and counts windows
    # one higher.
    "microsoft/Phi-3-mini-4k-instruct": {"sliding_window": 2047},
    "microsoft/Phi-3-medium-4k-instruct": {"sliding_window": 2047},
    "microsoft/Phi-3-mini-128k-instruct": {"sliding_window": 262144, "original_max_position_embeddings": 4096,
                                           "rope_scaling": {"type": "longrope"}},
    "microsoft/Phi-4-mini-reasoning": {"sliding_window": 262144, "original_max_position_embeddings": 4096,
                                       "partial_rotary_factor": 0.75, "rope_scaling": {"type": "longrope"}},
    "microsoft/phi-1_5": {"resid_pdrop": 0.0, "partial_rotary_factor": 0.5, "torch_dtype": "float16"},
    "microsoft/phi-2": {"resid_pdrop": 0.1, "partial_rotary_factor": 0.4, "torch_dtype": "float16"},
    "google/gemma-3-270m": {"sliding_window": 512},
    "EleutherAI/gpt-neox-20b": {"hidden_act": "gelu_fast"},
    "bigcode/starcoder2-3b": {"sliding_window": 4096, **STARCODER2_DROPOUT},
    "bigcode/starcoder2-7b": STARCODER2_DROPOUT,
    "bigcode/starcoder2-15b": STARCODER2_DROPOUT,
    # Tied in its config.json; the published total counts the head a second time.
    "Qwen/Qwen1.5-0.5B": {"tie_word_embeddings": True},
    "Qwen/Qwen1.5-0.5B-Chat": {"tie_word_embeddings": True},
}
# Of recorded types: what their config.json says, where the table leaves it out or counts positions behind the rotary scaling.
RECORDED_FIXES = {
    "EleutherAI/gpt-neo-125m": {"attention_layers": ["global", "local"] * 6},
    "EleutherAI/gpt-neo-1.3B": {"attention_layers": ["global", "local"] * 12},
    "EleutherAI/gpt-neo-2.7B": {"attention_layers": ["global", "local"] * 16},
    "swiss-ai/Apertus-8B-2509": {"max_position_embeddings": 65536},
    "swiss-ai/Apertus-8B-Instruct-2509": {"max_position_embeddings": 65536},
    "LGAI-EXAONE/EXAONE-4.0-32B": {"max_position_embeddings": 131072},
    # No layer slides, as its model card says.
    "LGAI-EXAONE/EXAONE-4.0-1.2B": {"max_position_embeddings": 65536, "sliding_window": None, "layer_types": ["full_attention"] * 30},
    # One group of experts; the class has eight.
    "moonshotai/Moonlight-16B-A3B": {"n_group": 1, "topk_group": 1, "max_position_embeddings": 8192},
}
# The table has its dimensions alone: the rest is Phi-mini's, which was published with it.
RECORDED_FIXES["microsoft/Phi-tiny-MoE-instruct"] = {"input_jitter_noise": 0.01, "sliding_window": 2047, "rms_norm_eps": 1e-05, "rope_theta": 10000.0}
OLMO3 = {"allenai/Olmo-3-1025-7B", "allenai/Olmo-3-1125-32B", "allenai/Olmo-3-7B-Instruct", "allenai/Olmo-3-7B-Instruct-SFT",
         "allenai/Olmo-3-7B-Think-SFT", "allenai/Olmo-3.1-32B-Think"}
RECORDED_FIXES.update({one: {"max_position_embeddings": 65536} for one in OLMO3})
# The default of the class, where the table says nothing.
POSITIONS = {"deepseek_v3": 4096, "lfm2": 128000, "glm4_moe": 131072, "bloom": 2**31 - 1, "falcon": 2048}
# The default of the class; a port's numbers say 1, of one pair of keys and values for all heads.
RECORDED_FIXES.update({one: {"num_kv_heads": 71} for one in ("tiiuae/falcon-7b", "tiiuae/falcon-7b-instruct")})
# A router's e_score_correction_bias is a buffer.
ROUTER_BUFFERS = {"deepseek_v3", "glm4_moe", "glm4_moe_lite"}
# Configurations that the recording of their type does not cover, by the key that stands against it.
UNRECORDED = {"microsoft/Phi-3.5-MoE-instruct": "rope_scaling"}
# Copies in bfloat16 of checkpoints whose weights are published in FP8.
UNPACKED = {"deepseek-ai/DeepSeek-V3": "deepseek-ai/DeepSeek-V3-0324-BF16", "deepseek-ai/DeepSeek-R1": "unsloth/DeepSeek-R1-BF16",
            "MiniMaxAI/MiniMax-M2.5": "RedHatAI/MiniMax-M2.5-BF16"}
# Names that other tools have for a network: LitGPT's.
OTHER_NAMES = {"TinyLlama/TinyLlama-1.1B-Chat-v1.0": ["tiny-llama-1.1b", "tiny-llama-1.1b-chat"],
               "keeeeenw/MicroLlama": ["micro-llama-300M"]}
# Models of images too whose text part is a recorded type: kTextParts in src/spec/config.cpp.
TEXT_PARTS = {"gemma4": "gemma4_text", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text", "llama4": "llama4_text"}
WITH_IMAGES = {"gemma3", *TEXT_PARTS}
# Checkpoints that the table has not, by what the examples of axolotl that name them say of their networks.
OTHERS = {("afmoe", "text"): ["arcee-ai/Trinity-Nano-Preview"], ("chatglm", "text"): ["THUDM/glm-4-9b-chat", "zai-org/glm-4-9b"],
          ("falcon_h1", "text"): [
              "tiiuae/Falcon-H1-0.5B-Instruct", "tiiuae/Falcon-H1-1.5B-Base", "tiiuae/Falcon-H1-1.5B-Deep-Base"],
          ("gemma4_unified", "text"): ["google/gemma-4-12B-it"], ("hunyuan_v1_dense", "text"): ["tencent/Hunyuan-0.5B-Instruct"],
          ("jamba", "text"): ["ai21labs/Jamba-v0.1"], ("kimi_linear", "text"): ["moonshotai/Kimi-Linear-48B-A3B-Instruct"],
          ("lfm2_moe", "text"): ["LiquidAI/LFM2-8B-A1B"], ("mistral3", "images"): ["axolotl-ai-co/Mistral-Medium-3.5-128B-BF16"],
          ("mistral4", "images"): ["axolotl-ai-co/Mistral-Small-4-119B-2603-BF16"],
          ("voxtral", "sound"): ["mistralai/Voxtral-Mini-3B-2507"]}
MIRRORS = ("NousResearch/Llama", "NousResearch/Meta", "unsloth/")  # copies of other makers' models
# Repositories that hold quantized weights, and aliases that are other networks than their row.
NOT_ALIAS = re.compile(r"bnb|fp8|awq|gptq|nf4|4bit|v0\.2|starling|zephyr-7b-gemma|zephyr-sft|/glm-4-9b(-chat)?$", re.I)
SUFFIX = re.compile(r"-(instruct|chat|it|base|preview|deduped)$")


def short_name(model_id):
    """"meta-llama/Meta-Llama-3-8B-Instruct" -> "llama-3-8b-instruct"."""
    if model_id in NAMES:
        return NAMES[model_id]
    name = model_id.split("/")[-1].lower()
    return re.sub(r"^meta-|-hf$", "", name)


def stem(name):
    """The name without the words that tell a chat version from its base model."""
    return SUFFIX.sub("", re.sub(r"-(instruct|chat)-", "-", name))


def config_of(row):
    """The row's config with corrections, keys in a fixed order."""
    config = {**row.get("defaults_applied", {}), **row["config"], **FIXES.get(row["id"], {})}
    if "text_config" in config:  # a model of text and images: its text part
        config = {**config, **config["text_config"], **row.get("defaults_applied", {}).get("text_config", {})}
    if config.get("rope_scaling"):  # lists of factors are left out
        config["rope_scaling"] = {key: value for key, value in config["rope_scaling"].items() if key not in ("long_factor", "short_factor")}
    if config["model_type"] == "mistral":
        config["sliding_window"] = SLIDING.get(row["id"], None)
    if config["model_type"] == "qwen3_moe":
        config["norm_topk_prob"] = True  # so says every config.json of the family; ports leave it out
        config.pop("shared_expert_intermediate_size", None)  # of another family
        config.pop("qkv_bias", None)
        config.pop("use_qk_norm", None)
    return {key: config[key] for key in KEYS if key in config}


def recorded_types(folder):
    """The recorded types by name, each with the keys that it reads of a config.json."""
    types = {}
    for path in glob.glob(os.path.join(folder, "types", "*.json")):
        with open(path) as file:
            type_ = json.load(file)
        layers = type_["layers"]
        keys = [layers["key"], layers.get("list", "layer_types"), *(layers[by]["key"] for by in ("count", "places", "shared") if by in layers)]
        second = layers.get("second", {})
        keys += [*([second["list"]] if "list" in second else []), *(second[by]["key"] for by in ("count", "step") if by in second), *(row["key"] for row in layers.get("repeated", []))]
        keys += [row["key"] for row in type_["keys"] if "absent" not in row]
        rope = ["rope_scaling", "rope_theta", "partial_rotary_factor"] if "rope" in type_ else ["rope_parameters"] if "rope_of_kinds" in type_ else []
        types[os.path.basename(path)[:-len(".json")]] = ["model_type", *dict.fromkeys(keys), *rope, "torch_dtype"]
    return types


def recorded_type(row, types):
    """The recorded type of the row's network, of a model of images too that of its text part; None where it is not built in."""
    if row["id"] in UNRECORDED or (row["config"].get("quantization_config") and row["id"] not in UNPACKED):
        return None
    whole = row["model_type"] in TEXT_PARTS and "text_config" in row["config"]
    if not whole and "text_config" in row["config"]:
        return None
    name = TEXT_PARTS[row["model_type"]] if whole else row["model_type"]
    return name if name in types else None


def recorded_config(row, name, types):
    """What the type reads of the row's config, as its own class would."""
    config, defaults = row["config"], row.get("defaults_applied", {})
    dtype = config.get("torch_dtype", config.get("dtype"))
    if "text_config" in config:
        config, defaults = config["text_config"], defaults.get("text_config", {})
    config = {**defaults, **config, **RECORDED_FIXES.get(row["id"], {}), "model_type": name}
    config["torch_dtype"] = config.get("torch_dtype", config.get("dtype", dtype))
    return {key: config[key] for key in types[name] if key in config and not (key == "torch_dtype" and not config[key])}


def parameters_of(row, config):
    """As published, but what a checkpoint has and the network does not count."""
    total = row["params"]["text_total"]
    if row["id"].startswith("Qwen/Qwen1.5-0.5B"):  # the tied head
        total -= config["vocab_size"] * config["hidden_size"]
    if config["model_type"] == "gemma4_text":
        total -= config["num_hidden_layers"]  # a buffer of one number in each layer
    if config["model_type"] == "minimax_m2":
        total -= config["num_hidden_layers"] * config["num_local_experts"]
    if config["model_type"] in ROUTER_BUFFERS:
        total -= (config["num_hidden_layers"] - config.get("first_k_dense_replace", 1)) * config["n_routed_experts"]
    return total


def facts_of(row, config, types):
    """What `vramfit models` says of the network, which takes long to make; a test counts again."""
    layers = next(key for key in types[config["model_type"]][1:] if key in config)
    positions = next((config[key] for key in ("max_position_embeddings", "n_positions", "max_seq_len") if config.get(key)),
                     POSITIONS.get(config["model_type"]))
    return {"parameters": parameters_of(row, config), "layers": config[layers], "max_position_embeddings": positions}


def shape_of_recorded(config):
    return json.dumps({key: value for key, value in sorted(config.items())
                       if value is not None and not key.startswith(("rope_", "hidden_act", "max_position", "torch_dtype", "rms_norm"))})


def shape_of(config):
    return json.dumps([config.get(key) for key in SHAPE if key not in ("hidden_act", "hidden_activation", "max_position_embeddings")])


def hidden_size(config):
    return config["n_embd"] if config["model_type"] == "gpt2" else config["hidden_size"]


def heads(config):
    return config["n_head"] if config["model_type"] == "gpt2" else config["num_attention_heads"]


def full_shape(config):
    """The shape with head_dim and switches filled in, so that a terse source equals a complete one."""
    filled = {"attention_bias": False, "mlp_bias": False, "use_sliding_window": False, "max_window_layers": None, **config}
    if config["model_type"].endswith("_moe"):
        filled = {"decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": False, **filled}
    if not filled["use_sliding_window"]:
        filled["max_window_layers"] = None
        if config["model_type"] in ("qwen2", "qwen3", "qwen2_moe", "qwen3_moe"):
            filled["sliding_window"] = None
    if config["model_type"] == "qwen2":
        filled.update(attention_bias=True, mlp_bias=False)
    if filled.get("head_dim") is None:
        filled["head_dim"] = 256 if config["model_type"].startswith("gemma") else hidden_size(config) // heads(config)
    if config["model_type"] == "gemma2":
        filled.update(sliding_window=4096, attn_logit_softcapping=50.0, final_logit_softcapping=30.0)
    if config["model_type"] in ("gemma", "gemma2"):
        filled["tie_word_embeddings"] = True
    return shape_of(filled)


def name_of(row):
    return short_name(UNPACKED.get(row["id"], row["id"]))


def aliases_of(row):
    published = [alias for alias in row.get("aliases", []) if not NOT_ALIAS.search(alias)]
    return [alias for alias in published if row["id"] not in UNPACKED or alias.lower().endswith("bf16")]


def why_other(row, types):
    """What stands against the checkpoint, in a word, and the model type that it is about."""
    name = TEXT_PARTS.get(row["model_type"], row["model_type"])
    if name in types and row["config"].get("quantization_config"):
        return "fp8"
    if name in types and row["id"] in UNRECORDED:
        return f"key={UNRECORDED[row['id']]}"
    return "images" if "vision_config" in row["config"] else "text"


def write_others(rows, built_in, types, path):
    """One line for each family that is not supported: its model_type, what it reads, its checkpoints. Of supported
    ones the checkpoints whose weights are in FP8, and those with a key that their type's recording does not cover."""
    packed = re.compile("-bnb-4bit$", re.I)  # found by the name of the unpacked checkpoint
    families = {key: set(names) for key, names in OTHERS.items()}
    for row in rows:
        names = {row["id"], *row.get("aliases", [])} - built_in - {name for others in OTHERS.values() for name in others}
        if row["id"] in built_in:
            names = {name for name in names if not packed.search(name)}
        if row["model_type"] not in FAMILIES and names:
            families.setdefault((row["model_type"], why_other(row, types)), set()).update(names)
    with open(path, "w") as file:
        for (model_type, reads), names in sorted(families.items()):
            file.write(" ".join([model_type, reads, *sorted(names)]) + "\n")


def main():
    table, folder, *counts = sys.argv[1:]
    with open(table) as file:
        all_rows = json.load(file)["models"]
    types = recorded_types(folder)
    rows = [row for row in all_rows if row["model_type"] in FAMILIES or recorded_type(row, types)]
    groups = {}
    for row in rows:
        if row["model_type"] in FAMILIES:
            config = config_of(row)
            key = (stem(short_name(row["id"])), full_shape(config))
        else:
            config = recorded_config(row, recorded_type(row, types), types)
            key = (stem(name_of(row)), shape_of_recorded(config))
        groups.setdefault(key, []).append((row, config))

    os.makedirs(folder, exist_ok=True)
    taken = {}
    models = []
    for group in groups.values():
        # The makers' base model first, then the source that says most.
        group.sort(key=lambda item: (item[0]["id"].startswith(MIRRORS), name_of(item[0]) != stem(name_of(item[0])),
                                     -len(item[1]), item[0]["id"]))
        row, config = group[0]
        name = name_of(row)
        assert name not in taken, (name, row["id"], taken[name], config)
        taken[name] = row["id"]
        names = []
        for other, _ in group:
            names += [UNPACKED.get(other["id"], other["id"]), name_of(other), *aliases_of(other), *OTHER_NAMES.get(other["id"], [])]
        models.append((name, row, config, names))
    claimed = {name.lower() for name, *_ in models} | {UNPACKED.get(row["id"], row["id"]).lower() for _, row, *_ in models}
    for name, row, config, names in models:
        aliases = []
        for alias in names:
            if alias.lower() not in claimed:
                claimed.add(alias.lower())
                aliases.append(alias)
        source = row["source"]
        text = {"name": name, "id": UNPACKED.get(row["id"], row["id"]), "aliases": aliases,
                "source": " ".join(str(source[key]) for key in ("repo", "path", "commit") if source.get(key)) or source.get("kind", ""),
                **({} if row["model_type"] in FAMILIES else {"facts": facts_of(row, config, types)}),
                "model_type": config["model_type"], **({"text_part": True} if row["model_type"] in WITH_IMAGES else {}), **config}
        with open(os.path.join(folder, f"{name}.json"), "w") as file:
            json.dump(text, file, indent=1)
            file.write("\n")
    write_others(all_rows, {alias for _, row, _, names in models for alias in [row["id"] if row["id"] not in UNPACKED else "", *names]}, types,
                 os.path.join(folder, "not_supported.txt"))
    if counts:
        with open(counts[0], "w") as file:
            for row in rows:
                recorded = None if row["model_type"] in FAMILIES else recorded_type(row, types)
                config = recorded_config(row, recorded, types) if recorded else config_of(row)
                total = parameters_of(row, config)
                config = config if recorded else {k: v for k, v in config.items() if k in SHAPE}
                if row["model_type"] == "gemma3":
                    config = {"model_type": "gemma3", "text_config": config, "vision_config": {"model_type": "siglip_vision_model"}}
                file.write(json.dumps({"id": row["id"], "parameters": total, "config": config},
                                      separators=(",", ":")) + "\n")
    print(f"{len(models)} models from {len(rows)} rows")


if __name__ == "__main__":
    main()
