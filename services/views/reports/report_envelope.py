"""The frame of every report: the selection, the inputs, missing counters, and the reason for a missing answer."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.measures import EVERYTHING

if TYPE_CHECKING:
    from storage.query.answers.figures import Bounded, Figure
    from storage.query.answers.inputs import Inputs, LeftOut, Unavailable
    from storage.query.answers.interference import Source
    from storage.query.answers.selection_echo import MachineSelectionEcho, SelectionEcho

_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


class Report(Protocol):
    """An answer that is shown as a report."""

    @property
    def selection(self) -> "MachineSelectionEcho | SelectionEcho":
        """Which machines or samples, and when."""
        ...

    @property
    def because(self) -> "Unavailable | None":
        """The reason why there is no answer."""
        ...


class _Row(Protocol):
    @property
    def low_confidence(self) -> bool: ...


class _Paged(Protocol):
    @property
    def rows(self) -> Sequence[object]: ...
    @property
    def rows_total(self) -> int: ...


def render_report(
    answer: Report, body: Callable[[], RenderableType], behind: Sequence[Text]
) -> RenderableType:
    """A report: its heading, its body or the reason why there is none, then the lines on what is `behind` it."""
    because = answer.because
    middle = body() if because is None else unavailable(because)
    return Group(heading(answer), middle, *behind)


def unavailable(because: "Unavailable") -> Text:
    """The reason for a missing answer."""
    return Text(f"No result ({because.reason}): {because.detail}", "yellow")


def heading(answer: Report) -> Text:
    """Times, matchers and campaign."""
    selection = answer.selection
    start, end = (time[:16].replace("T", " ") for time in (selection.from_, selection.to))
    parts = [f"{start} – {end} UTC"]
    if selection.select != EVERYTHING:
        parts.append(selection.select)
    parts.append(f"campaign {selection.campaign}")
    return Text(" · ".join(parts), "dim")


def trained_inputs(source: "Source", of: "Inputs") -> list[Text]:
    """As `inputs`, for a model that experiments may train: then no visit is used, and the source's line explains it."""
    return [] if not of.visits and source.trained_by == "experiments" else inputs(of)


def inputs(of: "Inputs") -> list[Text]:
    """The visits behind a report, and the counters missing in others with the reasons."""
    drawn = f"of {of.population:,.0f} machines" if of.design == "random" else "requested by hand"
    lines = [
        Text(
            f"based on {of.used:,} of {of.visits:,} ingested visits {drawn}, {of.covered_seconds / 3600:,.1f} h covered",
            "dim",
        )
    ]
    same: dict[tuple[str, str, int, int], list[str]] = {}
    for one in of.missing:
        same.setdefault((one.platform, one.status, one.errno, one.visits), []).append(one.name)
    for (platform, status, errno, visits), names in same.items():
        where = f"in {visits:,} visits of {platform or 'an unknown platform'}"
        number = f" (errno {errno})" if errno else ""
        lines.append(Text(f"missing: {', '.join(names)}, {status.replace('_', ' ')} {where}{number}", "dim"))
    return lines


def left_out(reasons: "Sequence[LeftOut]") -> list[Text]:
    """Visits that a model cannot use, by reason."""
    return [Text(f"left out: {each.visits:,} visits, {each.why}", "dim") for each in reasons]


def columns(*names: str, wide: Sequence[str] = ()) -> Table:
    """A table without lines; numbers are right-aligned, `wide` columns left-aligned in the remaining width."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        if name in wide:
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    return table


def amount(value: float) -> str:
    """A number with three digits and a prefix: `1.23`, `45.6 k`, `7.89 G`."""
    size, prefix = abs(value), 0
    while size >= 999.5 and prefix < len(_PREFIXES) - 1:
        size, prefix = size / 1000, prefix + 1
    text = f"{value / 1000**prefix:#.3g}".rstrip(".")
    return f"{text} {_PREFIXES[prefix]}" if prefix else text


def figure(
    found: "Bounded | Figure | None", show: Callable[[float], str] = amount, *, low_confidence: bool = False
) -> str:
    """A figure and its interval: `1.23 (1.20–1.26)`; an open end is `…`, a missing figure a dash."""
    if found is None:
        return "–"
    lo, hi = ("…" if end is None else show(end).removesuffix(" %") for end in (found.lo, found.hi))
    mark = " ?" if low_confidence else ""
    return f"{show(found.value)} ({lo}–{hi}){mark}"


def few_note(rows: "Sequence[_Row]") -> list[Text]:
    """The meaning of a question mark, if there is one."""
    return (
        [Text("? low confidence: few visits contribute, the interval is wide", "dim")]
        if any(r.low_confidence for r in rows)
        else []
    )


def more(answer: "_Paged") -> list[Text]:
    """The number of rows that are not shown."""
    left = answer.rows_total - len(answer.rows)
    return [Text(f"{left:,} more rows", "dim")] if left > 0 else []
