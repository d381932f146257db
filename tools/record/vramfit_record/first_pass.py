"""What a network's first forward pass changes of it for good: the passes that are recorded find it changed."""
from __future__ import annotations

from typing import Any


def change(network: Any) -> None:
    """Short rows make BigBird's blocks modules of full attention, with the projections that were there (5.17.0 modeling_big_bird.py BigBirdModel.forward, set_attention_type)."""
    if network.config.model_type == "big_bird":
        network.bert.encoder.set_attention_type("original_full")


def ask_again(network: Any) -> None:
    """Whether rows are short enough is asked in every pass that is recorded: it is a condition."""
    if network.config.model_type == "big_bird":
        network.bert.attention_type = network.config.attention_type
