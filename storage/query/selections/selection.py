"""What a question is about: event, time range, label matchers, frames. Every view takes one."""

from dataclasses import dataclass
from datetime import UTC, datetime

from storage.errors import BadSelection
from storage.query.selections import patterns
from storage.query.selections.matchers import Matcher, format_matchers, parse_matchers
from storage.query.selections.times import format_time, parse_time

DEFAULT_EVENT = "cpu"
DEFAULT_CAMPAIGN = "fleet"
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Selection:
    """The samples of one event of one campaign whose visit was drawn in [start, end).

    Two campaigns are two samples of one population, so a selection never adds them (docs/numbers.md).
    """

    start: datetime
    end: datetime
    event: str = DEFAULT_EVENT
    unit: str = ""
    """Of the sample type; empty: nanoseconds where the event has them, else its first unit."""
    matchers: tuple[Matcher, ...] = ()
    campaign: str = DEFAULT_CAMPAIGN
    focus: str = ""
    """Keep stacks with a function whose name matches this somewhere; empty: all."""
    ignore: str = ""
    """Drop stacks with a function whose name matches this somewhere; empty: none."""

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise BadSelection(
                f"The time range is empty: it goes from {format_time(self.start)} to {format_time(self.end)}.",
                hint="Give a `from` that lies before `to`.",
            )
        names = (self.event, self.unit, self.campaign)
        if not self.event or any(len(name) > _LONGEST_NAME or "\0" in name for name in names):
            raise BadSelection(
                "The event's, unit's or campaign's name is empty, too long or has a NUL character."
            )
        for pattern in (self.focus, self.ignore):
            if pattern:
                patterns.search(pattern)

    @property
    def select(self) -> str:
        """The matchers as text, in the form that parses to them."""
        return format_matchers(self.matchers)


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
    now: datetime | None = None,
) -> Selection:
    """The selection that these texts mean; `now` is what relative times count from.

    Raises `BadSelection`, with the character position where `select` is wrong.
    """
    moment = now or datetime.now(UTC)
    return Selection(
        start=parse_time(start, now=moment),
        end=parse_time(end, now=moment),
        event=event,
        unit=unit,
        matchers=parse_matchers(select),
        campaign=campaign,
        focus=focus,
        ignore=ignore,
    )
