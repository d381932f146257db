"""Which keys of a configuration the library's code reads, while a network is built and while it runs."""
from __future__ import annotations

import contextlib
import sys
from typing import Any, Iterator

from ..device import replaced

#: The configuration's own methods read all keys: they say nothing about the network.
_OWN = ("configuration_utils.py", "dataclasses.py", "copy.py", "modeling_rope_utils.py:standardize")


@contextlib.contextmanager
def logged(into: set[str], prefixes: dict[type, str] | None = None) -> Iterator[None]:
    """Names of attributes that are asked for, there or not; those of a part of the configuration with what stands before them."""
    import transformers

    cls = getattr(transformers, "PreTrainedConfig", None) or transformers.PretrainedConfig
    plain = cls.__getattribute__

    def asked(self: Any, name: str) -> Any:
        if not name.startswith("__") and not sys._getframe(1).f_code.co_filename.endswith(_OWN):
            into.add((prefixes or {}).get(type(self), "") + object.__getattribute__(self, "attribute_map").get(name, name))
        return plain(self, name)

    with replaced([(cls, "__getattribute__", asked)]):
        yield
