"""The network of a folder, a config.json, a name in the local cache or a model type: the class's own __init__, without weights."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
import transformers

from . import first_pass
from .device import fake_mode, move_network
from .initial import mark_initial

#: A model of text and images with its towers, whose head is that of a causal language model.
WHOLE = "image_text_to_text"
HEADS = {"causal_lm": "AutoModelForCausalLM", WHOLE: "AutoModelForImageTextToText", "sequence_classification": "AutoModelForSequenceClassification",
         "token_classification": "AutoModelForTokenClassification"}


#: Parts of text that AutoModelForCausalLM knows by their whole alone, of which it loads the part (5.17.0 models/auto/auto_factory.py from_pretrained:
#: model_class.config_class == config.sub_configs["text_config"]).
BY_WHOLE = {"emu3_text_model": "emu3", "mllama_text_model": "mllama"}


class NotFound(Exception):
    """No network of this name."""


def read_config(name: str, trust_remote_code: bool = False, download: bool = False) -> Any:
    """The configuration object of a folder, a file, a name in the cache, or a bare model type."""
    path = Path(name)
    if path.is_dir() or path.is_file():
        folder = path if path.is_dir() else path.parent
        text = (folder / "config.json" if path.is_dir() else path)
        if not text.is_file():
            raise NotFound(f"{folder} has no config.json")
        if path.is_file() and path.name != "config.json":
            values = json.loads(path.read_text())
            return transformers.AutoConfig.for_model(values.pop("model_type"), **values)
        return transformers.AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code, local_files_only=True)
    if name in transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES:
        return transformers.AutoConfig.for_model(name)
    try:
        return transformers.AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code, local_files_only=not download)
    except OSError as error:
        raise NotFound(f"{name}: no folder, no file, no model type, and not in the local cache; --download fetches its config.json") from error


def class_of(config_class: Any, head: str) -> Any:
    """The class that the Auto class of a head loads of such a configuration."""
    whole = BY_WHOLE.get(config_class.model_type)
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING[whole] if whole else config_class
    return getattr(transformers, HEADS[head])._model_mapping[known]


def build(config: Any, head: str, dtype: torch.dtype, trust_remote_code: bool = False) -> Any:
    """The network on the device that is not there, as from_pretrained leaves it, in training mode. Returns it and its fake mode."""
    auto = getattr(transformers, HEADS[head])
    try:
        from transformers.initialization import no_init_weights
    except ImportError:
        from transformers.modeling_utils import no_init_weights
    with torch.device("meta"), no_init_weights():
        network = class_of(type(config), head)._from_config(config, dtype=dtype) if config.model_type in BY_WHOLE else auto.from_config(config, dtype=dtype, trust_remote_code=trust_remote_code)
    with torch.device("meta"):
        first_pass.change(network)
    network.tie_weights()
    keep_in_float32(network, dtype)
    network.train()
    mode = fake_mode()
    with mode:
        move_network(mode, network)
        mark_initial(network)
    return network, mode


def keep_in_float32(network: Any, dtype: torch.dtype) -> None:
    """modeling_utils.py _get_dtype_plan, core_model_loading.py build_glob_alternation: parameters in whose name such a pattern is found are loaded in float32, the first
    ones only where the rest is float16."""
    names = set(getattr(network, "_keep_in_fp32_modules_strict", None) or ())
    if dtype == torch.float16:
        names |= set(getattr(network, "_keep_in_fp32_modules", None) or ())
    for name, parameter in network.named_parameters():
        if any(re.search(pattern.replace("*", ".*"), name) for pattern in names):
            parameter.data = parameter.data.float()
