"""Options for the events that a visit samples and counts."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from storage.campaigns import Counted, EventPlan

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)hz", re.IGNORECASE)

Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        metavar="EVENT",
        help=(
            "Event to sample, with an optional period (@97: every 97th) or rate (@99hz): cpu@99hz, page-faults, "
            "tracepoint:sched:sched_switch@97, raw:0x1c2, pmu:NAME:TERM=VALUE; repeatable (docs/events.md)."
        ),
    ),
]
InTurn = Annotated[
    bool, typer.Option("--in-turn", help="Sample one event after the other instead of all together.")
]
Flat = Annotated[bool, typer.Option("--flat", help="Record only the innermost function, without callers.")]
Counters = Annotated[
    list[str] | None,
    typer.Option(
        "--counter",
        metavar="EVENT",
        help="Also count this event, besides the default ones; repeatable.",
    ),
]
Cgroups = Annotated[
    int | None,
    typer.Option(
        "--cgroups",
        min=0,
        max=16,
        metavar="N",
        help="Also count cycles and instructions of this many control groups.",
    ),
]


def events_of(
    texts: Sequence[str], *, seconds: float, rate: float | None, in_turn: bool, flat: bool
) -> "tuple[EventPlan, ...]":
    """Events of the `--event` options; `rate` applies to events sampled by time without a rate.

    Raises typer.BadParameter for an invalid period or rate after @.
    """
    from collector.event_names import COUNTS_TIME  # noqa: PLC0415 - a command imports what it runs
    from storage.campaigns import EventPlan  # noqa: PLC0415

    plans = []
    for turn, text in enumerate(texts):
        name, at, pace = text.rpartition("@") if "@" in text else (text, "", "")
        period, rate_hz = _pace(text, pace) if at else (0, 0.0)
        if not at and rate is not None and name in COUNTS_TIME:
            rate_hz = rate
        plans.append(
            EventPlan(
                name,
                duration_ms=round(seconds * 1000),
                rate_hz=rate_hz,
                period=period,
                stacks=not flat,
                turn=turn if in_turn else 0,
            )
        )
    return tuple(plans)


def counted_of(counters: Sequence[str] | None, cgroups: int | None, before: "Counted") -> "Counted":
    """Counters of a campaign; an omitted option keeps the value of `before`."""
    from storage.campaigns import Counted  # noqa: PLC0415

    return Counted(
        before.events if counters is None else tuple(name for name in counters if name),
        before.cgroups if cgroups is None else cgroups,
    )


def _pace(text: str, pace: str) -> tuple[int, float]:
    """(period, rate in Hz), one of them 0."""
    if rate := _RATE.fullmatch(pace):
        return 0, float(rate[1])
    if pace.isascii() and pace.isdigit() and 0 < int(pace) < 1 << 62:
        return int(pace), 0.0
    raise typer.BadParameter(
        f"Invalid event {text!r}: expected a period (@97) or a rate (@99hz) after the @."
    )
