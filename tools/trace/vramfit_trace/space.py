"""The space of jobs: draws one at random, from families or recorded types x methods x features x sizes."""
from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from .families import FAMILIES, Family
from .job import SCHEMA, Job
from .space_processes import among_processes
from .types import WHOLE, longest

LENGTHS = (1, 16, 37, 64, 128, 129, 256, 300, 512, 1000)
OPTIMIZERS = ("adamw_torch", "adamw_torch", "adamw_torch", "adamw_torch_fused", "adamw_bnb_8bit", "paged_adamw_8bit", "paged_adamw_32bit",
              "sgd", "adafactor", "lion_8bit", "lion_32bit")
METHODS = ("full", "lora", "lora", "qlora", "qlora", "int8", "dora")
#: Of recorded types: what decides about them is what most people do.
TYPE_METHODS = ("full", "lora", "lora", "qlora", "qlora")
#: Weights and how they are trained: dtype of from_pretrained, bf16, fp16.
PRECISIONS = (("bfloat16", False, False), ("bfloat16", False, False), ("bfloat16", True, False), ("float32", False, False),
              ("float32", True, False), ("float32", False, True), ("float16", False, True))
CHECKPOINTING = (None, None, {"use_reentrant": True}, {"use_reentrant": False})


class Draw:
    """One job. Every choice that is not drawn keeps its default, so that defaults are walked too."""

    def __init__(self, seed: str, families: dict[str, Family]) -> None:
        self.random = random.Random(seed)
        self.family_name = self.random.choice(sorted(families))
        self.family = families[self.family_name]
        self.method = self.random.choice(METHODS if self.family_name in FAMILIES else TYPE_METHODS)
        precisions = PRECISIONS if self.method != "full" else PRECISIONS[:-1]  # the scaler refuses fp16 gradients
        self.dtype, self.bf16, self.fp16 = self.random.choice(precisions)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, choices: Iterable[Any]) -> Any:
        return self.random.choice(tuple(choices))

    def model(self, configs: list[dict[str, Any]]) -> dict[str, Any]:
        """A tiny model, or one of the given configs."""
        if configs:
            return dict(self.one(configs))
        model = dict(self.family.config)
        model[self.family.layers] = self.one((2, 2, 3, 4))
        model["vocab_size"] += self.one((0, 0, 1, 7, 64))
        if self.chance(0.2) and "tie_word_embeddings" in model and self.method == "full":
            model["tie_word_embeddings"] = not model["tie_word_embeddings"]
        if self.family_name == "llama":
            heads, groups, size = self.one(((8, 2, 64), (8, 8, 64), (6, 2, 96), (4, 1, 80), (4, 4, 128)))
            model.update(hidden_size=heads * size, num_attention_heads=heads, num_key_value_heads=groups)
        return model

    def load(self) -> dict[str, Any]:
        out: dict[str, Any] = {"dtype": self.dtype, "attn_implementation": self.one(self.family.kernels)}
        if self.family_name in WHOLE:
            out["text_part"] = False
        if out["attn_implementation"] == "sdpa" and self.chance(0.3):
            out["sdpa_kernel"] = self.one(("flash", "efficient", "math", "math"))
        if self.method == "qlora":
            out["quantization_config"] = {
                "load_in_4bit": True, "bnb_4bit_quant_type": self.one(("nf4", "nf4", "fp4")),
                "bnb_4bit_use_double_quant": self.chance(0.6),
                "bnb_4bit_compute_dtype": "bfloat16" if self.bf16 or not self.fp16 else "float16"}
        elif self.method == "int8":
            out["quantization_config"] = {"load_in_8bit": True}
        elif self.chance(0.1):
            out["device_map"] = None
        return out

    def targets(self) -> Any:
        family = self.family
        choices: list[Any] = [list(family.attention), list(family.attention[:1]), "all-linear", "all-linear"]
        if family.mlp:
            choices += [[*family.attention, *family.mlp], [*family.attention, *family.mlp], list(family.mlp)]
        if self.method == "lora" and family.head:
            choices += [[family.embedding, *family.attention], [family.head]]
        if not family.head:  # names in the order of the alphabet
            choices += [self.random.sample(family.attention, len(family.attention) // 2 or 1)]
        return self.one(choices)

    def peft(self) -> dict[str, Any]:
        rank = self.one((1, 4, 8, 16, 64) if self.family_name in FAMILIES else (1, 4, 8, 16))
        out: dict[str, Any] = {"r": rank, "lora_alpha": 2 * rank, "target_modules": self.targets()}
        if self.chance(0.4):
            out["lora_dropout"] = self.one((0.05, 0.1))
        if self.method == "dora":
            out["use_dora"] = True
        if self.method == "lora" and self.chance(0.15):
            out["bias"] = self.one(("all", "lora_only"))
        if self.method == "lora" and self.family.head and self.chance(0.15):
            out["modules_to_save"] = [self.one((self.family.embedding, self.family.head))]
        if self.chance(0.1):
            out["use_rslora"] = True
        if self.chance(0.1):
            out["layers_to_transform"] = [0]
        return out

    def training(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "per_device_train_batch_size": self.one((1, 2, 2, 3, 8)), "gradient_accumulation_steps": self.one((1, 1, 1, 2, 3)),
            "bf16": self.bf16, "fp16": self.fp16, "optim": self.one(OPTIMIZERS), "max_grad_norm": self.one((1.0, 1.0, 1.0, 0.0))}
        kwargs = self.one(CHECKPOINTING)
        if kwargs:
            out.update(gradient_checkpointing=True, gradient_checkpointing_kwargs=kwargs)
        return out

    def job(self, name: str, stack: str, configs: list[dict[str, Any]]) -> Job:
        """The whole job file. The libraries have the last word on whether it is valid."""
        training = self.training()
        out: Job = {"schema": SCHEMA, "name": name, "stack": stack, "model": self.model(configs), "load": self.load()}
        if self.method in ("qlora", "int8") and self.chance(0.7):
            kwargs = training.get("gradient_checkpointing_kwargs")
            out["prepare_kbit"] = {"gradient_checkpointing_kwargs": kwargs} if kwargs else {"use_gradient_checkpointing": False}
        if self.method != "full":
            out["peft"] = self.peft()
        plain = not self.fp16 and self.chance(0.2)
        out["training"] = training
        recorded = self.family_name not in FAMILIES  # as Trainer runs it with a tokenizer's mask and rows of several tokens
        masks = ("ones", "ones", "left_padded", "right_padded") if recorded else ("ones", "ones", "absent", "left_padded", "right_padded")
        length = self.one(LENGTHS[1:] if recorded else LENGTHS)
        out["batch"] = {"sequence_length": min(length, longest(out["model"])), "attention_mask": self.one(masks)}
        out["loop"] = {"kind": "plain" if plain and not recorded else "trainer"}
        out["card"] = self.one(("a100", "a100", "rtx4090", "h100", "t4" if not self.bf16 and self.dtype != "bfloat16" else "a100"))
        return out


def draw(seed: int, number: int, stack: str, families: dict[str, Family], configs: list[dict[str, Any]], kinds: Iterable[str] = ()) -> Job:
    """Job `number` of a walk, with `kinds` one rank of several processes; the same arguments give the same job."""
    walker = Draw(f"{seed}/{number}", families)
    name = f"walk-{seed}-{number:04d}-{walker.family_name}-{walker.method}"
    job = walker.job(name, stack, [config for config in configs if config["model_type"] == walker.family_name])
    if not kinds:
        return job
    kind = walker.one(sorted(kinds))
    return among_processes({**job, "name": f"{name}-{kind}"}, walker.random, kind)
