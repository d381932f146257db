"""Names of modules: a module's place in the network, and the name of what several parameters share."""
from __future__ import annotations

import re
from collections.abc import Iterable

#: What wrappers put around the network or a module of it.
WRAPPERS = re.compile(r"\b(_fsdp_wrapped_module|_checkpoint_wrapped_module|base_layer|_orig_mod)\.")
OUTER = re.compile(r"^(module\.)*(base_model\.model\.)?(model\.|transformer\.|gpt_neox\.)*(decoder\.)?")
LAYER = re.compile(r"^(h|blocks)\.(?=\d)")
#: What peft puts around a parameter.
OF_PEFT = re.compile(r"\.(lora_\w+|base_layer|modules_to_save|original_module|token_adapter)(\..*)?$")


def place_of(name: str) -> str:
    """A module's place in the network, without what is around it: layers.0.mlp.down_proj."""
    bare = LAYER.sub("layers.", OUTER.sub("", WRAPPERS.sub("", name + ".")))
    return bare.rstrip(".")


def span(modules: Iterable[str]) -> str:
    """The innermost module that holds all of these, or, where that is the network, the first and the last of its parts."""
    parts = [module.split(".") for module in modules]
    if not parts:
        return ""
    common: list[str] = []
    for at in zip(*parts):
        if len(set(at)) > 1:
            break
        common.append(at[0])
    if common and common != ["layers"]:
        return ".".join(common)
    first, last = (".".join(part[: 2 if part[0] == "layers" else 1]) for part in (parts[0], parts[-1]))
    return first if first == last else f"{first}..{last}"


def module_of(parameter: str) -> str:
    """The module of a parameter's name; what peft puts into a module is the module's."""
    return OF_PEFT.sub("", parameter.rpartition(".")[0])


def is_adapter(name: str) -> bool:
    return "lora_" in name or "modules_to_save" in name
