"""The commands."""
from __future__ import annotations

import argparse
import gc
import json
import sys
import warnings
from pathlib import Path
from typing import Any


def parser() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(prog="vramfit_record", description="Records what a network does in a training step, without a GPU and without weights.")
    flags.add_argument("network", nargs="*", help="a folder with config.json, a config.json, a name in the local cache of the hub, or a model type")
    flags.add_argument("--out", type=Path, help="where the recording goes (standard output)")
    flags.add_argument("--head", choices=("causal_lm", "sequence_classification", "token_classification"), default="causal_lm")
    flags.add_argument("--variants", choices=("all", "trainer", "base"), default="trainer",
                       help="what Trainer runs with a tokenizer's mask and the class's own attention (default); all: other attention implementations, no mask, a cache and no labels as well; base: a single one, without a mask")
    flags.add_argument("--vary", action="append", default=[], metavar="KEY=N,N,N", help="a key of the configuration with three values: sizes become formulas of it as well")
    flags.add_argument("--trust-remote-code", action="store_true", help="run the Python that comes with the model")
    flags.add_argument("--download", action="store_true", help="fetch a config.json that is not in the cache")
    flags.add_argument("--coverage", action="store_true", help="record every causal-LM type of the installed transformers (or those named), and print a table; --out is a folder")
    flags.add_argument("--types", action="store_true", help="record model types, so that any config.json of them is known: --out is a folder with a file for each; those that are there are left")
    flags.add_argument("--same", action="store_true", help="are the types of the folder --out the same under the installed transformers? Configurations of --proven are recorded again, and the answer is written into the types")
    flags.add_argument("--proven", type=Path, default=Path("proven.jsonl"), help="with --types: where configurations go that were compared with recordings of their own")
    flags.add_argument("--proofs", type=int, default=5, metavar="N", help="with --types: how many configurations by chance are compared")
    flags.add_argument("--seconds", type=int, default=180, help="how long one type may take with --coverage or --types")
    return flags


def varied(text: str) -> tuple[str, tuple[int, ...]]:
    key, _, numbers = text.partition("=")
    found = tuple(int(n) for n in numbers.split(",")) if all(n.isdigit() for n in numbers.split(",")) else ()
    if len(found) != 3:
        raise ValueError(f"--vary {text}: wanted is a key and three numbers, like hidden_size=64,96,160")
    return key, found


def record(flags: argparse.Namespace) -> int:
    from . import networks
    from .passes import Refused
    from .record import record_network
    from .variants import BASE, TRAINER, TRAINING

    try:
        config = networks.read_config(flags.network[0], flags.trust_remote_code, flags.download)
        variants = {"all": TRAINING, "trainer": TRAINER, "base": (BASE,)}[flags.variants]
        gc.freeze()  # the libraries' own objects, which each collection before a pass would go through
        made = record_network(config, flags.head, variants, flags.trust_remote_code, dict(map(varied, flags.vary)))
    except (networks.NotFound, Refused, ValueError, OSError) as error:
        print(f"vramfit_record: {error}", file=sys.stderr)
        return 2
    text = json.dumps(made, separators=(",", ":"), allow_nan=False)
    if flags.out:
        flags.out.write_text(text + "\n")
    else:
        print(text)
    for line in notes(made):
        print(line, file=sys.stderr)
    return 0 if made["variants"] else 3


def notes(made: dict[str, Any]) -> list[str]:
    """What was not recorded, or not for every size."""
    keys = ("attention", "mask", "use_cache", "labels", "checkpointing")
    lines = [f"not recorded: {', '.join(f'{k} {r[k]}' for k in keys)}: {r['reason']}" for r in made["refused"]]
    lines += sorted({f"only for its own sizes and dtypes: {', '.join(f'{k} {r[k]}' for k in keys)}: {r['because']}" for r in made["variants"] if "only" in r})
    lines += [f"no formula: {text}" for r in made["variants"] for text in r.get("not_fitted", ())]
    return lines


def main(arguments: list[str] | None = None) -> int:
    flags = parser().parse_args(arguments)
    warnings.filterwarnings("ignore")
    if flags.coverage:
        from .coverage import all_types, run

        return run(flags.network or all_types(), flags.variants == "all", flags.out, flags.seconds)
    if flags.same:
        from .types.releases import run as run_releases

        return run_releases(flags.out or Path("types"), flags.proven, flags.network)
    if flags.types:
        from .coverage import all_types
        from .types.runs import run as run_types

        return run_types(flags.network or all_types(), flags.out or Path("types"), flags.proven, flags.proofs, flags.seconds)
    if len(flags.network) != 1:
        print("vramfit_record: one network is recorded at a time", file=sys.stderr)
        return 2
    import transformers

    transformers.logging.set_verbosity_error()
    return record(flags)
