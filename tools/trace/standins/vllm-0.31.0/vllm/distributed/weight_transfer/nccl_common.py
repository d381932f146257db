"""What trl's client of a server imports: a server is not traced."""
from typing import Any, NoReturn


def trainer_init(_: Any) -> NoReturn:
    raise NotImplementedError("not in the stand-in for vllm: a server")
