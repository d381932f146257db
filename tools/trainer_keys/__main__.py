"""Compares the keys of trainers' configuration files with the lists that the tables were last checked against.

usage: python3 tools/trainer_keys FOLDER [--write] [NAME ...]

FOLDER holds the source of packages as `pip install --no-deps --target FOLDER PACKAGE` leaves it, or each unpacked in a
folder of its own. Prints for each trainer found there what is new, what is gone and which default changed; exits with 1
if there is any. With --write the lists in tests/data/trainer_keys are written anew.
"""
import argparse
import glob
import os
import re
import sys

from source import Package
from trainers import TRAINERS

LISTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "data", "trainer_keys")


def find(folder, package, project):
    """The folder of a package and its release, or nothing."""
    for base in [folder, *sorted(glob.glob(os.path.join(folder, "*", "")))]:
        if not os.path.isfile(os.path.join(base, package, "__init__.py")):
            continue
        infos = glob.glob(os.path.join(base, project + "-*.dist-info", "METADATA")) + glob.glob(os.path.join(base, "PKG-INFO"))
        if infos:
            with open(infos[0], encoding="utf-8") as file:
                return os.path.join(base, package), re.search(r"^Version: (\S+)", file.read(), re.MULTILINE)[1]
    return None


def stored(name):
    """The release and {key: default} of a list."""
    path = os.path.join(LISTS, name + ".txt")
    if not os.path.exists(path):
        return "no release", {}
    with open(path, encoding="utf-8") as file:
        release, *lines = file.read().splitlines()
    return release, dict(line.split(" = ", 1) for line in lines)


def compare(old, new):
    lines = [f"  new      {key} = {new[key]}" for key in sorted(new) if key not in old]
    lines += [f"  gone     {key}" for key in sorted(old) if key not in new]
    return lines + [f"  default  {key}: {old[key]} -> {new[key]}" for key in sorted(new)
                    if key in old and old[key] != new[key]]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_intermixed_args()
    differs = False
    for name in arguments.names or sorted(TRAINERS):
        package, project, keys_of = TRAINERS[name]
        found = find(arguments.folder, package, project)
        if not found:
            continue
        release, keys = f"{project} {found[1]}", keys_of(Package(found[0]))
        old_release, old = stored(name)
        changes = compare(old, keys)
        differs = differs or bool(changes)
        print(f"{name}: {old_release} -> {release}: {len(keys)} keys, {len(changes)} changes", *changes, sep="\n")
        if arguments.write:
            os.makedirs(LISTS, exist_ok=True)
            with open(os.path.join(LISTS, name + ".txt"), "w", encoding="utf-8") as file:
                file.write("\n".join([release, *(f"{key} = {keys[key]}" for key in sorted(keys))]) + "\n")
    return 1 if differs and not arguments.write else 0


if __name__ == "__main__":
    sys.exit(main())
