"""The answers as dataclasses, made from the JSON schemas; written by tools/package/make_types.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ._display import CheckDisplay, PlanDisplay, PredictionDisplay, SweepDisplay, TimelineDisplay


@dataclass(frozen=True)
class End:
    usable: int
    """Bytes that tensors can have at this end"""
    verdict: Literal["fits", "too_large"]

    @classmethod
    def from_json(cls, of: Any) -> End:
        return cls(
            usable=of["usable"],
            verdict=of["verdict"],
        )


@dataclass(frozen=True)
class Ends:
    """The verdicts where all that is assumed is as bad, and as good, as it can be; null: no card"""

    worst: End
    best: End

    @classmethod
    def from_json(cls, of: Any) -> Ends:
        return cls(
            worst=End.from_json(of["worst"]),
            best=End.from_json(of["best"]),
        )


@dataclass(frozen=True)
class Assumption:
    kind: Literal["total", "context", "communicator", "timing", "ddp_buckets", "load_order", "workspace", "engine"]
    least: int
    """Bytes it takes at best; below zero: there is more than assumed"""
    assumed: int
    """Bytes that `usable` leaves for it"""
    most: int
    """Bytes it takes at worst"""
    what: str
    source: str
    """Of both ends"""
    measure: str
    """What to measure, and the flag that then says it"""

    @classmethod
    def from_json(cls, of: Any) -> Assumption:
        return cls(
            kind=of["kind"],
            least=of["least"],
            assumed=of["assumed"],
            most=of["most"],
            what=of["what"],
            source=of["source"],
            measure=of["measure"],
        )


@dataclass(frozen=True)
class Peak:
    """Highest of the whole run"""

    requested: int
    allocated: int
    reserved: int

    @classmethod
    def from_json(cls, of: Any) -> Peak:
        return cls(
            requested=of["requested"],
            allocated=of["allocated"],
            reserved=of["reserved"],
        )


@dataclass(frozen=True)
class Share:
    category: Literal["weights", "quantization_state", "adapters", "gradients", "optimizer_states", "stored_activations", "recomputed_activations", "logits_and_loss", "temporaries", "workspaces", "activation_gradients", "dequantized_weights", "reward_models", "teacher"]
    bytes: int

    @classmethod
    def from_json(cls, of: Any) -> Share:
        return cls(
            category=of["category"],
            bytes=of["bytes"],
        )


@dataclass(frozen=True)
class PredictionPeak:
    id: str
    """Letter of the paper, two where a window holds two moments, empty for the others"""
    name: str
    window: str
    """The window of the run in which the peak is highest"""
    requested: int
    allocated: int
    reserved: int
    process: int
    """Reserved and the CUDA context"""
    shares: list[Share]
    """Of requested; with unattributed they sum to it"""
    unattributed: int

    @classmethod
    def from_json(cls, of: Any) -> PredictionPeak:
        return cls(
            id=of["id"],
            name=of["name"],
            window=of["window"],
            requested=of["requested"],
            allocated=of["allocated"],
            reserved=of["reserved"],
            process=of["process"],
            shares=[Share.from_json(each) for each in of["shares"]],
            unattributed=of["unattributed"],
        )


@dataclass(frozen=True)
class OutOfMemory:
    """The request that failed on the card; all other levels are then those of the same run on a card that is large enough"""

    window: str
    requested: int
    rounded: int
    segment: int
    """What the allocator asked the device for"""
    allocated: int
    reserved: int

    @classmethod
    def from_json(cls, of: Any) -> OutOfMemory:
        return cls(
            window=of["window"],
            requested=of["requested"],
            rounded=of["rounded"],
            segment=of["segment"],
            allocated=of["allocated"],
            reserved=of["reserved"],
        )


@dataclass(frozen=True)
class Stage:
    requested: int
    allocated: int
    reserved: int
    process: int
    verdict: Literal["fits", "tight", "too_large", "not_asked"]

    @classmethod
    def from_json(cls, of: Any) -> Stage:
        return cls(
            requested=of["requested"],
            allocated=of["allocated"],
            reserved=of["reserved"],
            process=of["process"],
            verdict=of["verdict"],
        )


@dataclass(frozen=True)
class NextLarger:
    requested: int
    allocated: int
    reserved: int
    flag: Literal["--batch", "--seq"]
    value: int
    verdict: Literal["fits", "tight", "too_large"]
    left: int
    """Usable bytes that the run does not reserve; below zero: how many more it would reserve on a larger card"""

    @classmethod
    def from_json(cls, of: Any) -> NextLarger:
        return cls(
            requested=of["requested"],
            allocated=of["allocated"],
            reserved=of["reserved"],
            flag=of["flag"],
            value=of["value"],
            verdict=of["verdict"],
            left=of["left"],
        )


@dataclass(frozen=True)
class Note:
    kind: Literal["sequence_beyond_model", "version_out_of_range", "version_unknown", "assumed_context", "assumed_communicator", "assumed_card", "marketed_size", "flags_before_job", "text_part_only", "load_order_varies", "workspace_not_modelled", "without_effect", "experts_not_quantized", "recorded_network", "rows_alike", "upper_bound", "vllm_share"]
    text: str
    hint: str

    @classmethod
    def from_json(cls, of: Any) -> Note:
        return cls(
            kind=of["kind"],
            text=of["text"],
            hint=of["hint"],
        )


@dataclass(frozen=True)
class Fitting:
    titles: list[str]
    flags: dict[str, Any]
    """Values by the names of flags, without hyphens"""
    reserved: int
    spare: int
    """Usable bytes that are left; below zero: missing"""

    @classmethod
    def from_json(cls, of: Any) -> Fitting:
        return cls(
            titles=of["titles"],
            flags=of["flags"],
            reserved=of["reserved"],
            spare=of["spare"],
        )


@dataclass(frozen=True)
class Smallest:
    titles: list[str]
    flags: dict[str, Any]
    """Values by the names of flags, without hyphens"""
    reserved: int
    spare: int
    """Usable bytes that are left; below zero: missing"""

    @classmethod
    def from_json(cls, of: Any) -> Smallest:
        return cls(
            titles=of["titles"],
            flags=of["flags"],
            reserved=of["reserved"],
            spare=of["spare"],
        )


@dataclass(frozen=True)
class Change:
    """Where the run does not fit; left out with --no-changes"""

    fitting: list[Fitting]
    """Each fits; the cheapest first"""
    tried: list[str]
    smallest: Smallest | None
    holds_smallest: str | None
    """The smallest known card that holds the smallest run"""

    @classmethod
    def from_json(cls, of: Any) -> Change:
        return cls(
            fitting=[Fitting.from_json(each) for each in of["fitting"]],
            tried=of["tried"],
            smallest=Smallest.from_json(of["smallest"]) if of["smallest"] is not None else None,
            holds_smallest=of["holds_smallest"],
        )


@dataclass(frozen=True)
class Largest:
    """Where the run fits a card; left out with --no-changes"""

    batch: int
    """The largest batch that fits, of as many tokens"""
    seq: int
    """The longest sequences that fit in such a batch, in steps of 128 tokens"""
    seq_is_all: bool
    """As many as the model has positions for"""

    @classmethod
    def from_json(cls, of: Any) -> Largest:
        return cls(
            batch=of["batch"],
            seq=of["seq"],
            seq_is_all=of["seq_is_all"],
        )


@dataclass(frozen=True)
class Prediction(PredictionDisplay):
    """The answer of vramfit predict. Amounts are bytes. Keys are added, never renamed."""

    schema: str
    verdict: Literal["fits", "tight", "too_large", "unknown", "not_asked"]
    """Over all that is not known: fits at the worst end, tight only at the best; unknown: an upper bound that does not fit; not_asked: no card was given"""
    ends: Ends | None
    """The verdicts where all that is assumed is as bad, and as good, as it can be; null: no card"""
    assumptions: list[Assumption]
    """What is not known of the card and the run: memory that tensors may or may not have"""
    model: dict[str, Any]
    """Name, and the keys of the config.json"""
    plan: dict[str, Any]
    """The keys of a job file, every default filled in"""
    stack: dict[str, Any]
    """Versions; null: not part of the stack"""
    device: dict[str, Any]
    highest: str
    """Name of the peak with most requested bytes"""
    peak: Peak
    """Highest of the whole run"""
    peaks: list[PredictionPeak]
    after_load: Peak
    """After loading and preparation, before adapters"""
    resident: Peak
    """When the optimizer is made, before the first step"""
    end: Peak
    """After the last step"""
    quantities: dict[str, Any]
    """Names of measurements, as in the reference of job files"""
    managed: int
    """Paged optimizer states in managed memory, in none of the others"""
    trainable_parameters: int
    total_parameters: int
    out_of_memory: OutOfMemory | None
    """The request that failed on the card; all other levels are then those of the same run on a card that is large enough"""
    next_larger: list[NextLarger]
    """A run that fits, with one row more and with longer rows: how far each is from not fitting; else, and with --no-changes, empty"""
    retries: int
    """Times the allocator gave cached memory back and asked again"""
    notes: list[Note]
    smallest_gpu: str | None = None
    """Where no GPU was given: the smallest known one that holds the run"""
    stages: list[Stage] | None = None
    """All stages of a pipeline, where no process was named: the answer is that of the one that needs the most"""
    changes: Change | None = None
    """Where the run does not fit; left out with --no-changes"""
    largest: Largest | None = None
    """Where the run fits a card; left out with --no-changes"""

    @classmethod
    def from_json(cls, of: Any) -> Prediction:
        return cls(
            schema=of["schema"],
            verdict=of["verdict"],
            ends=Ends.from_json(of["ends"]) if of["ends"] is not None else None,
            assumptions=[Assumption.from_json(each) for each in of["assumptions"]],
            model=of["model"],
            plan=of["plan"],
            stack=of["stack"],
            device=of["device"],
            highest=of["highest"],
            peak=Peak.from_json(of["peak"]),
            peaks=[PredictionPeak.from_json(each) for each in of["peaks"]],
            after_load=Peak.from_json(of["after_load"]),
            resident=Peak.from_json(of["resident"]),
            end=Peak.from_json(of["end"]),
            quantities=of["quantities"],
            managed=of["managed"],
            trainable_parameters=of["trainable_parameters"],
            total_parameters=of["total_parameters"],
            out_of_memory=OutOfMemory.from_json(of["out_of_memory"]) if of["out_of_memory"] is not None else None,
            smallest_gpu=of.get("smallest_gpu"),
            stages=[Stage.from_json(each) for each in of["stages"]] if of.get("stages") is not None else None,
            next_larger=[NextLarger.from_json(each) for each in of["next_larger"]],
            retries=of["retries"],
            notes=[Note.from_json(each) for each in of["notes"]],
            changes=Change.from_json(of["changes"]) if of.get("changes") is not None else None,
            largest=Largest.from_json(of["largest"]) if of.get("largest") is not None else None,
        )


@dataclass(frozen=True)
class Space:
    """The values of each axis; rows are numbered with the length running fastest, then batch, rank, targets"""

    targets: list[str]
    """Sets of modules by name; empty without adapters"""
    rank: list[int]
    """Empty without adapters"""
    batch: list[int]
    sequence_length: list[int]

    @classmethod
    def from_json(cls, of: Any) -> Space:
        return cls(
            targets=of["targets"],
            rank=of["rank"],
            batch=of["batch"],
            sequence_length=of["sequence_length"],
        )


@dataclass(frozen=True)
class Shard:
    """With --shard: which part of the space this is; what --merge needs"""

    part: int
    of: int
    arguments: list[str]
    """What all parts share"""
    version: str
    """Of the program"""

    @classmethod
    def from_json(cls, of: Any) -> Shard:
        return cls(
            part=of["part"],
            of=of["of"],
            arguments=of["arguments"],
            version=of["version"],
        )


@dataclass(frozen=True)
class SweepLargest:
    """With --max: each row has the largest value of this axis that fits with its other values"""

    axis: Literal["seq", "batch", "rank"]
    combinations: int
    """Of the other axes, those without a row included"""

    @classmethod
    def from_json(cls, of: Any) -> SweepLargest:
        return cls(
            axis=of["axis"],
            combinations=of["combinations"],
        )


@dataclass(frozen=True)
class Bound:
    measure: str
    low: int
    high: int | None
    """Null: no upper bound"""

    @classmethod
    def from_json(cls, of: Any) -> Bound:
        return cls(
            measure=of["measure"],
            low=of["low"],
            high=of["high"],
        )


@dataclass(frozen=True)
class Selection:
    """Which rows are shown, and in which order"""

    sort: str
    """The measure of which the first row has most"""
    pareto: list[str]
    """Not empty: rows that no other one excels in these measures"""
    per_group: str | None
    """Not null: the best rows of each value of this axis"""

    @classmethod
    def from_json(cls, of: Any) -> Selection:
        return cls(
            sort=of["sort"],
            pareto=of["pareto"],
            per_group=of["per_group"],
        )


@dataclass(frozen=True)
class Counts:
    total: int
    simulated: int
    """Rows whose requested bytes are known exactly, by the formula of their path or a recording of their own"""
    ruled_out: int
    """Rows that are too large because they dominate one that is"""
    invalid: int
    """Rows that no run can have"""
    recorded: int
    """Runs of the engine that the simulated rows follow from"""
    replayed: int
    """Simulated rows that were replayed through the allocator"""
    outside: int
    """Rows outside the bounds: not swept"""
    open: int
    """Rows of other parts of the space, or not reached before the sweep was stopped"""
    tight: int
    """Replayed rows that fit only at the best end of what is assumed"""
    undecided: int
    """Rows that were not replayed, and request what only the best end has: tight or too large"""

    @classmethod
    def from_json(cls, of: Any) -> Counts:
        return cls(
            total=of["total"],
            simulated=of["simulated"],
            ruled_out=of["ruled_out"],
            invalid=of["invalid"],
            recorded=of["recorded"],
            replayed=of["replayed"],
            outside=of["outside"],
            open=of["open"],
            tight=of["tight"],
            undecided=of["undecided"],
        )


@dataclass(frozen=True)
class RankedRow:
    rank: int
    """Place in the ranking; the rank of the adapters is plan/peft/r"""
    row: int
    """Number of the row in the space"""
    plan: dict[str, Any]
    """The keys of a job file, every default filled in"""
    peak: str
    """Name of the highest peak"""
    requested: int
    """At the highest moment of the run"""
    allocated: int
    reserved: int
    """The most of the whole run, as reserved_peak of a prediction"""
    utilization: float
    """Requested by usable"""
    command: str
    """Asks for this row alone; a shell reads it"""
    tokens_per_step: int
    """Batch x length x accumulation"""
    requested_on_card: int | None = None
    """The same on this card, where that is less: Unsloth's step takes less where little is free. Absent elsewhere"""
    choices: dict[str, Any] | None = None
    """The values of these flags for this row"""
    found_by: Literal["bisection", "scan", "end of range"] | None = None
    """With --max: how it is known that no larger value fits"""
    looked_at: int | None = None
    """With --max: values of the axis that were looked at"""

    @classmethod
    def from_json(cls, of: Any) -> RankedRow:
        return cls(
            rank=of["rank"],
            row=of["row"],
            plan=of["plan"],
            peak=of["peak"],
            requested=of["requested"],
            requested_on_card=of.get("requested_on_card"),
            allocated=of["allocated"],
            reserved=of["reserved"],
            utilization=of["utilization"],
            command=of["command"],
            choices=of.get("choices"),
            tokens_per_step=of["tokens_per_step"],
            found_by=of.get("found_by"),
            looked_at=of.get("looked_at"),
        )


@dataclass(frozen=True)
class Nearest:
    """Where nothing fits: the row that requests least, on a GPU that is large enough"""

    row: int
    plan: dict[str, Any]
    """The keys of a job file, every default filled in"""
    verdict: Literal["fits", "tight", "too_large"]
    requested: int
    reserved: int
    missing: int
    """Bytes that the GPU has too few, where all that is assumed takes the most"""
    command: str

    @classmethod
    def from_json(cls, of: Any) -> Nearest:
        return cls(
            row=of["row"],
            plan=of["plan"],
            verdict=of["verdict"],
            requested=of["requested"],
            reserved=of["reserved"],
            missing=of["missing"],
            command=of["command"],
        )


@dataclass(frozen=True)
class SpaceRow:
    row: int
    """Number of the row in the space"""
    targets: str | None
    """Null without adapters"""
    rank: int | None
    """Of the adapters; null without"""
    batch: int
    sequence_length: int
    status: Literal["simulated", "ruled_out", "invalid", "outside", "open"]
    """Outside: of the bounds; open: of another part of the space, or not reached"""
    verdict: Literal["fits", "tight", "too_large"] | None
    """Null: it may fit, but was not replayed"""
    requested: int | None = None
    """Of simulated rows"""
    ruled_out_by: int | None = None
    """Of rows that are ruled out: the number of the row it follows from"""
    why: Literal["tight", "too_large"] | None = None
    """Too_large: it dominates a row that is too large"""
    problem: str | None = None
    """Of invalid rows"""
    choices: dict[str, Any] | None = None
    """The values of these flags for this row"""

    @classmethod
    def from_json(cls, of: Any) -> SpaceRow:
        return cls(
            row=of["row"],
            targets=of["targets"],
            rank=of["rank"],
            batch=of["batch"],
            sequence_length=of["sequence_length"],
            status=of["status"],
            verdict=of["verdict"],
            requested=of.get("requested"),
            ruled_out_by=of.get("ruled_out_by"),
            why=of.get("why"),
            problem=of.get("problem"),
            choices=of.get("choices"),
        )


@dataclass(frozen=True)
class Sweep(SweepDisplay):
    """The answer of vramfit sweep. Amounts are bytes. Keys are added, never renamed."""

    schema: str
    model: str
    """Name of the network"""
    stack: dict[str, Any]
    """Versions; null: not part of the stack"""
    device: dict[str, Any]
    space: Space
    """The values of each axis; rows are numbered with the length running fastest, then batch, rank, targets"""
    bounds: list[Bound]
    """Conditions on rows; rows outside are not swept"""
    selection: Selection
    """Which rows are shown, and in which order"""
    counts: Counts
    stopped: bool
    """Ctrl-C before the end: rows holds what was known by then"""
    ranking: list[RankedRow]
    """The rows that fit, in the order of the selection, as many as --top asks for"""
    notes: list[Note]
    spaces: list[Space] | None = None
    """Where the questions of a sweep have different spaces: of each question, in the order of their rows"""
    shard: Shard | None = None
    """With --shard: which part of the space this is; what --merge needs"""
    largest: SweepLargest | None = None
    """With --max: each row has the largest value of this axis that fits with its other values"""
    problem: str | None = None
    """Why the first invalid row is that"""
    other_problems: bool | None = None
    """Whether other rows are invalid for other reasons"""
    nearest: Nearest | None = None
    """Where nothing fits: the row that requests least, on a GPU that is large enough"""
    all_rows: list[SpaceRow] | None = None
    """With --all-rows: every row of the space"""
    choices: dict[str, Any] | None = None
    """Flags with several values, with all of them; absent without such flags"""

    @classmethod
    def from_json(cls, of: Any) -> Sweep:
        return cls(
            schema=of["schema"],
            model=of["model"],
            stack=of["stack"],
            device=of["device"],
            space=Space.from_json(of["space"]),
            spaces=[Space.from_json(each) for each in of["spaces"]] if of.get("spaces") is not None else None,
            shard=Shard.from_json(of["shard"]) if of.get("shard") is not None else None,
            largest=SweepLargest.from_json(of["largest"]) if of.get("largest") is not None else None,
            bounds=[Bound.from_json(each) for each in of["bounds"]],
            selection=Selection.from_json(of["selection"]),
            counts=Counts.from_json(of["counts"]),
            problem=of.get("problem"),
            other_problems=of.get("other_problems"),
            stopped=of["stopped"],
            ranking=[RankedRow.from_json(each) for each in of["rows"]],
            nearest=Nearest.from_json(of["nearest"]) if of.get("nearest") is not None else None,
            all_rows=[SpaceRow.from_json(each) for each in of["all_rows"]] if of.get("all_rows") is not None else None,
            notes=[Note.from_json(each) for each in of["notes"]],
            choices=of.get("choices"),
        )


@dataclass(frozen=True)
class MethodPeak:
    requested: int
    allocated: int
    reserved: int
    process: int

    @classmethod
    def from_json(cls, of: Any) -> MethodPeak:
        return cls(
            requested=of["requested"],
            allocated=of["allocated"],
            reserved=of["reserved"],
            process=of["process"],
        )


@dataclass(frozen=True)
class ByCollective:
    """The same by what sends it."""

    all_reduce: int
    all_gather: int
    reduce_scatter: int
    send: int
    """From one process to another."""

    @classmethod
    def from_json(cls, of: Any) -> ByCollective:
        return cls(
            all_reduce=of["all_reduce"],
            all_gather=of["all_gather"],
            reduce_scatter=of["reduce_scatter"],
            send=of["send"],
        )


@dataclass(frozen=True)
class File:
    name: str | None = None
    text: str | None = None

    @classmethod
    def from_json(cls, of: Any) -> File:
        return cls(
            name=of.get("name"),
            text=of.get("text"),
        )


@dataclass(frozen=True)
class Launch:
    """How the run is started as it was predicted"""

    command: list[str] | None = None
    """Words of the launcher, up to the script"""
    arguments: list[str] | None = None
    """What TrainingArguments have to say; empty: there is no Trainer"""
    script: list[str] | None = None
    """What the script itself has to do"""
    files: list[File] | None = None

    @classmethod
    def from_json(cls, of: Any) -> Launch:
        return cls(
            command=of.get("command"),
            arguments=of.get("arguments"),
            script=of.get("script"),
            files=[File.from_json(each) for each in of["files"]] if of.get("files") is not None else None,
        )


@dataclass(frozen=True)
class Method:
    id: str
    title: str
    verdict: Literal["fits", "tight", "too_large", "refused"]
    ends: Ends | None = None
    """The verdicts where all that is assumed is as bad, and as good, as it can be; null: no card"""
    assumptions: list[Assumption] | None = None
    """What is not known of the card and the run: memory that tensors may or may not have"""
    refusal: str | None = None
    """Why the method is not predicted."""
    cards: int | None = None
    quantized: bool | None = None
    """Trains over quantized weights although the question does not."""
    process: int | None = None
    """The process that reserves most of those that were looked at (the first and the last)."""
    peak: MethodPeak | None = None
    highest: str | None = None
    """The name of the peak with the most requested bytes."""
    left: int | None = None
    """Usable bytes of the card without the reserved; below zero: missing."""
    largest_batch: int | None = None
    """Rows of a batch that fit while one more does not; 0: none; null: not looked for."""
    sequences_at_a_time: int | None = None
    """Sequences that all GPUs together train on at a time with largest_batch"""
    between_cards: int | None = None
    """What one process sends to others in one optimizer step."""
    by_collective: ByCollective | None = None
    """The same by what sends it."""
    with_host: int | None = None
    """What one process exchanges with host memory in one optimizer step."""
    host_bytes: int | None = None
    """States that all processes keep in host memory."""
    lacks_host_memory: bool | None = None
    """Host_bytes are more than host_memory: too_large"""
    operations: float | None = None
    """Of one card in one optimizer step."""
    cost: float | None = None
    """Operations + operations_per_byte x (between_cards + with_host); of a pipeline with p stages and m micro batches (m + p - 1) / m times that."""
    plan: dict[str, Any] | None = None
    """The run under this method, with the keys of a job file."""
    launch: Launch | None = None
    """How the run is started as it was predicted"""

    @classmethod
    def from_json(cls, of: Any) -> Method:
        return cls(
            id=of["id"],
            title=of["title"],
            verdict=of["verdict"],
            ends=Ends.from_json(of["ends"]) if of.get("ends") is not None else None,
            assumptions=[Assumption.from_json(each) for each in of["assumptions"]] if of.get("assumptions") is not None else None,
            refusal=of.get("refusal"),
            cards=of.get("cards"),
            quantized=of.get("quantized"),
            process=of.get("process"),
            peak=MethodPeak.from_json(of["peak"]) if of.get("peak") is not None else None,
            highest=of.get("highest"),
            left=of.get("left"),
            largest_batch=of.get("largest_batch"),
            sequences_at_a_time=of.get("sequences_at_a_time"),
            between_cards=of.get("between_cards"),
            by_collective=ByCollective.from_json(of["by_collective"]) if of.get("by_collective") is not None else None,
            with_host=of.get("with_host"),
            host_bytes=of.get("host_bytes"),
            lacks_host_memory=of.get("lacks_host_memory"),
            operations=of.get("operations"),
            cost=of.get("cost"),
            plan=of.get("plan"),
            launch=Launch.from_json(of["launch"]) if of.get("launch") is not None else None,
        )


@dataclass(frozen=True)
class Plan(PlanDisplay):
    """The answer of vramfit plan: methods by which several cards share a run, best first. Amounts are bytes. What was predicted has every key; a refused method has `refusal`."""

    schema: str
    model: str
    cards: int
    operations_per_byte: float
    """Operations of a card in the time in which it sends a byte."""
    device: dict[str, Any]
    stack: dict[str, Any]
    methods: list[Method]
    host_memory: int | None = None
    """Of the machine; null: no limit"""

    @classmethod
    def from_json(cls, of: Any) -> Plan:
        return cls(
            schema=of["schema"],
            model=of["model"],
            cards=of["cards"],
            operations_per_byte=of["operations_per_byte"],
            host_memory=of.get("host_memory"),
            device=of["device"],
            stack=of["stack"],
            methods=[Method.from_json(each) for each in of["methods"]],
        )


@dataclass(frozen=True)
class CheckFile:
    name: str
    format: str
    title: str

    @classmethod
    def from_json(cls, of: Any) -> CheckFile:
        return cls(
            name=of["name"],
            format=of["format"],
            title=of["title"],
        )


@dataclass(frozen=True)
class Input:
    field: str
    value: str
    source: Literal["file", "default", "flag", "derived"]
    key: str
    file: str | None
    line: int | None
    column: int | None

    @classmethod
    def from_json(cls, of: Any) -> Input:
        return cls(
            field=of["field"],
            value=of["value"],
            source=of["source"],
            key=of["key"],
            file=of["file"],
            line=of["line"],
            column=of["column"],
        )


@dataclass(frozen=True)
class Refusal:
    key: str
    file: str | None
    line: int | None
    column: int | None
    what: str
    hint: str

    @classmethod
    def from_json(cls, of: Any) -> Refusal:
        return cls(
            key=of["key"],
            file=of["file"],
            line=of["line"],
            column=of["column"],
            what=of["what"],
            hint=of["hint"],
        )


@dataclass(frozen=True)
class CardAnswerBound:
    """Where another program runs than the one that is predicted: it needs at most this"""

    reserved: int
    why: str

    @classmethod
    def from_json(cls, of: Any) -> CardAnswerBound:
        return cls(
            reserved=of["reserved"],
            why=of["why"],
        )


@dataclass(frozen=True)
class Edit:
    key: str
    from_: str | None
    to: str | None

    @classmethod
    def from_json(cls, of: Any) -> Edit:
        return cls(
            key=of["key"],
            from_=of["from"],
            to=of["to"],
        )


@dataclass(frozen=True)
class CardAnswerChange:
    titles: list[str]
    edits: list[Edit]
    reserved: int
    spare: int

    @classmethod
    def from_json(cls, of: Any) -> CardAnswerChange:
        return cls(
            titles=of["titles"],
            edits=[Edit.from_json(each) for each in of["edits"]],
            reserved=of["reserved"],
            spare=of["spare"],
        )


@dataclass(frozen=True)
class CardAnswerSmallest:
    """Where no change fits: the run that needs the least; spare is below zero by what is missing"""

    titles: list[str]
    edits: list[Edit]
    reserved: int
    spare: int

    @classmethod
    def from_json(cls, of: Any) -> CardAnswerSmallest:
        return cls(
            titles=of["titles"],
            edits=[Edit.from_json(each) for each in of["edits"]],
            reserved=of["reserved"],
            spare=of["spare"],
        )


@dataclass(frozen=True)
class CardAnswerNote:
    kind: str
    text: str
    hint: str

    @classmethod
    def from_json(cls, of: Any) -> CardAnswerNote:
        return cls(
            kind=of["kind"],
            text=of["text"],
            hint=of["hint"],
        )


@dataclass(frozen=True)
class CardAnswer:
    device: dict[str, Any]
    verdict: Literal["fits", "tight", "too_large", "unknown", "not_asked"]
    ends: Ends | None
    """The verdicts where all that is assumed is as bad, and as good, as it can be; null: no card"""
    assumptions: list[Assumption]
    """What is not known of the card and the run: memory that tensors may or may not have"""
    bound: CardAnswerBound | None
    """Where another program runs than the one that is predicted: it needs at most this"""
    highest: str
    runner_up: str
    requested: int
    allocated: int
    reserved: int
    spare: int | None
    """Usable bytes left; negative: missing"""
    out_of_memory: str | None
    """The window of the failed request"""
    changes: list[CardAnswerChange]
    tried: list[str]
    """Kinds of change that were looked at, alone and together"""
    smallest: CardAnswerSmallest | None
    """Where no change fits: the run that needs the least; spare is below zero by what is missing"""
    holds_smallest: str | None
    """The smallest known card that holds that run"""
    wall: int | None
    """With --lengths: the longest row that fits"""
    rows_beyond_wall: int
    notes: list[CardAnswerNote]

    @classmethod
    def from_json(cls, of: Any) -> CardAnswer:
        return cls(
            device=of["device"],
            verdict=of["verdict"],
            ends=Ends.from_json(of["ends"]) if of["ends"] is not None else None,
            assumptions=[Assumption.from_json(each) for each in of["assumptions"]],
            bound=CardAnswerBound.from_json(of["bound"]) if of["bound"] is not None else None,
            highest=of["highest"],
            runner_up=of["runner_up"],
            requested=of["requested"],
            allocated=of["allocated"],
            reserved=of["reserved"],
            spare=of["spare"],
            out_of_memory=of["out_of_memory"],
            changes=[CardAnswerChange.from_json(each) for each in of["changes"]],
            tried=of["tried"],
            smallest=CardAnswerSmallest.from_json(of["smallest"]) if of["smallest"] is not None else None,
            holds_smallest=of["holds_smallest"],
            wall=of["wall"],
            rows_beyond_wall=of["rows_beyond_wall"],
            notes=[CardAnswerNote.from_json(each) for each in of["notes"]],
        )


@dataclass(frozen=True)
class CheckNote:
    kind: Literal["unknown_key", "assumed_off", "assumed_length", "assumed_gpus", "other_program", "kernel_not_modelled", "odd_value"]
    text: str
    hint: str

    @classmethod
    def from_json(cls, of: Any) -> CheckNote:
        return cls(
            kind=of["kind"],
            text=of["text"],
            hint=of["hint"],
        )


@dataclass(frozen=True)
class Check(CheckDisplay):
    """The answer of vramfit check --format json. Sizes are bytes."""

    schema: str
    verdict: Literal["fits", "tight", "too_large", "unknown", "not_asked", "unsupported"]
    files: list[CheckFile]
    model: str | None
    plan: dict[str, Any] | None
    """The keys of a job file that make up the plan; null if anything is refused"""
    stack: dict[str, Any]
    inputs: list[Input]
    refusals: list[Refusal]
    answers: list[CardAnswer]
    notes: list[CheckNote]

    @classmethod
    def from_json(cls, of: Any) -> Check:
        return cls(
            schema=of["schema"],
            verdict=of["verdict"],
            files=[CheckFile.from_json(each) for each in of["files"]],
            model=of["model"],
            plan=of["plan"],
            stack=of["stack"],
            inputs=[Input.from_json(each) for each in of["inputs"]],
            refusals=[Refusal.from_json(each) for each in of["refusals"]],
            answers=[CardAnswer.from_json(each) for each in of["answers"]],
            notes=[CheckNote.from_json(each) for each in of["notes"]],
        )


@dataclass(frozen=True)
class Requested:
    start: int
    peak: int
    end: int

    @classmethod
    def from_json(cls, of: Any) -> Requested:
        return cls(
            start=of["start"],
            peak=of["peak"],
            end=of["end"],
        )


@dataclass(frozen=True)
class Window:
    name: str
    requested: Requested
    allocated: Requested
    reserved: Requested
    managed: Requested
    retries: int

    @classmethod
    def from_json(cls, of: Any) -> Window:
        return cls(
            name=of["name"],
            requested=Requested.from_json(of["requested"]),
            allocated=Requested.from_json(of["allocated"]),
            reserved=Requested.from_json(of["reserved"]),
            managed=Requested.from_json(of["managed"]),
            retries=of["retries"],
        )


@dataclass(frozen=True)
class TimelineOutOfMemory:
    """The request that failed; the last window ends at it"""

    window: str
    requested: int
    rounded: int
    segment: int

    @classmethod
    def from_json(cls, of: Any) -> TimelineOutOfMemory:
        return cls(
            window=of["window"],
            requested=of["requested"],
            rounded=of["rounded"],
            segment=of["segment"],
        )


@dataclass(frozen=True)
class Timeline(TimelineDisplay):
    """The answer of vramfit timeline. Amounts are bytes. Keys are added, never renamed."""

    schema: str
    model: str
    windows: list[Window]
    out_of_memory: TimelineOutOfMemory | None
    """The request that failed; the last window ends at it"""
    retries: int
    notes: list[CardAnswerNote]
    """As in vramfit.prediction/1"""
    events: list[list[Any]] | None = None
    """With --events: [window index, kind, id, bytes] and for allocations {op, category, layer, module}; kinds: alloc, free, empty_cache, managed_alloc, managed_free"""

    @classmethod
    def from_json(cls, of: Any) -> Timeline:
        return cls(
            schema=of["schema"],
            model=of["model"],
            windows=[Window.from_json(each) for each in of["windows"]],
            out_of_memory=TimelineOutOfMemory.from_json(of["out_of_memory"]) if of["out_of_memory"] is not None else None,
            retries=of["retries"],
            notes=[CardAnswerNote.from_json(each) for each in of["notes"]],
            events=of.get("events"),
        )
