"""Sets in one order: Gemma3TextModel goes through a set of words, whose order follows from the seed of Python's hashes."""
from __future__ import annotations

import os
import sys


def run_with_fixed_seed() -> None:
    """Starts the interpreter anew with PYTHONHASHSEED=0 unless it has it; the tracer sets the same."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
