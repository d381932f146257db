"""What answers can do beside holding values: other reports of the same question, and how notebooks show them."""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, Any

from ._program import Question, VramfitError, run

if TYPE_CHECKING:
    from ._documents import Prediction, Sweep, Timeline

_GIB = 1 << 30
_VERDICTS = {
    "fits": ("fits", "#2e7d32"),
    "tight": ("tight", "#b26a00"),
    "too_large": ("too large", "#c62828"),
    "unknown": ("unknown", "#616161"),
    "not_asked": ("no GPU was given", "#616161"),
}


class Answer:
    """An answer that remembers its question."""

    def _keep(self, document: dict[str, Any], question: Question) -> None:
        object.__setattr__(self, "document", document)  # the dataclasses are frozen
        object.__setattr__(self, "_question", question)

    if TYPE_CHECKING:
        document: dict[str, Any]
        """The JSON document as it was read, with keys that have no attribute."""
        _question: Question

    def report(self, format: str = "text") -> str:
        """The same question, answered in another format of the command: "text", "csv", "svg", ..."""
        return run([*self._question.words, f"--format={format}"], self._question.text)


def _bar(parts: list[tuple[str, int, str]], whole: int) -> str:
    """Parts of a whole side by side, with their names where the pointer is; what is over the whole is cut off."""
    out = '<div style="display:flex;max-width:32em;height:1em;border:1px solid #9e9e9e;margin:.3em 0;overflow:hidden">'
    for name, part, color in parts:
        width = min(100.0, 100 * part / whole)
        out += f'<div title="{html.escape(name)}: {_gib(part)}" style="flex:none;width:{width:.1f}%;background:{color}"></div>'
    return out + "</div>"


def _image(svg: str) -> str:
    """A picture that keeps its styles to itself: those of SVG in a page hold for the whole page."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def _gib(count: int) -> str:
    return f"{count / _GIB:.2f} GiB"


def _table(head: list[str], rows: list[list[str]]) -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


class PredictionDisplay(Answer):
    def _repr_html_(self: Prediction) -> str:  # type: ignore[misc]
        word, color = _VERDICTS[self.verdict]
        usable = self.device.get("usable")
        reserved = self.peak.reserved
        size = _gib(reserved) + (f" of {_gib(usable)} on {self.device['name']}" if usable else "")
        out = f"<div><b style=\"color:{color}\">{word}</b>: {html.escape(self.model['name'])}, {html.escape(size)}"
        if usable:
            context = self.device.get("context") or 0
            out += _bar([("CUDA context", context, "#9e9e9e"), ("PyTorch", reserved, color)], usable + context)
        rows = [[peak.name, _gib(peak.requested), _gib(peak.allocated), _gib(peak.reserved)] for peak in self.peaks]
        return out + _table(["peak", "requested", "allocated", "reserved"], rows) + "</div>"


class SweepDisplay(Answer):
    @property
    def rows(self: Sweep) -> list[dict[str, Any]]:  # type: ignore[misc]
        """The ranking as flat rows, for pandas.DataFrame(sweep.rows); sizes are bytes."""
        out: list[dict[str, Any]] = []
        for row in self.ranking:
            peft = row.plan["peft"]
            targets = peft["target_modules"] if peft else None
            out.append(
                {
                    "place": row.rank,
                    **(row.choices or {}),
                    "targets": ",".join(targets) if isinstance(targets, list) else targets,
                    "rank": peft["r"] if peft else None,
                    "batch": row.plan["training"]["per_device_train_batch_size"],
                    "sequence_length": row.plan["batch"]["sequence_length"],
                    "requested": row.requested,
                    "allocated": row.allocated,
                    "reserved": row.reserved,
                    "utilization": row.utilization,
                    "peak": row.peak,
                    "command": row.command,
                }
            )
        return out

    def _repr_svg_(self) -> str | None:
        return _picture(self) or None

    def map(self) -> str:
        """The space as a picture in SVG: two axes, and what fits. The sweep is run again for it."""
        return self.report("svg")

    def _repr_html_(self: Sweep) -> str:  # type: ignore[misc]
        rows = self.rows
        head = [name for name in rows[0] if name != "command"] if rows else []
        sizes = {"requested", "allocated", "reserved"}
        shown = [[_gib(row[name]) if name in sizes else str(row[name]) for name in head] for row in rows[:10]]
        for line in shown:
            line[head.index("utilization")] = f"{float(line[head.index('utilization')]):.1%}"
        picture = _picture(self)
        text = f"{self.counts.total:,} configurations of {self.model} on {self.device['name']}"
        return f"<div>{html.escape(text)}{_table(head, shown) if rows else ': none fits'}{_image(picture) if picture else ''}</div>"


def _picture(sweep: SweepDisplay) -> str:
    try:
        return sweep.map()
    except VramfitError:  # one axis, or the largest value of one: no map
        return ""


class PlanDisplay(Answer):
    pass


class CheckDisplay(Answer):
    pass


class TimelineDisplay(Answer):
    def _repr_svg_(self: Timeline) -> str:  # type: ignore[misc]
        return self.report("svg")

    def _repr_html_(self: Timeline) -> str:  # type: ignore[misc]
        return _image(self.report("svg"))
