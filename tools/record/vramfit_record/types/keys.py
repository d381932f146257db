"""The keys of a type's configuration: which sizes are varied, which values are choices, what an absent key means.

A key has states: plain values, SIZE (three numbers of which formulas are made) and REAL (three numbers that only are not zero).
"""
from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field, replace
from typing import Any

import transformers

from .alternatives import Chosen
from .known import (SIZE, REAL, VARIED, EXPERTS, SIZES, SIZES_OF, SIZES_WITH, POWERS, POWERS_WHERE, IDLE, DELTA_RULES, PLAIN, EACH, OLDER, KINDS, AT_PLACES, ROPE_OWN, PAIRS, EQUAL_IN_BASE, REALS, ACTIVATIONS, NO_PART,
                    OF_ALL, NEEDS, ROPE, LAYERS, ROPE_TYPE, GEMMAS_4_UNIFIED, EQUAL_HEADS, EQUAL, SAID, PARTIAL, HAS_TO_BE, LISTS, LIST_OF, COUNTS, SECOND, SIZES_OF_KINDS, DENSE, SPARSE, OR_NULL, LEFT, BESIDE, BESIDE_PARTS, PARTS, SAID_IN_PARTS, SHARED, STEPS, ROPE_OF_KINDS, FEWER, REPEATED, LAYER_STATES, ENDS, LEGACY, LETTERS, OWN_HEADS, OF_TEXT, TWICE, BY_PLACES, TOWERS, TEXT_BESIDE_PARTS, OF_DECODERS, BY_CAUSAL_LM)
from .kinds import at_ends, sizes_listed
from .parts import flattened, nested, part_of
from .sharing import REUSE, SPARSE_STATES, STATES, STATES_WHERE_SHARED
from ..merge import places_of
from ..networks import WHOLE, class_of
from ..sizes import Fit, Number
from ..variants import POINTS, TRAINER


@dataclass
class Keys:
    """Everything about the keys of one type. `states`: of each choice, its values; the first is that of the base configuration."""
    model_type: str
    states: dict[str, list[Any]] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    optional: list[str] = field(default_factory=list)  # entries of yarn's embeddings that were shown to change nothing

    def __post_init__(self) -> None:
        classes = transformers.models.auto.configuration_auto.CONFIG_MAPPING
        whole, self.text_type = OF_TEXT.get(self.model_type, (self.model_type, ""))
        self.cls = classes[whole]
        self.parts, self.towers = PARTS.get(self.model_type, {}), TOWERS.get(self.model_type, {})
        self.head = WHOLE if self.parts and self.model_type not in (*TEXT_BESIDE_PARTS, *BY_CAUSAL_LM) else "causal_lm"
        network = class_of(self.cls, self.head)
        counts = getattr(network, "accepts_loss_kwargs", True)  # trainer.py, Trainer.__init__: whether the network is given the number of labels
        self.variants = TRAINER if counts else tuple(replace(v, items=False) for v in TRAINER)
        self.text = classes[self.text_type] if self.text_type else self.cls.sub_configs["text_config"] if self.head == WHOLE else self.cls
        self.names = {**self.text.attribute_map, **OF_DECODERS.get(self.model_type, {})}
        self.defaults = self.made({})
        self.beside = BESIDE.get(self.model_type, {})
        self.defaults |= self.beside
        self.shared = SHARED.get(self.model_type, {})
        self.needs = NEEDS.get(self.model_type, {})
        if hasattr(self.text, "kv_sharing_modes"):
            self.shared = {**self.shared, "where_shared": True}
            self.needs = {"hidden_size_per_layer_input": {LAYERS: STATES_WHERE_SHARED[1]}}  # 5.23.0 modeling_gemma4.py _maybe_slice_kv_shared_inputs stops where there are none
        self.step = STEPS.get(self.model_type, {})
        self.second = SECOND.get(self.model_type, {})
        self.of_kinds = SIZES_OF_KINDS.get(self.model_type, {})
        self.count = "" if self.second else next((name for name in COUNTS if name in self.defaults), "")
        self.list = LIST_OF.get(self.model_type) or ("layer_types" if self.second or self.shared or self.model_type in BY_PLACES else "" if self.count else next((name for name in LISTS if isinstance(self.defaults.get(name), list)), ""))
        self.has_to_be = {k: v for k, v in HAS_TO_BE.get(self.model_type, {}).items() if k in self.defaults}
        self.is_mixture = bool(EXPERTS & set(self.defaults))
        self.is_simple = self.is_mixture or model_is_long(self.model_type) or bool(self.parts)
        for name in [*self.defaults, *(self.names.get(n, n) for n in SIZES)]:
            if name in self.defaults and name not in self.has_to_be and (states := self.states_of(name, self.defaults[name])):
                self.states[name] = states
        self.said = SAID.get(self.model_type, ())
        self.states |= {name: [SIZE] for name in (*self.said, *self.of_kinds.get("names", {}).values())}
        self.states[LAYERS] = self.layer_states()
        self.own_rope = "rope_parameters" in self.defaults and self.model_type not in ROPE_OF_KINDS
        if self.own_rope:
            self.states[ROPE_TYPE] = [None]
        if "num_key_value_heads" in self.states and self.model_type not in OWN_HEADS and not any("num_key_value_heads" in pair for pair in FEWER.get(self.model_type, ())):
            self.states[EQUAL_HEADS] = [False, True]
        self.pairs = {f"{a} == {b}": (a, b) for a, b in PAIRS if a in self.states and b in self.states}
        self.states |= {name: [name in EQUAL_IN_BASE, name not in EQUAL_IN_BASE] for name in self.pairs}

    def made(self, values: dict[str, Any]) -> dict[str, Any]:
        """The configuration that the class makes of these, as plain values."""
        config = self.made_whole(values)
        if self.parts:
            return flattened(self.parts, {k: self.plain_of(getattr(config, k) if k else config) for k in self.parts if k} | {k: v for k, v in self.plain_of(config).items() if k not in self.parts})
        return self.plain_of(config)

    def made_whole(self, values: dict[str, Any]) -> Any:
        return self.cls(**(self.nested(values) if self.parts else values))

    def nested(self, values: dict[str, Any]) -> dict[str, Any]:
        """In its parts, of which that of text says its type where there are several."""
        made = nested(self.parts, values)
        return {**made, "text_config": {"model_type": self.text_type, **made["text_config"]}} if self.text_type else made

    @staticmethod
    def plain_of(config: Any) -> dict[str, Any]:
        config.allow_global_per_layer_attribute_access = True  # of what layers have of their own, what the others have
        return {k: getattr(config, k) for k in config.to_dict() if not k.startswith("_") and k != "allow_global_per_layer_attribute_access" and hasattr(config, k)}

    def prefixes(self) -> dict[type, str]:
        """What stands before the keys of a part, by its class."""
        whole = self.made_whole({})
        return {type(getattr(whole, part)) if part else self.cls: prefix for part, prefix in self.parts.items()}

    def takes(self, argument: str) -> bool:
        """Whether the class makes its list of kinds of layers of this argument."""
        return argument in inspect.getsource(self.text)

    def standard(self, name: str) -> str:
        """What most classes call the key: xlnet's `n_token` is another name of its vocab_size."""
        return next((k for k, v in self.names.items() if v == name and (k in SIZES or name not in SIZES)), name)

    def states_of(self, name: str, default: Any) -> list[Any] | None:
        """Of a key that is not treated apart; None: it has its default."""
        if name in PLAIN.get(self.model_type, {}):
            return PLAIN[self.model_type][name]
        before, older = OLDER.get(self.model_type, ((0, 0), {}))
        if name in older and tuple(map(int, transformers.__version__.split(".")[:2])) < before:
            return older[name]
        if name == "num_key_value_heads" and "multi_query" in self.defaults:
            return None  # computed of it
        if self.standard(name) == "pad_token_id":
            return [None, SIZE] if default is None else [SIZE, None]
        if name == "n_group":
            return [SIZE, 1]  # a single group is a view
        if self.parts and part_of(self.parts, name)[1] and name not in (*SIZES, *BESIDE_PARTS):
            return None  # of what no batch of text runs
        if self.standard(name) in SIZES:
            null = name in OR_NULL or (name in ("sliding_window", "intermediate_size") and default is None)
            first = default is not None or name == "sliding_window"  # with a window there are variants that other choices decide about too
            return [SIZE] if not null else [SIZE, None] if first else [None, SIZE]
        if name in NO_PART | OF_ALL | LEFT or "rope" in name or "rotary" in name or self.standard(name) in ("num_hidden_layers", *LISTS, *COUNTS, *self.second.values(), self.shared.get("key"), self.step.get("key"), self.step.get("offset")):
            return None
        if isinstance(default, bool):
            return [default, not default]
        if "drop" in name and self.is_simple:
            return None
        if isinstance(default, float):
            return [0.0, REAL] if default == 0 or "drop" in name else [1.0, REAL] if default == 1 else [REAL]  # code may skip a factor of 1
        if isinstance(default, str) and default in transformers.activations.ACT2FN:
            if self.is_simple:
                return None  # all that there are have the class's own
            return [default, *(a for a in ACTIVATIONS if a != default)]
        if default is None and any(part in name for part in ("softcapping", "clip", "_multiplier")):
            return [None, REAL]
        return None

    def layer_states(self) -> list[Any]:
        """Lists of kinds of layers: all kinds in the middle, each at both ends; one kind alone; one layer."""
        if "sparsity" in self.shared:
            return SPARSE_STATES
        if self.shared:
            states = STATES_WHERE_SHARED if "where_shared" in self.shared else STATES
            return states[1:] if self.parts or self.model_type in GEMMAS_4_UNIFIED else states  # none of those that are recorded whole takes the keys and values of others
        if self.model_type in LAYER_STATES:
            return LAYER_STATES[self.model_type]
        if self.model_type in ENDS:
            return [at_ends(ENDS[self.model_type], [""] * count) for count in (4, 1)]
        if self.count:
            first, then = COUNTS[self.count]
            return [[first, first, then, then], [then] * 4]
        if model_is_long(self.model_type):  # as the class has them by default
            return [["linear_attention", "full_attention", "linear_attention", "full_attention"]]
        if not self.list:
            return [["", "", "", ""], *([[""]] if not self.is_mixture else [])]
        kinds = sorted({*(self.defaults[self.list] or ()), *KINDS.get(self.model_type, ()), *(("full_attention",) if self.list == "layer_types" else ())})
        if self.second:
            return self.states_in_two_ways(kinds)
        mixed = [[a, *kinds, b] for a in kinds for b in kinds] if len(kinds) > 1 else []
        return [*mixed, *([k] * 4 for k in kinds), *([k] for k in kinds)]

    def states_in_two_ways(self, kinds: list[str]) -> list[Any]:
        """As models are published: dense layers at the beginning, if any; the first layer's attention is not the full one; or all are sparse and full. The first has all kinds, so that each choice is recorded of each kind."""
        first = next(kind for kind in kinds if kind != "full_attention")
        if "step" in self.second:  # dense ones between the others, or none; the last layer's attention is the full one
            sparse, last = [f"{SPARSE}+{kind}" for kind in kinds], f"{SPARSE}+full_attention"
            return [[f"{DENSE}+{first}", f"{DENSE}+{first}", *sparse, last], [f"{SPARSE}+{first}", *sparse, last]]
        sparse = [f"{SPARSE}+{kind}" for kind in kinds]
        begins = [[f"{DENSE}+{kind}" for kind in kinds], [f"{DENSE}+{first}"], []]
        mixed = [[f"{DENSE if begin else SPARSE}+{first}", *begin, *sparse, last] for begin in begins for last in sparse]
        return [*mixed, [f"{SPARSE}+full_attention"] * 4]

    def base(self) -> Chosen:
        return {name: states[0] for name, states in self.states.items()}

    def layer_row(self) -> dict[str, Any]:
        """How many layers there are, and where nothing is said, of which kinds."""
        key = self.names.get("num_hidden_layers", "num_hidden_layers")
        row: dict[str, Any] = {"key": key, **({"default": self.defaults[key]} if key in self.defaults else {})}
        for name in LISTS:  # a list that is not asked for: as long as all of it is of one kind
            if name not in (self.list, *self.second.values()) and not (self.count and name == "mlp_layer_types") and isinstance(self.defaults.get(name), list):
                kinds = self.made({**{k: v for k, v in self.values(self.base(), 0).items() if k not in (self.list, *self.second.values())}, key: 512})[name]
                if len(set(kinds)) > 1:
                    row["most"] = next(i for i, kind in enumerate(kinds) if kind != kinds[0])
        if self.count:
            row |= {"ends": ENDS[self.model_type]} if self.model_type in ENDS else {}
            return {**row, "kinds": list(COUNTS[self.count]), "count": {"key": self.count, "default": self.defaults[self.count]}}
        if self.step:
            offset = {"key": self.step["offset"], "default": self.defaults[self.step["offset"]]}
            return {**row, "kinds": self.step["kinds"], "step": {"key": self.step["key"], "default": self.defaults[self.step["key"]], "offset": offset}}
        if self.list:
            row |= {"kinds": sorted({kind.split("+")[-1] for state in self.states[LAYERS] for kind in state}), **({"list": self.list} if self.list != "layer_types" else {})}
            row |= {"shared": self.shared} if self.shared else {}
            kinds = self.kinds_by_default(key, 49)[:48]
            row |= {"names": LEGACY[self.model_type]} if self.model_type in LEGACY else {}
            row |= {"places": AT_PLACES[self.model_type]} if self.model_type in AT_PLACES else {}
            row |= {"idle": IDLE[self.model_type]} if self.model_type in IDLE else {}
            row |= {"letters": LETTERS[self.model_type]} if self.model_type in LETTERS else {}
            found = kinds and next(((b, n) for b in range(4) for n in range(1, 13) if all(kinds[i] == kinds[b + (i - b) % n] for i in range(b, 48))), None)
            if found:
                begin, period = found
                row |= {**({"begin": kinds[:begin]} if begin else {}), "pattern": kinds[begin:begin + period]}
                lasts = {count: self.kinds_by_default(key, count)[-1] for count in range(36, 48)}  # which the class may make what others are not
                if any(kind != kinds[count - 1] for count, kind in lasts.items()):
                    row["last"], = set(lasts.values())
        if self.second:
            row["second"] = self.second_row(key)
        row |= {"sizes": self.of_kinds} if self.of_kinds else {}
        row |= {"ends": ENDS[self.model_type]} if self.model_type in ENDS else {}
        return {**row, "repeated": REPEATED[self.model_type]} if self.model_type in REPEATED else row

    def second_row(self, key: str) -> dict[str, Any]:
        """Which layers are dense: by a list, for so many at the beginning, or where nothing is said none."""
        row: dict[str, Any] = {"kinds": [DENSE, SPARSE]}
        if "list" in self.second:
            row["list"] = self.second["list"]
        if "places" in self.second:
            key = self.second["places"]
            places = self.made({k: v for k, v in self.values(self.base(), 0).items() if k != key})[key]
            begin = [DENSE] * len(places)
            assert places == list(range(len(places)))
            return {**row, "list": key, "places": {"key": key, "kind": DENSE, "other": SPARSE}, "begin": begin, "pattern": [SPARSE]}
        if "step" in self.second:
            return {**row, "step": {"key": self.second["step"], "default": self.defaults[self.second["step"]]}}
        if "count" in self.second:
            return {**row, "count": {"key": self.second["count"], "default": self.defaults[self.second["count"]]}}
        values = {k: v for k, v in self.values(self.base(), 0).items() if k not in (self.second["list"], self.of_kinds.get("key"))}
        kinds = self.made({**values, key: 48, self.list: [self.states[LAYERS][-1][-1].split("+")[-1]] * 48})[self.second["list"]]
        begin = kinds[:kinds.index(SPARSE)]
        assert set(kinds[len(begin):]) == {SPARSE}
        return {**row, **({"begin": begin} if begin else {}), "pattern": [SPARSE]}

    def kinds_by_default(self, key: str, count: int) -> list[str]:
        """Of so many layers; none where a class has a default for one number of layers only."""
        try:
            values = {**self.values(self.base(), 0), **types_of(self.list, None), key: count, self.list: None, **({self.of_kinds["key"]: None} if self.of_kinds else {}), **({self.shared["sparsity"]["key"]: None} if "sparsity" in self.shared else {})}
            kinds = self.made({**values, **{name: None for by, name in self.second.items() if by in ("list", "places")}, **{row["key"]: None for row in REPEATED.get(self.model_type, ())}})[self.list]
            return kinds if len(kinds) == count else []
        except Exception:  # noqa: BLE001  the class's own refusal
            return []

    def rope_row(self) -> dict[str, Any]:
        """Entries of rope_scaling by type; whether rope_parameters means the same, and the type default what is not said; the part of each head that is turned, where that is said."""
        base = self.base()
        plain = {"rope_type": "default"}
        same = True
        for state in self.states[ROPE_TYPE]:
            values = self.values({**base, ROPE_TYPE: state}, 0)
            scaling = values.pop("rope_scaling", plain)
            same = same and self.rope_of({**values, "rope_scaling": scaling}) == self.rope_of({**values, "rope_parameters": scaling})
        types = {state or "default": {"needs": sorted(ROPE[state or "default"][0]), "may": sorted(self.optional if state == "yarn" else []), "makes": self.rope_types(state)}
                 for state in self.states[ROPE_TYPE]}
        values = self.values(base, 0)
        row: dict[str, Any] = {"types": types, "parameters": same, "explicit": self.rope_of(values) == self.rope_of({**values, "rope_scaling": plain})}
        partial = (self.defaults["rope_parameters"] or {}).get("partial_rotary_factor", PARTIAL.get(self.model_type))
        row |= {"own": ROPE_OWN[self.model_type]} if self.model_type in ROPE_OWN else {}
        return {**row, "partial": partial} if partial is not None else row

    def rope_types(self, state: Any) -> dict[str, Any]:
        """The type of embeddings that the class makes of it, perhaps for each kind of layer."""
        found = self.rope_of(self.values({**self.base(), ROPE_TYPE: state}, 0))
        if "rope_type" in found:
            return {"rope_type": found["rope_type"]}
        return {kind: {"rope_type": entries["rope_type"]} for kind, entries in found.items() if isinstance(entries, dict)}

    def rope_of(self, values: dict[str, Any]) -> Any:
        """What the class makes of them; of each such values something else where it refuses them."""
        try:
            return self.made(json.loads(json.dumps(values)))["rope_parameters"]
        except Exception:  # noqa: BLE001  the class's own refusal
            return object()

    def sizes_with(self, chosen: Chosen) -> dict[str, Any]:
        """Sizes that go with a state that is chosen; a plain number is the same at all points."""
        name, state, sizes = SIZES_WITH.get(self.model_type, ("", None, {}))
        if name not in chosen or chosen[name] != state:
            return {}
        if chosen.get(EQUAL_HEADS) and "num_key_value_heads" in sizes:
            raise ValueError(f"{name} goes with {sizes['num_key_value_heads']} pairs of keys and values")
        return sizes

    def sizes(self, name: str, chosen: Chosen) -> tuple[int, ...] | None:
        """The three of a key that is varied."""
        if found := self.sizes_with(chosen).get(self.standard(name)):
            return (found,) * len(POINTS) if isinstance(found, int) else found
        powers = chosen.get(POWERS_WHERE.get(self.model_type, ""), True)
        return {**SIZES, **SIZES_OF.get(self.model_type, {}), **(POWERS.get(self.model_type, {}) if powers else {})}.get(self.standard(name))

    def varied(self, chosen: Chosen) -> dict[str, tuple[int, ...]]:
        """The keys that formulas are made of."""
        plain = [name for name, size in self.sizes_with(chosen).items() if isinstance(size, int)]
        found = {name: sizes for name in self.states if chosen.get(name) == SIZE and self.standard(name) not in plain and (sizes := self.sizes(name, chosen))}
        if chosen.get(EQUAL_HEADS):
            del found["num_key_value_heads"]
        for name, (more, _) in self.pairs.items():
            if chosen.get(name):
                del found[more]
        if chosen.get("n_group") == 1:
            found.pop("topk_group", None)
        return found

    def values(self, chosen: Chosen, i: int, optional: bool = True) -> dict[str, Any]:
        """What config.json says at point `i`; without what may be there, if asked so."""
        values: dict[str, Any] = {}
        if self.own_rope:
            values["rope_theta"] = 10000.0 * (i + 1)
        for name, state in chosen.items():
            if name == LAYERS:
                values[self.names.get("num_hidden_layers", "num_hidden_layers")] = len(state)
                if self.count:
                    values[self.count] = sum(kind.split("+")[-1] == COUNTS[self.count][0] for kind in state)
                if self.step:
                    places = [i for i, kind in enumerate(state) if kind == self.step["kinds"][1]]
                    values |= {self.step["offset"]: places[0], self.step["key"]: places[1] - places[0] if len(places) > 1 else len(state)}
                if self.second:
                    values |= self.in_two_ways(state)
                elif self.model_type in BY_PLACES:
                    values |= places_in(self.model_type, state)
                elif self.list:
                    values[self.list] = [kind.split("+")[-1] for kind in state]
                    values |= {self.shared["key"]: sum(kind.startswith(REUSE) for kind in state)} if self.shared else {}
                    values |= {self.shared["sparsity"]["key"]: [REALS[i] * kind.startswith(SPARSE) for kind in state]} if "sparsity" in self.shared else {}
                    values |= types_of(self.list, state)
            elif name == ROPE_TYPE:
                if state is not None:
                    values["rope_scaling"] = {"rope_type": state, **{k: v[i] for part in ROPE[state][:2 if optional else 1] for k, v in part.items()}}
            elif name != EQUAL_HEADS and name not in self.pairs:
                sizes = self.sizes(name, chosen)
                values[name] = state if state not in VARIED else Number(sizes[i]) if sizes else REALS[i]
        values |= sizes_listed(self.of_kinds, values, chosen[LAYERS])
        kinds = ROPE_OF_KINDS.get(self.model_type, {})
        if any("none" in row for row in kinds.values()):  # the class has no default
            values["rope_parameters"] = {kind: None if "none" in row else {"rope_type": row["type"], "rope_theta": 10000.0 * (i + 1), **row["own"]} for kind, row in kinds.items()}
        values |= {**dict.fromkeys(self.towers.values(), 2), **{name: 10000.0 * (i + 1) if value == REAL else value for name, value in SAID_IN_PARTS.get(self.model_type, {}).items()}}
        if chosen.get(EQUAL_HEADS):
            values["num_key_value_heads"] = values[self.names.get("num_attention_heads", "num_attention_heads")]
        for name, (more, less) in self.pairs.items():
            if chosen.get(name):
                values[more] = values[less]
        if chosen.get("n_group") == 1:
            values["topk_group"] = 1
        for name in self.has_to_be:
            values[name] = self.equal(name, values)
        return values

    def in_two_ways(self, kinds: list[str]) -> dict[str, Any]:
        """What a config.json says of layers that differ in two ways."""
        ways, attention = zip(*(kind.split("+")[-2:] for kind in kinds))
        if "step" in self.second:
            return {self.list: list(attention), "no_rope_layers": [int(kind != "full_attention") for kind in attention], "moe_layers": [i for i, way in enumerate(ways) if way == SPARSE]}
        if "places" in self.second:
            return {self.list: list(attention), self.second["places"]: [i for i, way in enumerate(ways) if way == DENSE]}
        by = {self.second["list"]: list(ways)} if "list" in self.second else {self.second["count"]: ways.count(DENSE)}
        return {self.list: list(attention), **by}

    def equal(self, name: str, values: dict[str, Any]) -> int:
        """What follows from the keys that a key is made of."""
        first, *others = (values[n] for n in self.made_of(name))
        for divisor in others:
            first //= divisor
        return first * TWICE.get(self.model_type, {}).get(name, 1)

    def made_of(self, name: str) -> list[str]:
        return [self.names.get(n, n) for n in {**EQUAL, **self.has_to_be}.get(name, ())]

    def formula(self, name: str) -> str:
        """The same as a text."""
        text, times = "//".join(self.made_of(name)), TWICE.get(self.model_type, {}).get(name)
        return f"{times}*({text})" if times else text

    def config(self, chosen: Chosen, i: int, optional: bool = True, with_equal: str = "") -> Any:
        values = self.values(chosen, i, optional)
        return self.made_whole({**values, **({with_equal: self.equal(with_equal, values)} if with_equal else {})})

    def absent(self, name: str) -> tuple[bool, Any, bool]:
        """Whether the key may be absent; what it is then, a value or a formula; whether null is the same."""
        if name in self.beside:
            return True, self.beside[name], isinstance(self.beside[name], str)
        if name in self.said:
            return True, f"={self.formula(name)}", False
        base = {**self.base(), **dict.fromkeys(self.pairs, False)}
        given = [self.values(base, i) for i in range(len(POINTS))]
        try:
            without = [self.made({k: v for k, v in values.items() if k != name})[name] for values in given]
            without = [value[0] for value in without] if name in EACH.get(self.model_type, ()) else without
        except Exception:  # noqa: BLE001  the class's own refusal
            return False, None, False
        try:
            nulls = [self.made({**values, name: None})[name] for values in given]
        except Exception:  # noqa: BLE001
            nulls = []
        default: Any = without[0]
        reals = all(isinstance(x, float) and x > 0 for x in without)  # computed: any nonzero number does as well
        if any(x != without[0] for x in without) and not (reals and REAL in self.states[name]):
            keys = {k: v for k, v in self.varied(base).items() if k != name}
            found = Fit(places_of([_with(p, keys, i) for i, p in enumerate(POINTS)]))(without) if all(isinstance(x, int) for x in without) else None
            if found is None:
                return False, None, False
            default = f"={found}"
        return True, int(default) if isinstance(default, Number) else default, nulls == without


def model_is_long(model_type: str) -> bool:
    """Recordings of which take long: what published models have, with the class's own activation and plain rotary embeddings."""
    return model_type in DELTA_RULES


def places_in(model_type: str, kinds: list[str]) -> dict[str, list[int]]:
    """The places of one kind of layers, by their key."""
    row = AT_PLACES[model_type]
    return {row["key"]: [i for i, kind in enumerate(kinds) if kind == row["kind"]]}


def types_of(name: str, kinds: list[str] | None) -> dict[str, Any]:
    """What has to stand beside gpt_neo's list of kinds (5.17.0 configuration_gpt_neo.py expand_attention_types_params)."""
    return {"attention_types": [[[kind], 1] for kind in kinds or ()]} if name == "attention_layers" else {}


def _with(point: Any, keys: dict[str, tuple[int, ...]], i: int) -> Any:
    return replace(point, keys=tuple((k, v[i]) for k, v in keys.items()))
