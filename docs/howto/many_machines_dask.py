"""The parts of a sweep as tasks of Dask: many_machines_dask.py PARTS FLAGS..."""
import subprocess
import sys
import tempfile

from dask.distributed import Client


def part(k, parts, flags):
    """The K-th part as text: workers need no folder in common. Exit status 1: nothing in it fits, no failure."""
    shard = ["--shard", f"{k}/{parts}", "--format", "json"]
    done = subprocess.run(["vramfit", "sweep", *flags, *shard], stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"part {k}: vramfit ended with {done.returncode}")
    return done.stdout


def main():
    parts, flags = int(sys.argv[1]), sys.argv[2:]
    with Client() as client, tempfile.TemporaryDirectory() as folder:  # Client("ADDRESS:8786") for a cluster
        files = []
        for k, text in enumerate(client.gather(client.map(part, range(1, parts + 1), parts=parts, flags=flags)), 1):
            files.append(f"{folder}/part-{k}.json")
            with open(files[-1], "w", encoding="utf-8") as file:
                file.write(text)
        raise SystemExit(subprocess.run(["vramfit", "sweep", "--merge", *files]).returncode)


if __name__ == "__main__":
    main()
