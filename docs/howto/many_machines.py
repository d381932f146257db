"""Runs the parts of a sweep side by side and prints the answer of the whole: many_machines.py PARTS FLAGS..."""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor


def part(k, parts, flags, folder):
    """The K-th part as a file. Exit status 1 means that nothing in it fits: no failure."""
    path = os.path.join(folder, f"part-{k}.json")
    shard = ["--shard", f"{k}/{parts}", "--format", "json", "--output", path]
    status = subprocess.run(["vramfit", "sweep", *flags, *shard]).returncode
    if status not in (0, 1):
        raise SystemExit(status)
    return path


def main():
    parts, flags = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            files = list(pool.map(lambda k: part(k, parts, flags, folder), range(1, parts + 1)))
        raise SystemExit(subprocess.run(["vramfit", "sweep", "--merge", *files]).returncode)


if __name__ == "__main__":
    main()
