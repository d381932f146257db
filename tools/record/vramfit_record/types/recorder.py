"""A type of networks recorded: its base configuration, each choice alone, and together those that decide about the same."""
from __future__ import annotations

import gc
import itertools
import json
import time
from typing import Any

import transformers

from . import reads
from .alternatives import Alternatives, Chosen, as_key
from .carried import evened
from .keys import Keys
from .known import (ABSENT, ALSO, ARGUMENTS, ARGUMENTS_OF, AT_PLACES, BEHIND, EACH, EQUAL_HEADS, FACTORS, FEWER, GIVEN_PARTS, IDLE, LAYERS, LEAST, LEAST_OF, LISTS, LISTS_OF_LAYERS, NO_PART, NO_PART_OF, NO_PART_OF_PARTS, OF_LAYERS, PATTERNS, PLAIN_ROPE, POWERS, POWERS_WHERE, READ_BY_OTHERS, ROPE, ROPE_BESIDE, ROPE_OF_KINDS, ROPE_OF_PARTS, ROPE_TYPE,
                    OF_DECODERS, OF_OTHERS, OWN_VALUE, REPEATED, ROPE_OF_MIXTURES, ROPE_OF_OTHERS, SAID_IN_PARTS, SAME_IN_PARTS, SIZE, SIZE_OF_EACH, TOGETHER, UNLESS, VARIED, WHEN)
from .parts import part_of
from .sharing import with_layers
from ..record import NO_CHECKPOINTING, record_network
from .trees import Tree, Trees

SCHEMA = "vramfit.network-type/1"
#: So many combinations of the choices that decide about one program are recorded at most; others are refused.
MOST_TOGETHER = 16


#: Comparisons from which nothing follows, as configurations show for which they do not hold (draw.py): torch/nn/modules/sparse.py, Embedding,
#: asserts that padding_idx is below the number of rows, in one way above 0 and in another below.
SHOWN = ("pad_token_id > 0", "pad_token_id < 0")
#: Choices that are no single key's.
APART = (LAYERS, ROPE_TYPE, EQUAL_HEADS)


class NotRecorded(Exception):
    """Why a type is not."""


class TypeRecorder:
    def __init__(self, model_type: str, say: Any = lambda text: None) -> None:
        self.keys, self.say = Keys(model_type), say
        self.documents: dict[str, tuple[Chosen, Any]] = {}
        self.refusals: list[str] = []
        self.seconds = time.time()

    def record(self, chosen: Chosen) -> Any:
        """The document of a configuration; raises where it is not recorded whole."""
        key = as_key(chosen)
        if key not in self.documents:
            self.say(as_key({k: v for k, v in chosen.items() if v != self.keys.states[k][0]}))
            self.documents[key] = chosen, self.recorded(chosen)
        return self.documents[key][1]

    def recorded(self, chosen: Chosen, optional: bool = True, with_equal: str = "") -> Any:
        configs = [self.keys.config(chosen, i, optional, with_equal) for i in range(3)]
        varied = self.keys.varied(chosen)
        places = {tuple(v[i] for v in varied.values()): i for i in range(3)}
        with reads.logged(self.keys.reads, self.keys.prefixes()):
            made = record_network(configs[0], self.keys.head, self.keys.variants, vary=varied, config_of=lambda keys: configs[places[tuple(keys[k] for k in varied)]])
        if problem := problem_of(made):
            raise NotRecorded(problem)
        made = evened(made)
        if each := SIZE_OF_EACH.get(self.keys.model_type):
            made = with_layers(made, len(chosen[LAYERS]), self.keys.names.get("num_hidden_layers", "num_hidden_layers"), each)
        kept = [row for row in made["network"].pop("conditions", []) if row[1] not in SHOWN]
        kept += [["if", f"{self.keys.names.get(name, name)} == {size}", True] for name, size in self.keys.sizes_with(chosen).items() if isinstance(size, int)]
        made["network"] |= {"conditions": kept} if kept else {}
        return made

    def tried(self, chosen: Chosen) -> bool:
        try:
            self.record(chosen)
            return True
        except Exception as error:  # noqa: BLE001  the class's own refusal of such a value
            self.refusals.append(f"{as_key({k: v for k, v in chosen.items() if v != self.keys.states[k][0]})[:120]}: {type(error).__name__}: {str(error)[:160]}")
            return False

    def one_by_one(self) -> None:
        """Each state alone. A key that nothing reads needs no recording; one whose other values are refused by the class has its own value."""
        keys, base = self.keys, self.keys.base()
        if keys.own_rope:
            keys.states[ROPE_TYPE] += [t for t in ROPE if t != "default" and (t in ROPE_OF_MIXTURES.get(keys.model_type, ("yarn",)) or not keys.is_mixture) and keys.model_type not in PLAIN_ROPE
                                       and t in ROPE_OF_PARTS.get(keys.model_type, ROPE_OF_OTHERS)]
        for name in list(keys.states):
            if name not in APART and name not in keys.pairs and name not in keys.reads | READ_BY_OTHERS.get(keys.model_type, set()) | set(keys.of_kinds.get("names", {}).values()):
                del keys.states[name]
        base = {k: v for k, v in base.items() if k in keys.states}
        self.documents = {as_key(base): (base, next(iter(self.documents.values()))[1])}
        for name, states in keys.states.items():
            needs = keys.needs.get(name, {})
            if needs:
                self.tried({**base, **needs})
            keys.states[name] = [states[0], *(s for s in states[1:] if self.tried({**base, **needs, name: s}))]

    def optional_entries(self) -> None:
        """Those of yarn's embeddings that may be left out: the recording is the same without them."""
        if "yarn" not in self.keys.states.get(ROPE_TYPE, ()):
            return
        chosen = {**self.keys.base(), ROPE_TYPE: "yarn"}
        if same_programs(self.record(chosen), self.recorded(chosen, optional=False)):
            self.keys.optional = sorted(ROPE["yarn"][1])

    def equal_row(self, name: str) -> dict[str, Any] | None:
        """Of a key that the class computes of others, or that has to be what they say; None: it is neither."""
        keys = self.keys
        made_of = keys.made_of(name)
        if not made_of or (name in keys.defaults) != (name in keys.has_to_be) or any(n not in keys.states for n in made_of):
            return None
        row = {"key": name, "equal": f"={keys.formula(name)}"}
        if name in keys.has_to_be:
            values = keys.values(keys.base(), 0)
            try:
                computed = keys.made({k: v for k, v in values.items() if k != name})[name] == values[name]
            except Exception:  # noqa: BLE001  the class's own refusal of its default beside these sizes
                computed = False
            return row if computed else {**row, "default": keys.defaults[name]}
        try:
            return row if same_programs(self.record(keys.base()), self.recorded(keys.base(), with_equal=name)) else None
        except AttributeError:  # a property of the class, which cannot be set
            return None

    def together(self) -> None:
        """Combinations of choices that decide about one program, until there are no others."""
        done: set[tuple[str, ...]] = set()
        for group in TOGETHER.get(self.keys.model_type, ()):
            self.combine(group)
        while True:
            found = self.merged()
            new = sorted(group for group in found.together if len(group) > 1 and group not in done)
            if not new:
                return
            for group in new:
                done.add(group)
                self.combine(group)

    def combine(self, group: tuple[str, ...]) -> None:
        base, states = self.keys.base(), self.keys.states
        combinations = list(itertools.product(*(states[f] for f in group)))
        if len(combinations) > MOST_TOGETHER:  # in pairs, of the first two states
            combinations = [c for c in combinations if sum(x != states[f][0] for f, x in zip(group, c)) <= 2 and all(x in states[f][:2] or f in (LAYERS, ROPE_TYPE) for f, x in zip(group, c))]
        for values in combinations:
            needs = [self.keys.needs.get(f, {}) for f, x in zip(group, values) if x != states[f][0]]
            self.tried({**base, **dict(zip(group, values)), **{k: v for one in needs for k, v in one.items()}})

    def trees(self) -> list[tuple[Chosen, Tree]]:
        return [(chosen, Trees(made, chosen[LAYERS], self.keys.towers, IDLE.get(self.keys.model_type), LISTS_OF_LAYERS.get(self.keys.model_type, ())).whole()) for chosen, made in self.documents.values()]

    def merged(self) -> Alternatives:
        found = Alternatives()
        found.root = found.merged(self.trees())
        return found

    def run(self) -> dict[str, Any]:
        keys = self.keys
        try:
            self.record(keys.base())
            gc.collect()
            gc.freeze()  # each pass collects what the one before it has left: not all that the libraries are
        except Exception as error:
            raise NotRecorded(f"{type(error).__name__}: {error}") from error
        self.one_by_one()
        self.optional_entries()
        self.together()
        found = self.merged()
        _, base = next(iter(self.documents.values()))
        return {"schema": SCHEMA, "recorded_with": base["recorded_with"], "model_type": keys.model_type, "compared": {"networks": 0, "jobs": 0}, **({"parts": keys.parts} if keys.parts else {}), **({"given_parts": GIVEN_PARTS[keys.model_type]} if keys.model_type in GIVEN_PARTS else {}),
                "keys": self.key_rows(), "choices": {name: states for name, states in keys.states.items() if name in APART or name in keys.pairs},
                "layers": keys.layer_row(), **({"rope": keys.rope_row()} if ROPE_TYPE in keys.states else {}),
                **({"rope_of_kinds": ROPE_OF_KINDS[keys.model_type]} if keys.model_type in ROPE_OF_KINDS else {}), **({"rope_beside": ROPE_BESIDE[keys.model_type]} if keys.model_type in ROPE_BESIDE else {}), **({"fewer": FEWER[keys.model_type]} if keys.model_type in FEWER else {}),
                **({"pairs": [list(pair) for pair in keys.pairs.values()]} if keys.pairs else {}),
                **({"heads": keys.names.get("num_attention_heads", "num_attention_heads")} if EQUAL_HEADS in keys.states else {}),
                **found.written(), "root": found.root}

    def key_rows(self) -> list[dict[str, Any]]:
        keys, rows = self.keys, []
        for name, states in keys.states.items():
            if name in APART or name in keys.pairs or name in keys.of_kinds.get("names", {}).values():
                continue
            row: dict[str, Any] = {"key": name, "states": sorted(states, key=lambda s: s in VARIED)}  # the first that fits: plain values go first
            if name in ALSO.get(keys.model_type, {}):
                row["also"] = ALSO[keys.model_type][name]
            if name in EACH.get(keys.model_type, ()):
                row["each"] = True
            if name in WHEN.get(keys.model_type, {}):
                row["when"] = WHEN[keys.model_type][name]
            may, default, null = keys.absent(name)
            if may:
                row["default"] = ABSENT.get(keys.model_type, {}).get(name, default)
            if other := BEHIND.get(keys.model_type, {}).get(name):
                rows.append({"key": other, "states": states, "default": row["default"]})
                row["default"] = f"={other}"
            if null:
                row["null"] = True
            least = {**LEAST, **LEAST_OF.get(keys.model_type, {})}
            if keys.standard(name) in least:
                row["least"] = least[keys.standard(name)]
            if keys.standard(name) in POWERS.get(keys.model_type, {}):
                row["power"] = 2
                row |= {"where": POWERS_WHERE[keys.model_type]} if keys.model_type in POWERS_WHERE else {}
            rows.append(row)
        if "use_cache" in keys.defaults:  # of the plan, which asks the configuration where it says nothing
            rows.append({"key": "use_cache", "states": [True, False], "default": keys.defaults["use_cache"]})
        rows += [{"key": name, "states": [SIZE], "default": keys.defaults[name]} for name in keys.towers.values()]
        rows += [{"key": name, "states": [value]} for name, value in SAID_IN_PARTS.get(keys.model_type, {}).items()]
        rows += [{"key": name, "states": states, "default": states[0]} for name, states in SAME_IN_PARTS.get(keys.model_type, {}).items()]
        rows.sort(key=lambda row: "when" in row)  # those that another key switches off come behind it
        rows.sort(key=lambda row: str(row.get("default", "")).startswith("="))  # those that follow from others come behind them
        rows += [{"key": name, "fixed": value} for name, value in {**ARGUMENTS, **ARGUMENTS_OF.get(keys.model_type, {})}.items() if keys.takes(name) and name not in keys.defaults]
        rows += [{"key": name, "fixed": keys.defaults[name], "unless": keys.list} for name in sorted(PATTERNS & set(keys.defaults)) if keys.list]
        rows += [{"key": name, "fixed": keys.defaults[name], "unless": other} for name, other in UNLESS.get(keys.model_type, {}).items()]
        rows += [{"key": name, "fixed": value} for name, value in OWN_VALUE.get(keys.model_type, {}).items()]
        rows += [{"key": name, "factors": count} for name, count in FACTORS.get(keys.model_type, {}).items()]
        rows += [{"key": "model_type", "fixed": keys.text_type}] if keys.text_type else []
        rows += [{"key": alias, "absent": True} for alias, name in keys.names.items()
                 if alias != name and alias not in (*OF_DECODERS.get(keys.model_type, ()), *ALSO.get(keys.model_type, {}).values(), *BEHIND.get(keys.model_type, {}).values()) and (name in keys.states or name in keys.reads or keys.model_type != "inkling_text")]
        known = {r["key"] for r in rows} | NO_PART | NO_PART_OF.get(keys.model_type, set()) | {"rope_parameters", "rope_theta", "rope_scaling", "partial_rotary_factor", keys.list, keys.count, *keys.second.values(), keys.shared.get("key"), keys.shared.get("sparsity", {}).get("key"), keys.of_kinds.get("key"), keys.step.get("key"), keys.step.get("offset"), keys.names.get("num_hidden_layers", "num_hidden_layers"), AT_PLACES.get(keys.model_type, {}).get("key")} | {row["key"] for row in REPEATED.get(keys.model_type, ())}
        for name in sorted(keys.reads - known):
            own = name[len(part_of(keys.parts, name)[1]):] if keys.parts else name  # as the part calls it
            if own.startswith("_") or callable(getattr(keys.text, own, None)) or (own != name and own in NO_PART_OF_PARTS):
                continue
            if name in OF_LAYERS:
                rows.append({"key": name, "equal": OF_LAYERS[name].format(layers=keys.names.get("num_hidden_layers", "num_hidden_layers"))})
                continue
            if name in OF_OTHERS.get(keys.model_type, {}):
                rows.append({"key": name, "equal": OF_OTHERS[keys.model_type][name]})
                continue
            if name == "per_layer_config":  # what layers have of their own, in the way that newer releases save it
                rows.append({"key": name, "absent": True})
                continue
            if name == "gradient_checkpointing":  # _backward_compatibility_gradient_checkpointing: false is as good as absent
                rows.append({"key": name, "fixed": False})
                continue
            if name in LISTS:
                rows.append({"key": name, "absent": True})
                continue
            if equal := self.equal_row(name):
                rows.append(equal)
                continue
            rows.append({"key": name, "fixed": plain(keys.defaults[name])} if name in keys.defaults else {"key": name, "absent": True})
        return rows


def plain(x: Any) -> Any:
    if isinstance(x, transformers.PreTrainedConfig):  # a part: what its class has beside what all have
        x = {k: v for k, v in x.to_dict().items() if k in type(x).__annotations__}
    return json.loads(json.dumps(x, default=str))


def same_programs(a: Any, b: Any) -> bool:
    return all(a[key] == b[key] for key in ("modules", "programs", "variants", "ties"))


def problem_of(made: dict[str, Any]) -> str:
    """Why it is not recorded whole. A class without gradient checkpointing has no such variants."""
    for row in made["refused"]:
        if row["reason"] != NO_CHECKPOINTING:
            return row["reason"]
    for row in made["variants"]:
        if "only" in row or "not_fitted" in row:
            return row.get("because") or row["not_fitted"][0]
    return ""
