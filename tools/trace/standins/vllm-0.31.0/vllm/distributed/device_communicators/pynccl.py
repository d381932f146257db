"""What the client of a server of trl 1.9 imports: a server is not traced."""
from typing import Any, NoReturn


def PyNcclCommunicator(*_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError("not in the stand-in for vllm: a server")
