"""What trl imports for completions of a given structure."""
from typing import Any, NoReturn


def StructuredOutputsParams(*_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError("not in the stand-in for vllm: structured outputs")
