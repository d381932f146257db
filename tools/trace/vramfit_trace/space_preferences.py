"""Jobs of trl's trainers of preferences: rows and arguments are drawn from a generator of their own, the rest is the walk's job."""
from __future__ import annotations

import random
from typing import Any

from .job import Job

LENGTHS = (1, 7, 32, 60, 100, 128, 200, 400)
LOSSES = ("sigmoid", "sigmoid", "sigmoid", "hinge", "ipo", "nca_pair", "robust", "bco_pair", "sppo_hard", "apo_zero", "apo_down",
          "discopop", "sft", "sigmoid_norm")
#: What trl up to 0.28 does not know, or computes in another way.
NEWER = ("sigmoid_norm", "bco_pair")


def lengths(walker: random.Random, rows: int) -> dict[str, Any]:
    """Of a batch: mostly the same for all rows, some as long as each other, some not."""
    batch: dict[str, Any] = {"prompt_length": walker.choice(LENGTHS), "completion_length": walker.choice(LENGTHS)}
    kind = walker.random()
    if kind < 0.4:
        batch["rejected_length"] = walker.choice(LENGTHS)
    elif kind < 0.6 and rows > 1:
        batch["prompt_length"] = [walker.choice(LENGTHS) for _ in range(rows)]
        batch["completion_length"] = [walker.choice(LENGTHS) for _ in range(rows)]
        batch["rejected_length"] = [walker.choice(LENGTHS) for _ in range(rows)]
    return batch


def preferring(job: Job, walker: random.Random, older: bool = False) -> Job:
    """The job with trl's DPOTrainer, which makes the adapters."""
    training = dict(job["training"])
    if older:
        training["loss_type"] = walker.choice([loss for loss in LOSSES if loss not in NEWER])
    elif walker.random() < 0.3:
        training["loss_type"] = walker.sample(sorted(set(LOSSES)), 2)
    else:
        training["loss_type"] = walker.choice(LOSSES)
    if walker.random() < 0.2:
        training["precompute_ref_log_probs"] = True
    rows = training["per_device_train_batch_size"]
    batch = lengths(walker, rows if training["gradient_accumulation_steps"] == 1 else 1)
    loop: dict[str, Any] = {"kind": "dpo"}
    if isinstance(batch["prompt_length"], list):  # the sampler has an order of its own: a batch is known where it has all rows
        loop["steps"] = 1
    prepare = job.get("prepare_kbit") if walker.random() < 0.3 and not older else None
    return {**job, "name": f"{job['name']}-dpo", "loop": loop, "batch": batch, "training": training, "prepare_kbit": prepare}
