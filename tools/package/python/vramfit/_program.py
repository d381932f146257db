"""Finds the program and runs it; its errors become exceptions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._flags import ONE_BY_ONE, SWITCHES


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a question."""

    where: str
    """The flag, or the place in a file; may be empty."""
    what: str
    hint: str
    """What to do next; may be empty."""


class VramfitError(Exception):
    """A question without an answer. `where`, `what` and `hint` are those of the first problem."""

    def __init__(self, problems: Sequence[Problem], document: dict[str, Any] | None = None):
        self.problems = list(problems)
        self.document = document
        """What the program wrote all the same: the refusals of check."""
        self.where, self.what, self.hint = (getattr(self.problems[0], name) for name in ("where", "what", "hint"))
        super().__init__("\n".join(_text_of(problem) for problem in self.problems))


class InvalidQuestion(VramfitError):
    """The question could not be understood."""


class Unsupported(VramfitError):
    """A known question about something that is not supported: an architecture, a quantizer, a method."""


def _text_of(problem: Problem) -> str:
    where = f"{problem.where}: " if problem.where else ""
    return f"{where}{problem.what}" + (f" ({problem.hint})" if problem.hint else "")


def program() -> str:
    """The path of the program: $VRAMFIT_PROGRAM, that of this installation, or the first one on the PATH."""
    given = os.environ.get("VRAMFIT_PROGRAM")
    if given:
        return given
    name = "vramfit" + (sysconfig.get_config_var("EXE") or "")
    user = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else f"{os.name}_user"
    target = Path(__file__).resolve().parents[1] / "bin"  # pip install --target
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user), str(target)):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("vramfit")
    if found:
        return found
    raise FileNotFoundError("the program vramfit is not installed beside this module; pip install --force-reinstall vramfit")


def _words(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, (list, tuple, range)):
        texts = [_words(name, each)[0] for each in value]
        return texts if name in ONE_BY_ONE else [",".join(texts)]
    return [os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


@dataclass(frozen=True)
class Question:
    """The words of a command line, and what the program is to read from standard input."""

    words: list[str]
    text: str = ""


def arguments(command: list[str], flags: Mapping[str, Any]) -> Question:
    """The command with its flags; a job that is a dictionary goes through standard input."""
    words = list(command)
    text = ""
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if name in SWITCHES:
            words += [flag] if value else []
        elif name == "job" and isinstance(value, Mapping):
            words += [flag, "-"]
            text = json.dumps(value)
        else:
            for word in _words(name, value):
                words.append(f"{flag}={word}")
    return Question(words, text)


def _problems(text: str) -> list[Problem]:
    problems: list[Problem] = []
    for line in text.splitlines():
        if line.startswith("error: "):
            where, colon, what = line[len("error: ") :].partition(": ")
            problems.append(Problem(where, what, "") if colon else Problem("", where, ""))
        elif line.startswith("hint: ") and problems:
            problems[-1] = Problem(problems[-1].where, problems[-1].what, line[len("hint: ") :])
    return problems


def run(words: Sequence[str], text: str = "") -> str:
    """What the program prints. Raises VramfitError where it reports an error."""
    done = subprocess.run([program(), *words], input=text, capture_output=True, encoding="utf-8")
    problems = _problems(done.stderr)
    if problems:
        document = json.loads(done.stdout) if done.stdout.startswith("{") else None
        raise (Unsupported if done.returncode == 3 else InvalidQuestion)(problems, document)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"vramfit ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout
