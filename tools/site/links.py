"""Checks the links of every Markdown file in the repository: files exist, headings have the anchors that are named, and
every page of docs/ stands in the site's navigation."""
from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!\\)!?\[[^\]]*\]\(([^)\s]+)\)")


def prose(path: Path) -> list[str]:
    """Lines outside of code blocks."""
    out, inside = [], False
    for line in path.read_text().splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            out.append(re.sub(r"`[^`]*`", lambda code: code[0] if "](" not in code[0] else "", line))
    return out


@cache
def anchors(path: Path) -> set[str]:
    """Anchors of headings as GitHub makes them."""
    out: set[str] = set()
    for line in prose(path):
        if not re.match(r"#{1,6} ", line):
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("# ")).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        number = sum(1 for known in out if re.fullmatch(re.escape(slug) + r"(-\d+)?", known))
        out.add(slug if number == 0 else f"{slug}-{number}")
    return out


def problems(path: Path) -> list[str]:
    out = []
    for line in prose(path):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists():
                out.append(f"{target}: no such file")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                out.append(f"{target}: no such heading")
    return out


def left_out() -> list[str]:
    """Pages of docs/ that the site's navigation does not name."""
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "tools/site/mkdocs.yml").read_text()))
    pages = (page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))
    return [f"docs/{page}: not in the nav of tools/site/mkdocs.yml" for page in sorted(pages) if page not in named]


def main() -> int:
    pages = sorted([*ROOT.glob("*.md"), *(page for folder in ("docs", "tools", "tests") for page in (ROOT / folder).rglob("*.md"))])
    found = [f"{page.relative_to(ROOT)}: {problem}" for page in pages for problem in problems(page)]
    found += left_out()
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())
