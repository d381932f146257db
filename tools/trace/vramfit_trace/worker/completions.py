"""What is drawn at random while completions are generated: the word until the job's length, which the end is part of."""
from __future__ import annotations

from typing import Any

import torch

from ..job import Job

#: The tokens of `preferences.tokenizer`: no end of text of a configuration (1 and 2 in llama) is the word.
END, PADDING, WORD = 0, 1, 3
#: Kinds whose trainer generates.
SAMPLED = ("grpo", "rloo")


def of_row(value: Any, row: int) -> Any:
    """A number for all rows, or one for each of a batch, over and over."""
    return value[row % len(value)] if isinstance(value, list) else value


class Completions:
    """Counts the tokens of a generation."""

    def __init__(self, job: Job) -> None:
        self.length = job["batch"]["completion_length"]
        self.drawn = 0

    def restart(self) -> None:
        self.drawn = 0

    def draw(self, out: torch.Tensor) -> torch.Tensor:
        """The values of the next tokens, one for each row."""
        self.drawn += 1
        ends = [self.drawn >= of_row(self.length, row) for row in range(out.shape[0])]
        return torch.tensor([END if end else WORD for end in ends], dtype=out.dtype).reshape(out.shape)
