"""Whether the networks that a type's recording gives are those that the library makes: configurations by chance, each recorded as it is."""
from __future__ import annotations

import json
import random
from typing import Any, Iterator

from .carried import evened
from .draw import drawn
from .instantiate import NotKnown, instantiate
from .keys import Keys
from .normal import difference, normal
from ..record import record_network


def proofs(type_: dict[str, Any], count: int, seed: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    """Each configuration, and where the two networks differ; what the recording or the class refuses is drawn again."""
    keys, chance = Keys(type_["model_type"]), random.Random(f"{type_['model_type']} {seed}")
    done = tries = 0
    while done < count and tries < 60 * count:
        tries += 1
        config = drawn(type_, keys, chance, done)
        try:
            made = instantiate(type_, config)
        except NotKnown:
            continue
        values = {k: v for k, v in json.loads(json.dumps(config)).items() if k != "model_type"}
        try:
            recorded = record_network(keys.cls(**values), keys.head, keys.variants)
        except Exception as error:  # noqa: BLE001  the class refuses it, and so would from_pretrained
            yield config, f"refused by the class: {type(error).__name__}: {str(error)[:150]}"
            continue
        if not recorded["variants"]:  # no pass runs
            yield config, f"refused by the class: {recorded['refused'][0]['reason']}"
            continue
        done += 1
        yield config, difference(normal(made), normal(evened(recorded)))
