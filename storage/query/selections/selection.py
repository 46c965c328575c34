"""The selection of a query: event, time range, matchers, stack filters. Every view takes one."""

from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any

from storage.errors import BadSelection
from storage.query.selections import patterns
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.matchers import Matcher, format_matchers
from storage.query.selections.texts import require_text
from storage.query.selections.times import format_time, parse_time

DEFAULT_EVENT = "cpu"
DEFAULT_CAMPAIGN = "fleet"
LONGEST_NAME = 200
"""Characters of an event's, unit's or campaign's name."""
PATTERNS = ("focus", "ignore", "hide", "show", "show_from")
"""The parameters that are regular expressions on frames."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The samples of one event of one campaign from visits drawn in [start, end).

    Two campaigns are two samples of one population, so a selection never adds them up (docs/numbers.md). Label matchers
    define the denominator of shares; frame filters (`filters_stacks`) select a part of it. A pattern matches a frame if
    it matches its function, file or binary somewhere; the empty pattern does not filter (docs/selections.md).
    """

    start: datetime
    end: datetime
    event: str = DEFAULT_EVENT
    unit: str = ""
    """Unit of the sample type; empty: nanoseconds if the event has them, else its first unit."""
    matchers: tuple[Matcher, ...] = ()
    """Matchers on labels."""
    frames: tuple[Matcher, ...] = ()
    """Matchers on frames: they select stacks."""
    campaign: str = DEFAULT_CAMPAIGN
    focus: str = ""
    """Keep stacks with a frame that matches."""
    ignore: str = ""
    """Drop stacks with a frame that matches."""
    hide: str = ""
    """Remove matching frames from their stacks."""
    show: str = ""
    """Remove frames that do not match from their stacks."""
    show_from: str = ""
    """After that, remove the frames above the outermost matching frame; drop stacks without one."""

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise BadSelection(
                f"The time range is empty: from {format_time(self.start)} to {format_time(self.end)}.",
                hint="Set `from` to a time before `to`.",
                parameter="from",
            )
        for name in ("event", "unit", "campaign"):
            what = f"The {name}'s name"
            require_text(getattr(self, name), longest=LONGEST_NAME, what=what, parameter=name)
        if not self.event:
            raise BadSelection("The event's name is empty.", parameter="event")
        for name in PATTERNS:
            if getattr(self, name):
                patterns.search(getattr(self, name), parameter=name)

    @property
    def select(self) -> str:
        """The matchers as text that parses to the same matchers."""
        return format_matchers((*self.matchers, *self.frames))

    @property
    def filters_stacks(self) -> bool:
        """The selection has frame filters, or shows parts of stacks."""
        return bool(self.frames or self.focus or self.ignore or self.contracts_stacks)

    @property
    def contracts_stacks(self) -> bool:
        """Stacks are shown without some of their frames."""
        return bool(self.hide or self.show or self.show_from)


def selections_of(question: Any) -> list[Selection]:
    """The selections of a query."""
    if not is_dataclass(question):
        return []
    values = (getattr(question, field.name) for field in fields(question))
    return [value for value in values if isinstance(value, Selection)]


def parse_selection(
    *,
    event: str = DEFAULT_EVENT,
    unit: str = "",
    start: str = "now-1h",
    end: str = "now",
    select: str = "{}",
    campaign: str = DEFAULT_CAMPAIGN,
    focus: str = "",
    ignore: str = "",
    hide: str = "",
    show: str = "",
    show_from: str = "",
    now: datetime | None = None,
    prefix: str = "",
) -> Selection:
    """The selection of these texts; relative times count from `now`.

    Raises `BadSelection` with the parameter and the position of the error. `prefix` is prepended to parameter names in
    errors, for example `base_`.
    """
    moment = now or datetime.now(UTC)
    try:
        matchers = parse_matchers(select)
        if prefix:
            matchers = tuple(replace(matcher, parameter=prefix + matcher.parameter) for matcher in matchers)
        return Selection(
            start=parse_time(start, now=moment, parameter="from"),
            end=parse_time(end, now=moment, parameter="to"),
            event=event,
            unit=unit,
            matchers=tuple(matcher for matcher in matchers if not matcher.on_frames),
            frames=tuple(matcher for matcher in matchers if matcher.on_frames),
            campaign=campaign,
            focus=focus,
            ignore=ignore,
            hide=hide,
            show=show,
            show_from=show_from,
        )
    except BadSelection as error:
        if error.parameter:
            error.parameter = prefix + error.parameter
        raise
