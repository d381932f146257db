"""Configurations of a type by chance: sizes, heads, switches, layers, keys that are absent."""
from __future__ import annotations

import random
from typing import Any

import transformers

from .instantiate import LAYERS, ROPE_TYPE, folded
from .keys import Keys, places_in, types_of
from .known import ACTIVATIONS, BY_PLACES, EXPERTS, ROPE, SIZES_OF, TWICE_THE_PAIRS, USED


def drawn(type_: dict[str, Any], keys: Keys, chance: random.Random, at: int) -> dict[str, Any]:
    """A config.json, in its parts if it has any."""
    config = flat(type_, keys, chance, at)
    return {"model_type": keys.cls.model_type, **keys.nested({k: v for k, v in config.items() if k != "model_type"})} if keys.parts else config


def flat(type_: dict[str, Any], keys: Keys, chance: random.Random, at: int) -> dict[str, Any]:
    """Its keys as the type calls them. The first ones have what is met often and is a case of its own: padding of 0, one layer, as many pairs of keys and values as heads."""
    heads = chance.choice((2, 3, 4, 6, 8))
    kv = heads if at == 2 and "fewer" not in type_ else chance.choice([n for n in (2, 3, 4, 6, 8) if heads % n == 0])
    if type_["model_type"] == "inkling_text":
        heads, kv = 2 * kv, kv
    if type_["model_type"] in TWICE_THE_PAIRS:
        heads, kv = 4 * chance.randint(2, 4), 2
    sizes = {"num_attention_heads": heads, "num_key_value_heads": kv, "hidden_size": heads * 8 * chance.randint(1, 9), "intermediate_size": 8 * chance.randint(3, 60),
             "vocab_size": chance.randint(210, 900), "head_dim": 8 * chance.randint(1, 9), "max_position_embeddings": chance.randint(200, 9000),
             "intermediate_size_mlp": 8 * chance.randint(3, 60), "attention_chunk_size": chance.randint(130, 5000), "sliding_window": chance.randint(130, 5000), "pad_token_id": chance.randint(0, 199),
             **dict.fromkeys(("ffn_dim", "n_inner", "ffn_hidden_size"), 8 * chance.randint(3, 60)), "rotary_dim": 2 * chance.randint(1, 4), "num_kv_heads": kv, "max_seq_len": chance.randint(200, 9000)}
    sizes["word_embed_proj_dim"] = sizes["embedding_size"] = sizes["hidden_size"] // chance.choice((1, 2, 4))
    sizes |= {"max_position_embeddings": chance.randint(200, 900)} if "max_position_embeddings" in SIZES_OF.get(type_["model_type"], ()) else {}
    sizes |= experts_of(chance) | {"mamba_d_ssm": 16 * chance.randint(2, 20), "local_attention": 2 * chance.randint(130, 2000), **dict.fromkeys(("time_step_rank", "mamba_dt_rank"), chance.randint(2, 40)), "index_topk": chance.randint(130, 5000), "index_head_dim": 2 * chance.randint(13, 60)}
    few = chance.choice((2, 3, 4))
    sizes |= {"attn_config_kv_n_heads": kv, "ffn_config_moe_num_experts": sizes["num_experts"], "ffn_config_moe_top_k": sizes["num_experts_per_tok"]}
    sizes |= {"vision_num_attention_heads": few, "vision_hidden_size": few * 8 * chance.randint(1, 9), "vision_num_hidden_layers": chance.randint(1, 4)}
    sizes |= {"vision_num_heads": few, "vision_num_key_value_heads": few, "vision_head_dim": 8 * chance.randint(1, 9), "vision_depth": sizes["vision_num_hidden_layers"], "audio_num_hidden_layers": sizes["vision_num_hidden_layers"]}
    sizes |= {"swa_num_key_value_heads": few, "swa_num_attention_heads": few * chance.choice((2, 3)), "swa_head_dim": 8 * chance.randint(1, 9)}
    sizes |= {"linear_num_key_heads": few, "vocab_size_per_layer_input": chance.randint(210, 900), "hidden_size_per_layer_input": 8 * chance.randint(1, 9), "linear_num_value_heads": few * chance.choice((1, 2, 3)), "linear_key_head_dim": 8 * chance.randint(1, 9), "linear_value_head_dim": 8 * chance.randint(1, 9)}
    config: dict[str, Any] = {"model_type": type_["model_type"]}
    for row in type_["keys"]:
        if "states" not in row or ("default" in row and chance.random() < 0.15 and not row["key"].startswith("linear_num") and keys.standard(row["key"]) not in ("num_attention_heads", "vision_num_heads", "hidden_size", "vocab_size", "num_key_value_heads", "whole_tie_word_embeddings", "local_attention")):
            continue
        state = chance.choice(row["states"])
        if at == 0 and keys.standard(row["key"]) == "pad_token_id":
            state = 0
        if isinstance(state, dict):
            name = keys.standard(row["key"])
            state = chance.choice((2, 4, 8)) if name == "mamba_n_heads" else 8 * chance.randint(2, 5) if name == "mamba_num_heads" else chance.choice((16, 32)) if name == "num_heads" else sizes.get(name, chance.randint(8, 300)) if state["varied"] == "size" else round(chance.uniform(0.01, 0.9), 4)
        config[row["key"]] = state
    config |= {key: size if isinstance(size, int) else chance.choice(size) for key, size in keys.sizes_with(config).items()}
    defaults = {row["key"]: row["default"] for row in type_["keys"] if isinstance(row.get("default"), int)}
    for row in type_["keys"]:
        if "equal" in row and ("default" in row or chance.random() < 0.3):
            config[row["key"]] = folded(row["equal"][1:], {**defaults, **config})
    config |= {row["key"]: [round(chance.uniform(0.1, 2.0), 3) for _ in range(row["factors"])] for row in type_["keys"] if "factors" in row and chance.random() < 0.7}
    if "shared" in type_["layers"]:
        return {**config, **shared_layers(type_, heads, at, chance)}
    count = 1 if at == 1 and any(len(state) == 1 for state in type_["choices"][LAYERS]) else chance.choice((2, 2, 3, 4, 5))
    config[type_["layers"]["key"]] = count
    layers = type_["layers"]
    if "count" in layers:
        if chance.random() < 0.7:
            config[layers["count"]["key"]] = chance.randint(0, count)
    elif "step" in layers:
        step = chance.randint(2, 4)
        config |= {layers["step"]["key"]: step, layers["step"]["offset"]["key"]: chance.randint(1, step - 1)}
    elif "second" in layers:
        config |= in_two_ways(type_, keys, chance)
        if "sizes" in layers:
            config |= sizes_of_layers(type_, config, keys, at, chance)
    elif "letters" in layers:
        del config[layers["key"]]
        config |= by_letters(type_, chance)
    elif "kinds" in layers and not ("pattern" in layers and chance.random() < 0.3):
        name, listed = layers.get("list", "layer_types"), [chance.choice(layers["kinds"]) for _ in range(count)]
        config |= places_in(type_["model_type"], listed) if type_["model_type"] in BY_PLACES else {name: listed, **types_of(name, listed)}
        if "names" in layers and chance.random() < 0.5:
            config[name] = [{v: k for k, v in layers["names"].items()}.get(kind, kind) for kind in listed]
    if any("none" in row for row in type_.get("rope_of_kinds", {}).values()):
        config["rope_parameters"] = {kind: None if "none" in row else {"rope_type": row["type"], "rope_theta": 50000, **row["own"]} for kind, row in type_["rope_of_kinds"].items()}
    if ROPE_TYPE in type_["choices"]:
        add_rope(config, type_, chance)
    return config


def shared_layers(type_: dict[str, Any], heads: int, at: int, chance: random.Random) -> dict[str, Any]:
    """Groups of layers of which the last one has full attention, the last groups without keys and values of their own; fewer pairs of keys and values than heads."""
    group = ["sliding_attention"] * chance.randint(2, 4) + ["full_attention"]
    groups, shared = chance.randint(1, 2), chance.choice((0, 1, 1)) if at else 0
    fewer = [n for n in range(2, heads) if heads % n == 0]
    said = {type_["layers"]["key"]: len(group) * (groups + shared), "layer_types": group * (groups + shared), type_["layers"]["shared"]["key"]: len(group) * shared, "num_attention_heads": heads,
            "num_key_value_heads": chance.choice([1, *fewer]), **({"num_global_key_value_heads": chance.choice(fewer)} if fewer else {}), "global_head_dim": 8 * chance.randint(33, 70)}
    if chance.random() < 0.5:
        said["rope_parameters"] = {kind: {"rope_type": row["type"], **{name: 0.5 if "factor" in name else 20000.0 for name in row["may"]}} for kind, row in type_["rope_of_kinds"].items()}
    if sparsity := type_["layers"]["shared"].get("sparsity"):  # the last two with keys and values of their own have none
        sparse = chance.randint(1, len(group) * groups - 2) if at > 1 else 0
        said[sparsity["key"]] = [0.95 if i < sparse else 0.0 for i in range(len(said["layer_types"]))]
        said["intermediate_size"] = [8 * chance.randint(3, 60)] * len(said["layer_types"]) if chance.random() < 0.5 else 200
    return said


def sizes_of_layers(type_: dict[str, Any], config: dict[str, Any], keys: Keys, at: int, chance: random.Random) -> dict[str, Any]:
    """Heads of each layer, and rotary embeddings of each kind of layer."""
    pairs, row = config["num_key_value_heads"], type_["layers"]["sizes"]
    of = {kind: pairs * chance.randint(2, 4) for kind in row["names"]}
    said: dict[str, Any] = {row["key"]: [of[kind] for kind in config[keys.list]]} if at == 2 or chance.random() < 0.8 else {}
    if chance.random() < 0.7:
        said["rope_parameters"] = {kind: {"rope_type": known["type"], "rope_theta": 20000.0, **known["own"]} for kind, known in type_["rope_of_kinds"].items()}
        for kind, known in type_["rope_of_kinds"].items():
            if "yarn" in known.get("others", {}) and chance.random() < 0.7:
                values = {**{k: v for part in ROPE["yarn"] for k, v in part.items()}}
                names = [n for n in known["others"]["yarn"]["may"] if n != "rope_theta" and (n in known["others"]["yarn"]["needs"] or chance.random() < 0.5)]
                said["rope_parameters"][kind] |= {"rope_type": "yarn", **{n: values[n][chance.randint(0, 2)] for n in names}}
    return said


def in_two_ways(type_: dict[str, Any], keys: Keys, chance: random.Random) -> dict[str, Any]:
    """Layers of an order that was recorded, of which those in the middle stand in any order, but the dense ones first."""
    if "step" in keys.second:
        count, step = chance.choice((4, 8)), chance.choice((1, 2))
        said = {row["key"]: (row["pattern"] * 2)[:count] if "pattern" in row else list(range(step - 1, count, step)) for row in type_["layers"]["repeated"] if chance.random() < 0.4}
        return {type_["layers"]["key"]: count, keys.second["step"]: step, **said}
    state = chance.choice(type_["choices"][LAYERS])
    there = sorted(set(state))
    if len(there) == 1:
        kinds = there * chance.randint(2, 4)
    else:
        middle = [kind for kind in there if kind not in (state[0], state[-1])] + [chance.choice(there) for _ in range(chance.randint(0, 2))]
        chance.shuffle(middle)
        kinds = [state[0], *sorted(middle, key=lambda kind: kind.split("+")[0]), state[-1]]
    said = keys.in_two_ways(kinds)
    if len(keys.second) == 2 and chance.random() < 0.5:
        said[keys.second["count"]] = said.pop(keys.second["list"]).count("dense")
    return {type_["layers"]["key"]: len(kinds), **said}


def by_letters(type_: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Layers of an order that was recorded, as a text or as a list; their number is said beside them, or not."""
    layers, state = type_["layers"], chance.choice(type_["choices"][LAYERS])
    middle = [kind for kind in sorted(set(state)) if kind not in (state[0], state[-1])] + [chance.choice(state) for _ in range(chance.randint(0, 3))]
    chance.shuffle(middle)
    kinds = [state[0], *middle, state[-1]]
    text = "".join({v: k for k, v in layers["letters"]["kinds"].items()}[kind] for kind in kinds)
    said = {layers["key"]: len(kinds)} if chance.random() < 0.5 else {}
    return {**said, **({layers["letters"]["key"]: text} if chance.random() < 0.6 else {layers["list"]: kinds})}


#: Experts of a token. The places of a token with one are a view of what they are made from under older releases (integrations/moe.py
#: grouped_mm_experts_forward): the same memory, but names that end elsewhere than in the recording.
LEAST_USED = 1 if tuple(map(int, transformers.__version__.split(".")[:2])) >= (5, 16) else 2


def experts_of(chance: random.Random) -> dict[str, int]:
    """Of a mixture: groups of experts, of which a token has some."""
    groups = chance.choice((1, 2, 4))
    each, some = chance.randint(2, 6), chance.randint(1, groups)
    count, used = groups * each, chance.randint(LEAST_USED, min(4, some * each))
    return {**dict.fromkeys(EXPERTS, count), **dict.fromkeys(USED, used), "n_group": groups, "topk_group": some, "moe_intermediate_size": 8 * chance.randint(2, 30),
            **dict.fromkeys(("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"), chance.randint(1, 3)), "qk_rope_head_dim": 2 * chance.randint(2, 12),
            "qk_nope_head_dim": 2 * chance.randint(2, 30), "v_head_dim": 2 * chance.randint(2, 30), "q_lora_rank": 8 * chance.randint(2, 20), "kv_lora_rank": 8 * chance.randint(2, 20)}


def add_rope(config: dict[str, Any], type_: dict[str, Any], chance: random.Random) -> None:
    if chance.random() < 0.5:
        config["rope_theta"] = float(chance.randint(5000, 900000))
    state = chance.choice(list(type_["rope"]["types"]))
    if state == "default":
        return
    known = type_["rope"]["types"][state]
    values = {k: v for part in ROPE[state] for k, v in part.items()}
    names = known["needs"] + [n for n in known["may"] if chance.random() < 0.5]
    key = "rope_parameters" if type_["rope"]["parameters"] and chance.random() < 0.5 else "rope_scaling"
    config[key] = {chance.choice(("type", "rope_type")): state, **{n: values[n][chance.randint(0, 2)] for n in names}}
