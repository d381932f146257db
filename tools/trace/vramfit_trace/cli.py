"""The commands."""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from . import data, types
from .cards import CARDS
from .compare import compare, first_event
from .families import FAMILIES
from .forks import Forks
from .job import Job, JobError, read_job
from .prediction import PredictionError, prediction, timeline
from .shares import WANTED, compare_shares
from .tracing import TraceError, Tracer
from .space_processes import METHODS
from .walk import Walk, jobs_of, row_text, summary


def tracer_of(flags: argparse.Namespace) -> Tracer:
    return Tracer(flags.python, flags.real, flags.cache, flags.time_limit)


def read(path: Path, card: str | None = None) -> Job:
    job = read_job(sys.stdin.read() if str(path) == "-" else path.read_text())
    return {**job, "card": card} if card else job


def run(flags: argparse.Namespace) -> int:
    """Traces a job, or several in forked copies of one process, each into a file of the folder."""
    if len(flags.job) > 1:
        return run_forked(flags)
    trace = tracer_of(flags).trace(read(flags.job[0], flags.card), flags.events, flags.log, ("--labels",) if flags.labels else ())
    text = json.dumps(trace)
    if flags.out:
        flags.out.write_text(text)
    else:
        print(text)
    return 0


def run_forked(flags: argparse.Namespace) -> int:
    """One file for each job; what is there already stays."""
    if not flags.out:
        raise JobError("several jobs need --out, the folder of their traces")
    flags.out.mkdir(parents=True, exist_ok=True)
    forks = Forks(tracer_of(flags), tuple(option for option, given in (("--events", flags.events), ("--labels", flags.labels)) if given))
    failed = 0
    try:
        for path in flags.job:
            out = flags.out / path.name
            if out.exists():
                continue
            try:
                out.write_text(json.dumps(forks.trace(read(path, flags.card), flags.log)))
            except TraceError as error:
                failed += 1
                print(f"{path.name}: {error}", file=sys.stderr, flush=True)
    finally:
        forks.close()
    return 2 if failed else 0


def compare_traces(flags: argparse.Namespace) -> int:
    """Compares traces, or jobs that are traced for it, with vramfit's timeline."""
    equal = True
    for path in flags.trace:
        stored = json.loads(path.read_text())
        traced = stored.get("schema") == "vramfit.trace/1"
        trace = stored if traced else tracer_of(flags).trace(read(path), events=True)
        with_events = "events" in trace
        asked = {**trace["job"], "model": str(flags.network.resolve())} if flags.network else trace["job"]
        document = timeline(flags.vramfit, asked, with_events)
        result = compare(trace, document)
        equal = equal and result.exact
        print(row_text({"name": path.name, **result.as_json()}))
        if trace["windows"] and "shares" in trace["windows"][0]:
            equal = print_shares(trace, timeline(flags.vramfit, trace["job"], True), flags) and equal
        for difference in result.differences[: flags.windows]:
            print(f"  {difference.text()}")
        if with_events and "events" in document:
            print(first_event(trace, document, flags.context) or "  all events are equal")
    return 0 if equal else 1


def print_shares(trace: dict[str, Any], document: dict[str, Any], flags: argparse.Namespace) -> bool:
    """The named peaks that are not made of what the trace says; whether there are none."""
    peaks = compare_shares(trace, prediction(flags.vramfit, trace["job"]), document)
    for peak in peaks:
        if peak.categories or peak.tensors:
            print(f"  {peak.text()}")
    return all(peak.share >= WANTED for peak in peaks)


def walk(flags: argparse.Namespace) -> int:
    """Draws jobs, traces and compares each."""
    known = {**FAMILIES, **types.families()} if flags.types else FAMILIES
    unknown = set(flags.families) - set(known)
    if unknown:
        raise JobError(f"no tiny model for {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    flags.folder.mkdir(parents=True, exist_ok=True)
    models = [json.loads(path.read_text()) for path in flags.config] + (types.configs() if flags.types else [])
    jobs = jobs_of(flags.seed, flags.count, flags.stack, {name: known[name] for name in flags.families or known}, models, not flags.no_threads,
                   flags.distributed, flags.sft, flags.evaluation, flags.preferences)
    forks = Forks(tracer_of(flags), ("--labels",) if flags.labels else ())
    try:
        rows = Walk(flags.folder, forks, flags.vramfit, flags.supported, flags.stored).run(jobs)
    finally:
        forks.close()
    print(summary(rows))
    return 0 if all(row["exact"] for row in rows) else 1


def write_data(flags: argparse.Namespace) -> int:
    """Prints tests/data/traces.jsonl."""
    files = [file for path in flags.traces for file in (path.glob("*.json") if path.is_dir() else [path])]
    lines = data.labelled(files, flags.vramfit) if flags.shares else data.chosen(files, set(flags.stack), set(flags.family))
    for line in lines:
        print(line)
    return 0


def add_tracing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", default=sys.executable, help="the Python that has the libraries of the stack (default: this one)")
    parser.add_argument("--real", action="store_true", help="run on the machine's own GPU instead of pretending one")
    parser.add_argument("--cache", type=Path, help="where the runtime without a device is built (default: the user's cache)")
    parser.add_argument("--time-limit", type=float, default=1800.0, metavar="SECONDS", help="for one job (default: %(default)g)")


def add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--vramfit", default="vramfit", help="the program (default: the one on the PATH)")


def parser() -> argparse.ArgumentParser:
    """One subcommand for each function above."""
    out = argparse.ArgumentParser(prog="trace", description="Traces the real libraries' device memory without a GPU.")
    commands = out.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("run", help="trace a job, or several", description=run.__doc__)
    one.add_argument("job", type=Path, nargs="+", help="a job file, a trace (its job is traced again), or - for the standard input; several: in forked copies of one process")
    one.add_argument("--out", type=Path, help="the trace (default: standard output), of several jobs the folder of their traces")
    one.add_argument("--events", action="store_true", help="also every allocation and free, with its operator")
    one.add_argument("--labels", action="store_true",
                     help="also what every window holds at its peak, by category and module; with --events the label of each allocation")
    one.add_argument("--card", help=f"another card than the job's: {', '.join(CARDS)}, or spelled out")
    one.add_argument("--log", type=Path, help="what the libraries print")
    add_tracing(one)
    one.set_defaults(command=run)

    two = commands.add_parser("compare", help="compare traces with vramfit", description=compare_traces.__doc__)
    two.add_argument("trace", type=Path, nargs="+",
                     help="a trace (one with events has them compared too), or a job, which is traced first")
    two.add_argument("--windows", type=int, default=5, help="how many differing windows to print (default: %(default)d)")
    two.add_argument("--network", type=Path, metavar="FILE", help="a recorded network, which vramfit is asked about in place of the job's configuration")
    two.add_argument("--context", type=int, default=4, help="events around the first that differs (default: %(default)d)")
    add_program(two)
    add_tracing(two)
    two.set_defaults(command=compare_traces)

    many = commands.add_parser("walk", help="trace and compare jobs drawn at random", description=walk.__doc__)
    many.add_argument("folder", type=Path, help="where jobs and traces are kept; a second call goes on where the first ended")
    many.add_argument("--count", type=int, default=10, help="jobs in all (default: %(default)d)")
    many.add_argument("--seed", type=int, default=1)
    many.add_argument("--stack", default="hf-2026-11", help="the name that the jobs carry; --python must have it (default: %(default)s)")
    many.add_argument("--families", nargs="+", default=[], metavar="FAMILY", help="draw from these only")
    many.add_argument("--config", type=Path, nargs="+", default=[], help="config.json files in place of the tiny models of their families")
    many.add_argument("--types", action="store_true", help="draw from the recorded types as well (models/types), whose models are the configurations of their proofs")
    many.add_argument("--supported", action="store_true", help="leave out jobs of which vramfit says that it does not support them")
    many.add_argument("--evaluation", nargs="?", const="eval_strategy", choices=("eval_strategy", "evaluation_strategy"),
                      help="each job evaluates; up to transformers 4.40 the argument is called evaluation_strategy")
    many.add_argument("--no-threads", action="store_true",
                      help="transformers 5 loads without threads (HF_DEACTIVATE_ASYNC_LOAD): no job's figures vary from run to run")
    many.add_argument("--distributed", nargs="+", default=[], choices=sorted(METHODS), metavar="KIND",
                      help=f"each job is one rank of several processes: {', '.join(METHODS)}")
    many.add_argument("--sft", action="store_true", help="each job is one of trl's SFTTrainer")
    many.add_argument("--preferences", nargs="?", const="dpo", choices=("dpo", "older", "reward", "kto", "bco", "orpo", "cpo", "grpo", "rloo", "rewarded", "gkd", "ppo", "llama-factory"),
                      help="each job is one of this trainer of trl's (default: dpo); older: DPO with what trl 0.24 knows")
    many.add_argument("--labels", action="store_true", help="the traces say what every window holds at its peak; compares that too")
    many.add_argument("--stored", action="store_true", help="trace nothing: compare what is there")
    add_program(many)
    add_tracing(many)
    many.set_defaults(command=walk)

    figures = commands.add_parser("data", help="print traces in the form of tests/data/traces.jsonl", description=write_data.__doc__)
    figures.add_argument("traces", type=Path, nargs="+", help="traces, or folders of them")
    figures.add_argument("--stack", nargs="+", default=[], help="only of these stacks")
    figures.add_argument("--family", nargs="+", default=[], help="only of these families (model_type)")
    figures.add_argument("--shares", action="store_true", help="print what the named peaks of labelled traces hold: tests/data/shares.jsonl")
    add_program(figures)
    figures.set_defaults(command=write_data)
    return out


def main() -> int:
    flags = parser().parse_args()
    try:
        return int(flags.command(flags))
    except (JobError, TraceError, PredictionError, OSError, ValueError) as error:
        print(f"trace: {error}", file=sys.stderr)
        return 2
