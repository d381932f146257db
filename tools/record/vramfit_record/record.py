"""A network recorded in all its variants: a document of the schema vramfit.network/1."""
from __future__ import annotations

import contextlib
import copy
import functools
import re
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterable, Iterator, Sequence

import torch
import transformers

from . import device, first_pass, networks, passes, sizes, tree
from .declared import described
from .flash import flash_attention
from .loops import TooFewRounds
from .check import NO_CHECKPOINTING
from .merge import Different, Merge, Point, Table, fit_at, places_of
from .programs import draft_of
from .passes import Condition
from .sizes import Fit
from .variants import BASE, BY_DTYPE, CHUNKS, LONGER, ONE_ROW, ONE_ROW_BY_DTYPE, POINTS, Variant, apart, as_trained, inputs_of

SCHEMA = "vramfit.network/1"
#: Where the calls depend on batch or length, this many sizes are kept as examples: such a recording is not for use.
MOST_SINGLE = 1


@dataclass
class Networks:
    """One network for each dtype of weights."""
    config: Any
    head: str
    trust_remote_code: bool = False
    vary: dict[str, tuple[int, ...]] = field(default_factory=dict)  # keys of the configuration, and their values at the points
    config_of: Callable[[dict[str, int]], Any] | None = None  # the configuration of such values; else they are set in `config`
    longer: bool = False  # loops over chunks of a row have several rounds
    above: str = ""  # a key, half of one, or a number that rows are longer than
    chunk: int = 0  # rows are filled up to chunks of this length
    whole: bool = False  # and are as long as whole ones
    made: dict[Any, Any] = field(default_factory=dict)
    built: dict[Any, list[Condition]] = field(default_factory=dict)  # what was compared while a network was built

    def of(self, point: Point) -> Any:
        key = point.weights, point.keys
        if key not in self.made:
            seen = self.built[key] = []
            with sizes.compared(lambda *found: seen.append(Condition(*found))):
                self.made[key] = networks.build(self.config_at(point), self.head, point.weights, self.trust_remote_code)
        return self.made[key]

    def config_at(self, point: Point) -> Any:
        if self.config_of:
            return self.config_of(dict(point.keys))
        config = copy.deepcopy(self.config)
        for name, value in point.keys:
            setattr(config, name, value)
        return config

    def placed(self, points: Sequence[Point]) -> list[Point]:
        """The points with their keys, and longer rows where loops or a window want them."""
        if self.chunk:
            points = [replace(p, length=self.chunk * CHUNKS[i] - (0 if self.whole else self.chunk - p.length)) for i, p in enumerate(points)]
        return [replace(p, length=self.least(i) + (LONGER[p.length] if self.longer else p.length), keys=tuple((k, v[i]) for k, v in self.vary.items())) for i, p in enumerate(points)]

    def least(self, i: int) -> int:
        if not self.above or self.above.isdigit():
            return int(self.above or 0)
        key, _, divisor = self.above.partition("//")
        return self.vary[key][i] // int(divisor or 1)


def check_varied(vary: dict[str, tuple[int, ...]]) -> None:
    """Values from which a formula can tell the keys apart, and from batch and length."""
    if problem := confusion(tuple(vary.items())):
        raise ValueError(problem)


@functools.lru_cache
def confusion(vary: tuple[tuple[str, tuple[int, ...]], ...]) -> str:
    places = places_of([replace(p, keys=tuple((k, v[i]) for k, v in vary)) for i, p in enumerate(POINTS)])
    for key, values in vary:
        found = Fit({k: v for k, v in places.items() if k != key})(values)
        if found is not None:
            return f"{key} has the values {', '.join(map(str, values))}, which are {found} too: other values tell them apart"
    return ""


def set_attention(network: Any, implementation: str) -> None:
    if implementation == "flash_attention_2" and not getattr(network, "_supports_flash_attn", getattr(network, "_supports_flash_attn_2", False)):
        raise passes.Refused("the class does not support flash_attention_2")
    if implementation == "sdpa" and not getattr(network, "_supports_sdpa", True):
        raise passes.Refused("the class does not support sdpa")
    for module in network.modules():
        config = getattr(module, "config", None)
        for part in [config, *(getattr(config, name, None) for name in getattr(config, "sub_configs", {}))]:
            if part is not None:
                part._attn_implementation = implementation


@contextlib.contextmanager
def checkpointed(network: Any, record: list[Any]) -> Any:
    """Layers are checkpointed: each unit is a region of its own around what it calls."""
    if not getattr(network, "supports_gradient_checkpointing", False):
        raise passes.Refused(NO_CHECKPOINTING)

    def unit(function: Any, *args: Any, **kwargs: Any) -> Any:
        return record[0].checkpoint(function, args, kwargs)
    network._set_gradient_checkpointing(enable=True, gradient_checkpointing_func=unit)
    try:
        yield
    finally:
        for module in network.modules():
            if getattr(module, "gradient_checkpointing", False):
                module.gradient_checkpointing = False


def one_pass(nets: Networks, variant: Variant, point: Point) -> Any:
    network, mode = nets.of(point)
    set_attention(network, variant.attention)
    first_pass.ask_again(network)
    config = network.config
    holder: list[Any] = []
    with mode, device.replaced(device.answers()), flash_attention(), contextlib.ExitStack() as stack:
        if variant.checkpointing:
            stack.enter_context(checkpointed(network, holder))
        inputs = inputs_of(config, variant, point, nets.head)
        if point.autocast:
            stack.enter_context(torch.autocast("cuda", dtype=point.autocast))
        options = {"use_cache": variant.use_cache} if takes(network, "use_cache") else {}
        record = passes.run_pass(network, inputs, options, holder)
    return draft_of(record), {n: p.dtype for n, p in [*network.named_parameters(remove_duplicate=False), *network.named_buffers(remove_duplicate=False)]}


@functools.lru_cache
def takes_by_class(cls: type, name: str) -> bool:
    import inspect

    parameters = inspect.signature(cls.forward).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def takes(network: Any, name: str) -> bool:
    return takes_by_class(type(network), name)


def record_variant(nets: Networks, variant: Variant, programs: Table) -> list[dict[str, Any]]:
    """Rows of the list of variants. Where the code compares the batch with 1, a single row has rows of its own, which come first; where it
    compares the length with a window, so have rows that reach it. Where rows are filled up to chunks, they are longer than one, and those of whole chunks have rows of their own."""
    if not nets.chunk:
        tried = programs.copy()
        rows = record_batches(nets, variant, tried)
        nets.chunk = next((int(found[1]) for text, holds in conditions_of(tried.rows, rows) if holds and (found := FILLED.fullmatch(text))), 0)
        programs.take(tried if not nets.chunk else programs)
    if nets.chunk:
        whole = record_batches(replace(nets, whole=True), variant, programs)
        return [limited(row, "sizes", f"{filling(nets.chunk)} <= 0") for row in whole if "only" not in row] + record_batches(nets, variant, programs)
    window = next((found[2] for text, holds in conditions_of(programs.rows, rows) if (found := WINDOW.fullmatch(text)) and holds is (found[1] == "<") and reachable(nets, found[2])), None)
    if window is None:
        return rows
    reaching = record_batches(replace(nets, above=window), variant, programs)
    return [limited(row, "sizes", f"S >= {window}") for row in reaching if "only" not in row] + rows


#: masking_utils.py compares the length with a window (5.17.0 _ignore_causal_mask_sdpa: kv_length >= local_attention_size), an indexer with the number of
#: tokens that it chooses (modeling_deepseek_v32.py DeepseekV32Indexer.forward: min(index_topk, length)).
WINDOW = re.compile(r"S (>=|<) ([a-z_]+(?://2)?|[0-9]+)")


#: What a row that is shorter than a chunk is filled up with (5.17.0 modeling_granitemoehybrid.py mamba2_chunk_scan: pad_size > 0).
FILLED = re.compile(r"-S\+([0-9]+) > 0")


def filling(chunk: int) -> str:
    return f"{chunk}*((S+{chunk - 1})//{chunk})-S"


def reachable(nets: Networks, window: str) -> bool:
    return window.isdigit() or window.removesuffix("//2") in nets.vary


def record_batches(nets: Networks, variant: Variant, programs: Table) -> list[dict[str, Any]]:
    rows = record_dtypes(nets, variant, programs, POINTS, BY_DTYPE)
    one_row = {"B": 1, "S": 83}
    if all("B" not in text or eval(text, {"__builtins__": {}}, one_row) is holds for text, holds in conditions_of(programs.rows, rows)):  # noqa: S307  written by merge.py
        return rows
    single = record_dtypes(nets, variant, programs, ONE_ROW, ONE_ROW_BY_DTYPE)
    return [limited(row, "batch", 1) for row in single if "only" not in row] + rows


def record_dtypes(nets: Networks, variant: Variant, programs: Table, points: Sequence[Point], by_dtype: Any) -> list[dict[str, Any]]:
    """Those that the library trains the type in."""
    points, by_dtype, when = as_trained(points, by_dtype, nets.config.model_type)
    rows = record_points(nets, variant, programs, points, by_dtype)
    return [{**row, "when": {**when, **row.get("when", {})}} for row in rows] if when else rows


def limited(row: dict[str, Any], by: str, value: Any) -> dict[str, Any]:
    return {**row, "when": {**row.get("when", {}), by: value}}


def conditions_of(programs: list[Any], rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    """Comparisons of sizes in the programs of these rows, and in those that they call, with their results."""
    seen: set[int] = set()
    left = [row["program"] for row in rows]
    while left:
        number = left.pop()
        if number in seen:
            continue
        seen.add(number)
        for row in programs[number]["code"]:
            if row[0] in ("module", "function", "checkpoint"):
                left.append(row[2])
            elif row[0] == "if":
                yield row[1], row[2]


def record_points(nets: Networks, variant: Variant, programs: Table, points: Sequence[Point], by_dtype: Any) -> list[dict[str, Any]]:
    try:
        return rows_of(nets, variant, programs, points, by_dtype)
    except TooFewRounds as reason:
        if nets.longer:
            raise passes.Refused(str(reason)) from None
        nets.longer = True
        return rows_of(nets, variant, programs, points, by_dtype)


def rows_of(nets: Networks, variant: Variant, programs: Table, points: Sequence[Point], by_dtype: Any) -> list[dict[str, Any]]:
    """One row where all points do the same; otherwise one for each kind of dtypes that does, or for each point."""
    made = [(point, *one_pass(nets, variant, point)) for point in nets.placed(points)]
    try:
        return [merged(variant, made, programs)]
    except Different as difference:
        because = str(difference)
    known = {m[0]: m for m in made}
    rows, kinds = [], list(by_dtype)
    while kinds:
        when, of_kind = kinds.pop(0)
        group = [known.get(p) or (p, *one_pass(nets, variant, p)) for p in nets.placed(of_kind)]
        try:
            rows.append({**merged(variant, group, programs), "when": when, "because": because})
        except Different as difference:
            if with_autocast := apart(when, of_kind):
                kinds = [*with_autocast, *kinds]
                continue
            rows += [{**merged(variant, [one], programs), "when": when, "only": {"batch": one[0].batch, "length": one[0].length}, "because": str(difference)}
                     for one in group[:MOST_SINGLE]]
    return rows


def merged(variant: Variant, made: Sequence[Any], programs: Table) -> dict[str, Any]:
    kept = programs.copy()
    merge = Merge([m[0] for m in made], kept, [m[2] for m in made])
    program = merge.program([m[1] for m in made])
    programs.take(kept)
    row = {**variant.as_json(), "program": program}
    if merge.not_fitted:
        row["not_fitted"] = sorted(set(merge.not_fitted))[:20]
    return row


def build_conditions(nets: Networks, points: Sequence[Point]) -> list[Any]:
    """What the class compares while it makes the network."""
    out: list[Any] = []
    merge = Merge(points, Table())
    merge.where = "its construction"
    groups = [nets.built[p.weights, p.keys] for p in points]
    merge.same([len(g) for g in groups], "numbers of comparisons")
    merge.conditions(groups, set(), out)
    return out


def record_network(config: Any, head: str = "causal_lm", variants: Iterable[Variant] = (BASE,), trust_remote_code: bool = False,
                   vary: dict[str, tuple[int, ...]] | None = None, config_of: Callable[[dict[str, int]], Any] | None = None) -> dict[str, Any]:
    """The document. `vary`: keys of the configuration with a value for each of the three points, of which formulas are made as well."""
    check_varied(vary or {})
    nets = Networks(config, head, trust_remote_code, vary or {}, config_of)
    points = nets.placed(as_trained(POINTS, BY_DTYPE, config.model_type)[0])
    network, _ = nets.of(points[0])
    kinds, programs = Table(), Table()
    root = tree.kind_of([nets.of(p)[0] for p in points], points, kinds, fit_at(tuple(points)))
    rows, refused = [], []
    default = getattr(network.config, "_attn_implementation", None) or "eager"
    for variant in dict.fromkeys(replace(v, attention=default) if v.attention == "default" else v for v in variants):
        try:
            rows += record_variant(nets, variant, programs)
        except passes.Refused as reason:
            refused.append({**variant.as_json(), "reason": str(reason)})
        except Exception as error:  # noqa: BLE001  the library's own refusal, or an operator without a fake
            refused.append({**variant.as_json(), "reason": f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"})
    conditions = {"conditions": built} if config_of and (built := build_conditions(nets, points)) else {}
    return {
        "schema": SCHEMA,
        "recorded_with": {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__},
        "network": {**described(network, head, config), **({"varied": sorted(vary)} if vary else {}), **conditions},
        "modules": kinds.rows, "root": root, "ties": tree.ties(network),
        "programs": programs.rows, "variants": rows, "refused": refused}
