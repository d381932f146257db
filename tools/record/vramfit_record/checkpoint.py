"""How transformers' loader makes the network's tensors of those in a checkpoint (core_model_loading.py, conversion_mapping.py)."""
from __future__ import annotations

import re
from typing import Any

#: A parameter's name, then the tensors of a checkpoint that it is made of; * stands for a number.
Row = list[str]


def checkpoint(network: Any) -> tuple[list[Row], str | None]:
    """Each parameter that a checkpoint has by another name, or in parts, and the first rule that such rows do not say."""
    try:
        from transformers.conversion_mapping import get_model_conversion_mapping
        from transformers.core_model_loading import revert_weight_conversion
    except ImportError:
        return [], None
    rules = get_model_conversion_mapping(network, add_legacy=False)
    for rule in rules:
        if not is_said_by_rows(rule):
            return [], f"{' + '.join(rule.source_patterns)} -> {' + '.join(rule.target_patterns)}"
    if not rules:
        return [], None
    rows: dict[str, Row] = {}
    for name, tensor in network.state_dict().items():
        if (any_number := numbered(name)) not in rows:
            files = dict.fromkeys(numbered(file) for file in revert_weight_conversion(network, {name: tensor}))
            rows[any_number] = [any_number, *files]
    return [row for row in rows.values() if row[1:] != row[:1]], None


def is_said_by_rows(rule: Any) -> bool:
    """Other names, tensors that are joined by their rows or cut into equal parts, and matrices of experts that become one block: stacked, then joined by their rows."""
    made = [(type(step).__name__, getattr(step, "dim", None)) for step in getattr(rule, "operations", None) or []]
    stacked, joined = ("MergeModulelist", 0), ("Concatenate", 1)
    if type(rule).__name__ == "WeightConverter":
        return made == [("Chunk", 0)] and len(rule.source_patterns) == 1 or made == [stacked] and len(rule.source_patterns) == 1 or made in ([stacked, joined], [("Concatenate", 0)])
    return type(rule).__name__ in ("WeightRenaming", "PrefixChange")


def numbered(name: str) -> str:
    return re.sub(r"(?<=\.)\d+(?=\.|$)", "*", name)
