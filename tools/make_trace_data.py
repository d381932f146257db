#!/usr/bin/env python3
"""Writes the figures of traces of the real libraries in the compact form that tests/traces reads.

    make_trace_data.py FOLDER_OF_TRACES STACK,STACK FAMILY... > tests/data/traces.jsonl

One line a trace: {"name", "job", "outcome", "windows": [[name, requested peak, requested end, allocated peak,
allocated end, reserved peak, reserved end], ...]}; a refused job has the library's message as outcome and no windows.
"""
import json
import pathlib
import sys


def compact(name, trace):
    outcome = trace["outcome"]
    windows = [[w["name"], w["peak"], w["end"], w["allocated"]["peak"], w["allocated"]["end"],
                w["reserved"]["peak"], w["reserved"]["end"]] for w in trace.get("windows", [])]
    return {"name": name, "job": trace["job"], "outcome": outcome, "windows": windows}


def main():
    folder, stacks, families = pathlib.Path(sys.argv[1]), set(sys.argv[2].split(",")), set(sys.argv[3:])
    for path in sorted(folder.glob("*.json")):
        trace = json.loads(path.read_text())
        if trace["job"]["model"]["model_type"] in families and trace["job"].get("stack") in stacks:
            print(json.dumps(compact(path.stem, trace), separators=(",", ":")))


if __name__ == "__main__":
    main()
