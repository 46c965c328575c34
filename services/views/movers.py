"""The movers of two selections, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.terminal import change, level_of, share

if TYPE_CHECKING:
    from storage.query.answers.movers import Mover, MoversAnswer

_NONE = "(none)"


def movers(answer: "MoversAnswer") -> RenderableType:
    """The movers and their causes in the answer of `/api/v1/movers`."""
    if answer.because is not None:
        return Text(f"No mover is reported. {answer.because.detail}")
    lines: list[RenderableType] = []
    if answer.movers:
        lines.append(_table(answer))
    else:
        lines.append(
            Text(
                f"None of {answer.examined:,} rows changed significantly and by {share(answer.least)} or more."
            )
        )
    if answer.power is not None:
        lines.append(
            Text(
                f"A row of 1.0 % that grows to 1.5 times its size is detected with probability {share(answer.power)}.",
                style="dim",
            )
        )
    if answer.compared_part < 1:
        message = f"Significance was tested on a random {share(answer.compared_part)} of the visits."
        lines.append(Text(message, style="dim"))
    if answer.part < 1:
        lines.append(
            Text(f"Causes were searched in a random {share(answer.part)} of the visits.", style="dim")
        )
    return Group(*lines)


def cause(mover: "Mover") -> Text:
    """A row's cause in one line: the label and its part of the change, or the reason why the cause is unknown."""
    found = mover.cause
    if mover.release is not None:
        release = mover.release
        text = Text(f"release {release.version} of {release.application}")
        text.append(f" after {release.previous or _NONE}", style="dim")
        for one in found.inseparable if found is not None else ():
            text.append(f"; inseparable from {one.label} {one.value or _NONE}")
        return text
    if found is None:
        why = mover.because
        return Text("" if why is None or why.reason == "not_computed" else why.detail, style="dim")
    best = found.best
    if best is None:
        return Text("no label explains half of the change", style="dim")
    explained = best.explained
    how = "its part of the whole changed" if best.kind == "mix" else "the row changed within it"
    text = Text(f"{best.label} {best.value or _NONE}: {how}, {explained.value:.0%}")
    text.append(f" ({explained.lo:.0%}–{explained.hi:.0%})", style="dim")
    for one in found.inseparable:
        text.append(f"; inseparable from {one.label} {one.value or _NONE}")
    return text


def _table(answer: "MoversAnswer") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("change", justify="right", no_wrap=True, width=9)
    table.add_column(level_of(answer), justify="right", no_wrap=True, width=13, style="dim")
    table.add_column("now", justify="right", no_wrap=True, width=7)
    table.add_column("base", justify="right", no_wrap=True, width=7)
    table.add_column(", ".join(answer.by), no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column("explained by", overflow="fold", ratio=3)
    for mover in answer.movers:
        key = mover.key
        name = key.get("function") or ", ".join(value or _NONE for value in key.values())
        table.add_row(
            f"{100 * mover.delta:+.2f} pp",
            change(mover),
            share(mover.a_share),
            share(mover.b_share),
            Text(name),
            cause(mover),
        )
    return table
