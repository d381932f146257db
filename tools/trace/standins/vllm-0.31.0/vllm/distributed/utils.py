"""The group of a trainer and the workers of a server: only the trainer is there, so nothing is waited for."""
from __future__ import annotations

from typing import Any


class StatelessProcessGroup:
    """vllm distributed/utils.py StatelessProcessGroup."""

    store: Any = None
    socket: Any = None

    @staticmethod
    def create(**_: Any) -> StatelessProcessGroup:
        return StatelessProcessGroup()

    def barrier(self) -> None:
        pass
