"""What trl's client of a server imports: packs the weights into buffers of the trainer's, which is not traced."""
from typing import Any, NoReturn


def packed_nccl_broadcast_producer(*_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError("not in the stand-in for vllm: a server")
