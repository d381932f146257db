"""What trl's client of a server imports: a server is not traced."""
from typing import NoReturn


def get_ip() -> NoReturn:
    raise NotImplementedError("not in the stand-in for vllm: a server")
