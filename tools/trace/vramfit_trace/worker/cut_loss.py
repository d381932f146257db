"""axolotl's cut cross entropy, whose package axolotl's plugin puts in before a model is loaded."""
from __future__ import annotations

import os
import tempfile
from typing import Any

from ..job import Job
from .device import Device


def put_in(job: Job, device: Device) -> None:
    """The loss asks the device by nonzero() which labels are scored: all but the first of each row."""
    if not job["training"].get("cut_cross_entropy"):
        return
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(dir=".")  # kernels are tried out as they are the first time
    from cut_cross_entropy import cce
    from cut_cross_entropy.transformers import cce_patch

    cce_patch(job["model"]["model_type"])
    original = cce._build_flat_valids

    def build(targets: Any, ignore_index: int, shift: int) -> Any:
        with device.counting(targets.shape[0] * (targets.shape[1] - 1)):
            return original(targets, ignore_index, shift)

    cce._build_flat_valids = build
