"""What changes the program that a network runs: attention, mask, cache, labels, checkpointing."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from . import values
from .device import CUDA
from .merge import Point


@dataclass(frozen=True)
class Variant:
    attention: str = "default"  # what the class chooses
    mask: str = "absent"  # full: all ones; padded: rows end early
    use_cache: bool = False
    labels: bool = True
    checkpointing: bool = False
    items: bool = False  # num_items_in_batch is given, as Trainer does

    def as_json(self) -> dict[str, Any]:
        row = {"attention": self.attention, "mask": self.mask, "use_cache": self.use_cache, "labels": self.labels, "checkpointing": self.checkpointing}
        return {**row, "items": True} if self.items else row


BASE = Variant()
#: A training step of each kind: the loss of a plain loop, then that of Trainer, which counts the labels of the whole batch.
MASKS = ("absent", "full", "padded")
TRAINING = (
    BASE, Variant(mask="full"), Variant(mask="padded"), Variant(use_cache=True), Variant(mask="padded", use_cache=True),
    *(Variant(mask=m, labels=False) for m in MASKS), *(Variant(mask=m, checkpointing=True) for m in MASKS),
    *(Variant(attention="eager", mask=m, checkpointing=c) for c in (False, True) for m in MASKS),
    *(Variant(attention="flash_attention_2", mask=m) for m in MASKS),
    *(Variant(attention=a, mask=m, checkpointing=c, items=True) for a in ("default", "eager") for c in (False, True) for m in MASKS))

#: transformers' Trainer with the mask of a tokenizer: rows of one length, and of several.
TRAINER = tuple(Variant(mask=m, checkpointing=c, items=True) for m in ("full", "padded") for c in (False, True))

#: Sizes and dtypes differ at once; a formula has to hold at all three.
POINTS = (Point(2, 48, torch.bfloat16), Point(3, 83, torch.float32), Point(5, 114, torch.float32, torch.bfloat16))

#: In place of these lengths where the code goes over a row in chunks of 64: several of them, whole ones and a part of one.
LONGER = {48: 128, 83: 150, 114: 200}

#: Where it fills a row up to longer chunks, so many of them: numbers that no sizes of types.known make, one more, or times batch and chunk.
CHUNKS = (6, 4, 3)

#: Where the code asks for dtypes: three sizes of each kind. Autocast over 16-bit weights changes no call; what runs without it is then known.
SIZES = ((2, 48), (3, 83), (5, 114))
BY_DTYPE = (
    ({"weights": "16 bit"}, (Point(*SIZES[0], torch.bfloat16), Point(*SIZES[1], torch.float16), Point(*SIZES[2], torch.bfloat16, torch.bfloat16))),
    ({"weights": "float32", "autocast": False}, tuple(Point(*s, torch.float32) for s in SIZES)),
    ({"weights": "float32", "autocast": True}, tuple(Point(*s, torch.float32, d) for s, d in zip(SIZES, (torch.bfloat16, torch.float16, torch.bfloat16)))))


#: Types that the library trains in float32 alone: some parameters are made in it whatever is asked for, and beside those of 16 bits it stops (5.17.0 modeling_xlnet.py XLNetRelativeAttention, torch.FloatTensor).
IN_FLOAT32 = ("xlnet",)


def as_trained(points: tuple[Point, ...], by_dtype: Any, model_type: str) -> tuple[tuple[Point, ...], Any, dict[str, Any]]:
    """The points and kinds of dtypes that the library trains a type with, and what rows of them say."""
    if model_type not in IN_FLOAT32:
        return points, by_dtype, {}
    return tuple(replace(p, weights=torch.float32) for p in points), by_dtype[1:], {"weights": "float32"}


def apart(when: dict[str, Any], points: tuple[Point, ...]) -> list[tuple[dict[str, Any], tuple[Point, ...]]]:
    """A kind of dtypes without autocast and with it, of a class that casts by itself where autocast is on; none where the kind says it already. Autocast has another dtype than the weights."""
    other = {torch.bfloat16: torch.float16, torch.float16: torch.bfloat16}
    kinds = ((False, tuple(replace(p, autocast=None) for p in points)), (True, tuple(replace(p, autocast=other.get(p.weights)) for p in points)))
    return [] if "autocast" in when else [({**when, "autocast": on}, placed) for on, placed in kinds]


#: The same of a single row, which some code treats apart.
ONE_ROW = tuple(replace(p, batch=1) for p in POINTS)
ONE_ROW_BY_DTYPE = tuple((when, tuple(replace(p, batch=1) for p in points)) for when, points in BY_DTYPE)


def text_ids(config: Any, batch: int, length: int) -> torch.Tensor:
    """Token ids that mean nothing special."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    special = {v for k, v in {**config.to_dict(), **text.to_dict()}.items() if k.endswith(("token_id", "token_index")) and isinstance(v, int)}
    vocabulary = getattr(text, "vocab_size", None) or 1000
    plain = [i for i in range(3, min(vocabulary, 200)) if i not in special] or [0]
    return torch.tensor([plain[i % len(plain)] for i in range(batch * length)]).view(batch, length)


def inputs_of(config: Any, variant: Variant, point: Point, head: str) -> dict[str, torch.Tensor]:
    """The batch on the device; what the host may ask of it is known. To be called under the fake mode."""
    def there(value: torch.Tensor) -> torch.Tensor:
        return values.give(torch.empty(tuple(value.shape), dtype=value.dtype, device=CUDA), value)

    with values.unset_fake_temporarily():
        ids = text_ids(config, point.batch, point.length)
        mask = torch.ones_like(ids)
        if variant.mask == "padded":
            mask[min(1, point.batch - 1):, -3:] = 0
        labels = ids.clone() if head != "sequence_classification" else torch.zeros(point.batch, dtype=torch.long)
        if head == "token_classification":
            labels = torch.zeros_like(ids)
    inputs = {"input_ids": there(ids)}
    if variant.mask != "absent":
        inputs["attention_mask"] = there(mask)
    if variant.labels:
        inputs["labels"] = there(labels)
    if variant.items:
        with values.unset_fake_temporarily():
            count = torch.tensor(point.batch * (point.length - 1))
        inputs["num_items_in_batch"] = there(count)
    return inputs
