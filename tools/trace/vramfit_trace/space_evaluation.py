"""Jobs that are evaluated as well: draws how, from a generator of its own, so that the jobs stay those of a walk without."""
from __future__ import annotations

import random

from .job import Job

ROWS = (1, 1, 2, 3, 4, 8)
LENGTHS = (None, None, None, 64, 200)


def evaluated(job: Job, walker: random.Random, strategy: str) -> Job:
    """The job with evaluations between its steps, before them or both. `strategy` is the argument's name in this stack."""
    training = {**job["training"], "per_device_eval_batch_size": walker.choice(ROWS)}
    on_start = walker.random() < 0.25
    if on_start and strategy == "eval_strategy":
        training["eval_on_start"] = True
    if walker.random() < 0.9 or not on_start:
        training[strategy] = "steps"
        training["eval_steps"] = walker.choice((1, 1, 2))
    if walker.random() < 0.2:
        training["eval_accumulation_steps"] = walker.choice((1, 2))
    batches = {"batches": walker.choice((1, 2, 2, 3)), "sequence_length": walker.choice(LENGTHS)}
    kind = {"kind": "trainer"} if job["loop"]["kind"] == "plain" else job["loop"]
    return {**job, "name": job["name"] + "-evaluated", "training": training, "evaluation": batches, "loop": kind}
