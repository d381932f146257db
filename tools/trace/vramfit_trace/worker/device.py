"""The runtime without a device, as the worker talks to it; on a real device there is nobody to talk to."""
from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

#: Set by the command to the runtime's file; absent on a real device.
VARIABLE = "VRAMFIT_TRACE_RUNTIME"


class Device:
    """What the runtime can be told and asked."""

    def __init__(self) -> None:
        path = os.environ.get(VARIABLE)
        self.library = ctypes.CDLL(path) if path else None
        self.count: int | None = None
        if self.library:
            for name in ("vramfit_managed", "vramfit_managed_peak"):
                getattr(self.library, name).restype = ctypes.c_ulonglong

    @property
    def real(self) -> bool:
        return self.library is None

    def tell_byte(self, value: int) -> None:
        """What all() and any() of a tensor answer from now on."""
        if self.library:
            self.library.vramfit_tell_byte(value)

    def tell_count(self, value: int | None) -> None:
        """How many elements nonzero() finds from now on; None: none."""
        self.count = value
        if self.library:
            self.library.vramfit_tell_count(-1 if value is None else value)

    @contextlib.contextmanager
    def answering(self, value: int) -> Iterator[None]:
        """tell_byte for a while, in place of no."""
        self.tell_byte(value)
        try:
            yield
        finally:
            self.tell_byte(0)

    @contextlib.contextmanager
    def counting(self, value: int) -> Iterator[None]:
        """tell_count for a while, then what was told before."""
        before = self.count
        self.tell_count(value)
        try:
            yield
        finally:
            self.tell_count(before)

    @contextlib.contextmanager
    def contents(self) -> Iterator[None]:
        """Small copies and collectives carry contents, as if every rank sent what this one sends."""
        if self.library:
            self.library.vramfit_tell_contents(1)
        try:
            yield
        finally:
            if self.library:
                self.library.vramfit_tell_contents(0)

    def managed(self) -> int:
        """Bytes of managed memory now."""
        return int(self.library.vramfit_managed()) if self.library else 0

    def managed_peak(self, restart: bool = False) -> int:
        """The most since the last restart."""
        return int(self.library.vramfit_managed_peak(int(restart))) if self.library else 0
