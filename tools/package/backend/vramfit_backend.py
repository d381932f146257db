"""scikit-build-core, except where pre-commit installs its hook: there the released wheel is taken, and nothing is compiled.

pre-commit runs `pip install .` in its clone of this repository. A machine that only checks config files has no compiler, and
should not spend minutes with one. If there is no wheel of this version for the machine, the program is compiled as always.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core import build as scikit
from scikit_build_core.build import (  # noqa: F401
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
)


# Metadata comes from the wheel itself: scikit-build-core's hook for it wants CMake.


def _for_pre_commit() -> bool:
    """pre-commit says so while hooks run; its clones lie beside its data base (store.py of pre-commit 4)."""
    return bool(os.environ.get("PRE_COMMIT")) or (Path.cwd().parent / "db.db").is_file()


def _released_wheel(folder: str) -> str | None:
    found = re.search(r"^project\(vramfit VERSION ([0-9.]+)", Path("CMakeLists.txt").read_text(), re.MULTILINE)
    if not found:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--only-binary", "vramfit", "--dest", scratch, f"vramfit=={found[1]}"], check=False)
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or not wheels:
            return None
        (Path(folder) / wheels[0].name).write_bytes(wheels[0].read_bytes())
        return wheels[0].name


def get_requires_for_build_wheel(config_settings=None):
    return ["pip"] if _for_pre_commit() else scikit.get_requires_for_build_wheel(config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wheel = _released_wheel(wheel_directory) if _for_pre_commit() else None
    return wheel or scikit.build_wheel(wheel_directory, config_settings, metadata_directory)
