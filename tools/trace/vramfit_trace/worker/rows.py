"""Rows of text for trl's trainers of preferences and rewards: each word is one token, nothing is random."""
from __future__ import annotations

from typing import Any

from ..job import SAMPLING, Job

#: The tokens: no end of text of a configuration (1 and 2 in llama, 3 in nemotron) is the word.
TOKENS = {"<eos>": 0, "<pad>": 1, "<unk>": 2, "w": 6}
END, WORD = TOKENS["<eos>"], TOKENS["w"]
#: Kinds whose trainer generates the completions.
SAMPLED = SAMPLING
#: Kinds that may generate besides.
GENERATING = (*SAMPLED, "gkd", "ppo")


def text(words: int) -> str:
    return " ".join(["w"] * words)


def completion(tokens: int) -> str:
    """Text that with the end, which every trainer appends, has so many tokens."""
    return " w" * (tokens - 1)


def of_row(value: Any, row: int) -> Any:
    """A number for all rows, or one for each of a batch, over and over."""
    return value[row % len(value)] if isinstance(value, list) else value


def row_of(job: Job, row: int) -> dict[str, Any]:
    """The columns that trl documents for the kind."""
    batch, kind = job["batch"], job["loop"]["kind"]
    prompt = text(of_row(batch["prompt_length"], row))
    if kind in SAMPLED:  # a reward model is given prompt and completion as one text, in which words stay apart
        return {"prompt": prompt + " " if "reward_models" in job["loop"] else prompt}
    if kind == "ppo":
        padding = [TOKENS["<pad>"]] * batch["padded"]
        return {"input_ids": padding + [WORD] * (batch["prompt_length"] - len(padding))}
    length = of_row(batch["completion_length"], row)
    if kind == "gkd":
        words = of_row(batch["prompt_length"], row)
        return {"prompt": prompt, "input_ids": [WORD] * (words + length - 1) + [END], "completion_mask": [0] * words + [1] * length}
    if kind == "prm":
        return {"prompt": prompt, "completions": [text(length)], "labels": [True]}
    if kind in ("kto", "bco"):
        return {"prompt": prompt, "completion": completion(length), "label": of_row(batch["desirable"], row)}
    rejected = of_row(batch["rejected_length"], row) if batch["rejected_length"] is not None else length
    return {"prompt": prompt, "chosen": completion(length), "rejected": completion(rejected)}


class Completions:
    """What is drawn at random while completions are generated: the word until the job's length, which the end is part of."""

    def __init__(self, job: Job) -> None:
        self.length = job["batch"]["completion_length"]
        if job["loop"]["kind"] == "gkd":  # without a length they go on to the limit, and have no end
            self.length = job["batch"]["generated_length"] or 1 << 30
        if self.length is None:  # PPO's rows end with their last token
            self.length = job["training"].get("response_length", 53)
        self.drawn = 0
        self.end = END

    def restart(self) -> None:
        """A generation begins."""
        self.drawn = 0

    def draw(self, rows: int) -> list[int]:
        """The next token of each row."""
        self.drawn += 1
        return [self.end if self.drawn >= of_row(self.length, row) else WORD for row in range(rows)]

    def whole(self, row: int) -> list[int]:
        """All tokens of a row, as an engine gives them."""
        return [WORD] * (of_row(self.length, row) - 1) + [END]
