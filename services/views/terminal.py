"""Answers of the API as terminal output.

The input is the answers of `/api/v1/table` and `/api/v1/status`, so terminal and browser show the same figures.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.measures import EVERYTHING, Figure, Measure, figure

if TYPE_CHECKING:
    from storage.query.answers.cost import CostAnswer
    from storage.query.answers.diff import DiffAnswer, DiffRow
    from storage.query.answers.figures import Interval
    from storage.query.answers.reliability import ReliabilityAnswer
    from storage.query.answers.selection_echo import SelectionEcho
    from storage.query.answers.status import StatusAnswer, VisitFailure
    from storage.query.answers.table import TableAnswer
    from storage.query.answers.totals import Totals

_WELL_COVERED = 0.95
"""Share of time or machine-time above which a gap is not mentioned."""

SET_PRICES = "Set prices in the web UI (/settings), by PUT /api/v1/prices, or FLEETPROF_PRICE_PER_CORE_HOUR for all others."

_STRAIGHT = -0.45
"""Slopes up to this mean that distances fall nearly as 1/√samples."""
_TAIL = "many rows have few samples: the distance falls more slowly than 1/√samples"


class WithTotals(Protocol):
    """An answer about samples."""

    @property
    def totals(self) -> "Totals":
        """The samples of the selection."""
        ...


class Compared(WithTotals, Protocol):
    """An answer about two selections."""

    @property
    def selection(self) -> "SelectionEcho":
        """The selection."""
        ...

    @property
    def base(self) -> "SelectionEcho":
        """What it is compared with."""
        ...

    @property
    def base_totals(self) -> "Totals":
        """The samples of the base."""
        ...


class WithLevel(Protocol):
    """An answer with differences of shares."""

    @property
    def interval_level(self) -> float | None:
        """The level of the differences' intervals."""
        ...


def top_table(
    answer: "TableAnswer",
    *,
    rows: int = 20,
    measure: Measure = Measure.SHARE,
    cost: "CostAnswer | None" = None,
) -> RenderableType:
    """Table of the heaviest rows by self; the last line counts the rows not shown.

    Each estimate has its interval; a question mark marks one from few visits.
    """
    totals = answer.totals
    estimated = totals.design == "random" and measure is not Measure.SAMPLES
    # Fixed widths: otherwise rich gives the width of the numbers to a long name.
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("self", justify="right", no_wrap=True, width=7)
    table.add_column(
        "95 %" if estimated else "self s",
        justify="right",
        no_wrap=True,
        width=13 if estimated else 7,
        style="dim",
    )
    table.add_column("total", justify="right", no_wrap=True, width=7)
    functions = all("function" in row.key for row in answer.rows)
    table.add_column(
        "function" if functions else ", ".join(answer.by), no_wrap=True, overflow="ellipsis", ratio=3
    )
    table.add_column("binary" if functions else "", no_wrap=True, overflow="ellipsis", ratio=1, style="dim")
    shown = answer.rows[:rows]
    low_confidence = False
    for row in shown:
        price = cost.price_of(row.key) if cost is not None else None
        own, interval = figure(row, "self", measure, answer, price).text(measure)
        total, _ = figure(row, "total", measure, answer, price).text(measure)
        if row.low_confidence and estimated:
            low_confidence, interval = True, f"{interval} ?"
        table.add_row(own, interval if estimated else seconds(row.self_seconds), total, *_name(row.key))
    left = answer.rows_total - len(shown)
    if left > 0:
        rest = 1.0 - sum(row.self_share for row in shown)
        what = "functions" if functions else "rows"
        rest_share = share(max(rest, 0.0)) if measure is Measure.SHARE else ""
        table.add_row(rest_share, "", "", Text(f"{left:,} more {what}", style="dim"), "")
    if not low_confidence:
        return table
    return Group(table, Text("? low confidence: few visits contribute, the interval is wide", style="dim"))


def prices(cost: "CostAnswer") -> RenderableType:
    """The price of a core-hour, and the platforms without one."""
    missing = [row.platform or "unknown" for row in cost.rows if row.price_per_core_hour is None]
    text = f"a core-hour costs {cost.price_per_core_hour or 0:.4g} on average over the selection's platforms"
    if missing:
        text += (
            f"; {share(cost.unpriced_share)} of the CPU time is on platforms without a price, which count as 0: "
            f"{', '.join(missing)}. {SET_PRICES}"
        )
    return Text(text, style="dim")


def sides(answer: "Compared") -> RenderableType:
    """The times, matchers and totals of both selections of a comparison."""
    return Group(
        Text.assemble(f"now   {_of(answer.selection)}: ", totals_line(answer)),
        Text.assemble(f"base  {_of(answer.base)}: ", _totals(answer.base_totals)),
    )


def level_of(answer: "WithLevel") -> str:
    """The level of a comparison's intervals: `95 %`, `99.98 %`."""
    level = answer.interval_level
    return "" if level is None else f"{100 * level:.4g} %"


def change(row: "DiffRow") -> str:
    """The interval of a row's difference in percentage points; empty if it has none."""
    return "" if row.lo is None or row.hi is None else f"{100 * row.lo:+.2f}…{100 * row.hi:+.2f}"


def differences(answer: "DiffAnswer", *, rows: int = 20) -> RenderableType:
    """Table of two selections' self shares; insignificant differences are grey.

    Without samples on one side every row would seem to appear or disappear, so the result is a sentence.
    """
    for side, totals, with_ in (
        (answer.selection, answer.totals, ""),
        (answer.base, answer.base_totals, " with"),
    ):
        if not totals.samples:
            return Text(f"There are no samples to compare{with_}: nothing was sampled in {_of(side)}.")
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("change", justify="right", no_wrap=True, width=9)
    table.add_column(level_of(answer), justify="right", no_wrap=True, width=15, style="dim")
    table.add_column("self, now", justify="right", no_wrap=True, width=9)
    table.add_column("base", justify="right", no_wrap=True, width=7)
    table.add_column(", ".join(answer.by), no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1, style="dim")
    for row in answer.rows[:rows]:
        table.add_row(
            f"{100 * row.delta:+.2f} pp",
            f"{change(row)} ?" if row.low_confidence else change(row),
            share(row.a_share),
            share(row.b_share),
            *_name(row.key),
            style="" if row.significant else "dim",
        )
    significant = sum(row.significant for row in answer.rows)
    lines = [
        Text(f"{significant} of {len(answer.rows)} rows differ by more than chance; the others are grey.")
    ]
    power = answer.power
    if power is None:
        lines = [Text("The visits were not drawn at random: significance is not known.", style="dim")]
    else:
        lines.append(
            Text(
                f"A row of {share(power.share)} that grows to {power.factor:g} times its size is detected "
                f"with probability {share(power.power)}.",
                style="dim",
            )
        )
    if answer.part < 1:
        lines.append(
            Text(f"Significance was tested on a random {share(answer.part)} of the visits.", style="dim")
        )
    return Group(table, *lines)


def trust(answer: "ReliabilityAnswer") -> RenderableType:
    """The reliability of the profile as a whole."""
    if answer.entropy is None or answer.manhattan is None:
        return Text("No estimate: there are too few visits, or they were not drawn at random.")

    def measured(found: "Interval") -> str:
        return f"{found.value:.3g} ({found.lo:.3g}–{found.hi:.3g})"

    lines = [
        Text(f"entropy of {answer.rows_total:,} rows: {measured(answer.entropy)} nats"),
        Text(f"distance between two random halves of the visits: {measured(answer.manhattan)}, at most 2"),
    ]
    fit = answer.fit
    if fit is None:
        lines.append(
            Text("Too few visits contain the selection to estimate how many more are needed.", style="dim")
        )
    elif not fit.constant.value > 0:
        lines.append(Text(f"all {fit.visits:,} visits that contain the selection have the same profile"))
    else:
        from analysis.convergence import Curve  # noqa: PLC0415 - NumPy, 0.2 s and 10 MB; `up` shows no curve

        ingested = answer.totals.visits_ingested
        curve = Curve(fit.scale, fit.bend)
        now = curve.distance(fit.visits * fit.samples_per_visit)
        lines.append(
            Text(f"distance from the fleet now ≈ {now:.2g}, at most 2, ≈ {fit.constant.value:.3g}/√samples")
        )
        if fit.exponent > _STRAIGHT:
            lines.append(Text(f"{_TAIL} (slope {fit.exponent:.2f}, not -0.5)", style="dim"))
        for distance in (0.2, 0.1, 0.05):
            samples = curve.samples(distance)
            visits = samples / fit.samples_per_visit
            needed = f"  within {distance:g}: {samples:,.0f} samples, about {visits:,.0f} visits"
            if fit.visits < ingested:
                # Future visits have the selection as rarely as past ones.
                needed += (
                    f" that contain the selection, {visits * ingested / fit.visits:,.0f} of the campaign"
                )
            lines.append(Text(needed, style="dim"))
        if fit.visits < ingested:
            lines.append(
                Text(f"{fit.visits:,} of {ingested:,} ingested visits contain the selection", style="dim")
            )
    return Group(*lines)


def totals_line(answer: "WithTotals") -> Text:
    """One line: samples, the estimate for the fleet, and the shares with names and complete stacks."""
    return _totals(answer.totals)


def _totals(totals: "Totals") -> Text:
    if not totals.samples:
        return _nothing_seen(totals)
    parts = [f"{totals.samples:,} samples"]
    if totals.design == "random":
        cores = totals.cores
        if cores is not None:
            value, interval = Figure(cores.value, cores.lo, cores.hi).text(Measure.CORES)
            parts.append(f"{value} cores busy ({interval})")
        parts.append(
            f"{_counted(totals.visits_ingested, 'visit')} of {_counted(totals.population, 'machine')}"
        )
        if totals.visits_waiting:
            parts.append(f"{_counted(totals.visits_waiting, 'visit')} not ingested yet")
        if totals.covered_seconds < _WELL_COVERED * totals.selected_seconds:
            parts.append(f"{share(totals.covered_seconds / totals.selected_seconds)} of the time covered")
        parts += [f"no data is stored for {span.begin} to {span.end}" for span in totals.missing]
        if totals.uncovered_share > 1 - _WELL_COVERED:
            parts.append(f"{share(totals.uncovered_share)} of machine-time unseen")
    else:
        visits = "–" if totals.visits is None else f"{totals.visits:,}"
        message = (
            f"{totals.units:,} events"
            if totals.seconds is None
            else f"{seconds(totals.seconds)} core-seconds"
        )
        parts += [message, f"{visits} visits"]
    if totals.approximate:
        parts.append("only a random part of the visits was read")
    parts += [f"{share(totals.symbolized)} symbolized", f"{share(totals.complete)} of stacks complete"]
    return Text(" · ".join(parts))


def _nothing_seen(totals: "Totals") -> Text:
    """The visits that saw nothing, and the upper bound that follows: unseen is not absent."""
    ingested = totals.visits_ingested
    if not ingested:
        return Text("No profile of this time range has been ingested.")
    who = (
        "The only ingested visit has no samples of the selection"
        if ingested == 1
        else f"None of {ingested:,} ingested visits has samples of the selection"
    )
    cores = totals.cores
    if cores is None:
        return Text(f"{who}.")
    most, _ = Figure(cores.hi).text(Measure.CORES)
    return Text(f"{who}: with 95 % confidence it uses less than {most} {'core' if most == '1' else 'cores'}.")


def _counted(number: float, noun: str) -> str:
    return f"{number:,.0f} {noun}{'' if round(number) == 1 else 's'}"


def status_lines(status: "StatusAnswer", *, why_follows: bool = False) -> list[Text]:
    """Problems of the running stack; empty if there are none.

    `why_follows`: the output below has the reasons of failed visits, so the line does not refer to `fleetprof status`.
    """
    lines = [
        Text(f"campaign {campaign.name} is {campaign.state}: {campaign.why}", style="bold red")
        for campaign in status.campaigns
        if campaign.state == "stopped"
    ]
    lines += [
        Text(
            f"campaign {campaign.name} draws {share(campaign.drawn_share)} of its visits: captures wait too long to be "
            "ingested. Run more workers.",
            style="yellow",
        )
        for campaign in status.campaigns
        if campaign.drawn_share < 1
    ]
    if status.captures.quarantined:
        lines.append(
            Text(
                f"{status.captures.quarantined} captures could not be ingested and were quarantined: fleetprof captures list",
                style="red",
            )
        )
    failed = {
        k: v for k, v in status.visits.last_hour.items() if k not in {"answered", "drawn", "lost"} and v
    }
    if failed:
        lines.append(
            Text(
                "visits that failed in the last hour: "
                + ", ".join(f"{v} {k}" for k, v in failed.items())
                + ("" if why_follows else "; `fleetprof status` shows the reasons"),
                style="yellow",
            )
        )
    return lines


def fleet_lines(status: "StatusAnswer") -> list[Text]:
    """The fleet's coverage and all problems."""
    captures, machines = status.captures, status.machines
    hour = ", ".join(f"{count} {outcome}" for outcome, count in sorted(status.visits.last_hour.items()))
    oldest = captures.oldest_waiting_s
    waits = f", the oldest for {oldest:.0f} s" if oldest is not None else ""
    return [
        Text(f"{machines.enabled} of {machines.total} machines may be visited"),
        *(
            Text(f"campaign {each.name} is {each.state}, a round every {each.period_s:g} s")
            for each in status.campaigns
        ),
        Text(f"visits of the last hour: {hour or 'none'}"),
        Text(
            f"captures waiting to be ingested: {captures.waiting}{waits}; to be reprocessed with better symbols: {captures.to_reprocess}"
        ),
        *status_lines(status, why_follows=True),
        *failure_lines(status),
        *nameless_lines(status),
    ]


def failure_lines(status: "StatusAnswer", *, most: int = 10) -> list[Text]:
    """The reasons of failed visits in the last day, most frequent first."""
    failures = status.visits.failures[:most]
    if not failures:
        return []
    return [Text("Visits that failed in the last day:"), *map(_failure, failures)]


def _failure(failure: "VisitFailure") -> Text:
    machines = "1 machine" if failure.machines == 1 else f"{failure.machines:,} machines"
    where = f"{machines}, latest {failure.example} at {failure.latest}"
    return Text.assemble(
        (f"  {failure.visits:>6} {failure.outcome:<12}", "yellow"),
        f" {failure.detail or '(no reason given)'}",
        (f"  {failure.visits_last_hour} in the last hour, {where}", "dim"),
    )


def nameless_lines(status: "StatusAnswer", *, least: float = 0.02, most: int = 4) -> list[Text]:
    """Binaries with nameless code and the reasons, those with most samples first; none below the share `least`."""
    missing = [entry for entry in status.symbols.missing if entry.share >= least][:most]
    lines = [
        Text(
            f"  {share(entry.share)} of samples pass through {entry.binary}. {entry.reason}",
            style="dim",
        )
        for entry in missing
    ]
    return [Text("Functions without names:", style="dim"), *lines] if lines else []


def live(answer: "TableAnswer", status: "StatusAnswer", *, rows: int) -> RenderableType:
    """The screen of `fleetprof up` while it runs."""
    waiting = status.captures.waiting
    head = totals_line(answer)
    if waiting:
        head.append(f" · {waiting} captures waiting to be ingested", style="yellow")
    body: RenderableType = (
        top_table(answer, rows=rows)
        if answer.rows
        else Text("The first captures are being taken and ingested …", style="dim")
    )
    return Group(head, *status_lines(status), Text(""), body)


def share(value: float | None) -> str:
    """A share as a percentage with one digit, or a dash if unknown."""
    return "–" if value is None else f"{value:.1%}".replace("%", " %")


def seconds(value: float | None) -> str:
    """Seconds with a precision that fits their size, or a dash if the event does not count time."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def _of(selection: "SelectionEcho") -> str:
    """A selection's times, to the minute, and its matchers: `2026-11-21 04:00–05:00 UTC {version="2"}`."""
    start, end = (time[:16].replace("T", " ") for time in (selection.from_, selection.to))
    day, _ = start.split()
    times = f"{start}–{end.removeprefix(day).strip()} UTC"
    return times if selection.select == EVERYTHING else f"{times} {selection.select}"


def _name(key: Mapping[str, str]) -> tuple[Text, Text]:
    """A row's name: its function and binary, or its labels; a line number follows its function or file."""
    line = key.get("line", "0")
    of_line = f":{line}" if line != "0" else ""
    if "function" not in key:
        names = [value or "(none)" for name, value in key.items() if name != "line"]
        if "line" in key:  # after the file
            place = [name for name in key if name != "line"].index("file")
            names[place] += of_line
        return Text(", ".join(names)), Text("")
    named = key.get("status") in {"full", "symtab"}
    labels = [value for name, value in key.items() if name not in _OF_FUNCTIONS]
    text = Text(" · ".join([key["function"] + of_line, *labels]), style="" if named else "italic dim")
    return text, Text(key.get("binary", ""))  # "[kernel]" is a name, not rich's markup


_OF_FUNCTIONS = frozenset({"function", "file", "line", "binary", "status", "kind"})
