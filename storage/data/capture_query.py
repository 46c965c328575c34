"""Maps a selection to the visits whose captures it contains.

A capture is of a whole machine. So matchers on the machine and its location filter visits. Matchers on processes filter
visits with an ingested profile that satisfies all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, exists
from sqlalchemy.sql.elements import ColumnElement

from storage.data.visit_rows import VisitRow
from storage.errors import BadSelection
from storage.query.facts.visit_scan import campaign_of
from storage.query.selections import label_names
from storage.query.selections.matchers import Matcher
from storage.query.selections.selection import DEFAULT_EVENT, Selection
from storage.schema import machine, profile, stratum, visit

_COLUMNS = {
    "machine": machine.c.name,
    "datacenter": stratum.c.datacenter,
    "platform": stratum.c.platform,
    "cluster": visit.c.cluster,
}
_VALUES: dict[str, Callable[[VisitRow], str]] = {
    "machine": lambda row: row.machine,
    "datacenter": lambda row: row.datacenter,
    "platform": lambda row: row.platform,
    "cluster": lambda row: row.cluster,
}


@dataclass(frozen=True, slots=True)
class AskedCaptures:
    """A resolved selection of captures."""

    selection: Selection
    campaign_id: int | None
    """None: the standing campaign has not begun."""

    def conditions(self, connection: Connection) -> list[ColumnElement[bool]]:
        """The conditions that the database can evaluate; `passes` evaluates the rest."""
        matchers = self.selection.matchers
        exact = [m for m in matchers if m.label in _COLUMNS and not m.operator.is_pattern]
        others = [label_names.condition(connection, m) for m in matchers if m.label not in _COLUMNS]
        found = [
            visit.c.campaign_id == self.campaign_id,
            visit.c.drawn_at >= self.selection.start,
            visit.c.drawn_at < self.selection.end,
            *(_compared(matcher) for matcher in exact),
        ]
        if others:
            mine = (profile.c.visit_id == visit.c.visit_id) & (profile.c.day == visit.c.day)
            found.append(exists().where(mine, *others))
        return found

    def passes(self, row: VisitRow) -> bool:
        """Whether a visit satisfies the patterns on its machine."""
        return all(
            matcher.positive()(_VALUES[matcher.label](row)) != matcher.operator.negative
            for matcher in self.selection.matchers
            if matcher.label in _VALUES and matcher.operator.is_pattern
        )


def ask_captures(connection: Connection, selection: Selection) -> AskedCaptures:
    """Resolve a selection. Raises `BadSelection` for parts that do not apply to captures, `UnknownCampaign`."""
    if selection.event != DEFAULT_EVENT or selection.unit or selection.filters_stacks:
        raise BadSelection(
            "A capture contains all events and all functions of its visit.",
            hint="Remove the event and the frame matchers; only profiles can be filtered by them.",
        )
    asked = AskedCaptures(selection, campaign_of(connection, selection))
    asked.conditions(connection)
    return asked


def _compared(matcher: Matcher) -> ColumnElement[bool]:
    column = _COLUMNS[matcher.label]
    return column != matcher.value if matcher.operator.negative else column == matcher.value
