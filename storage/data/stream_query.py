"""The query of a stream, resolved once at its beginning."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.sql.elements import ColumnElement

from storage.data.stream_position import Order, day_of
from storage.errors import BadSelection
from storage.query.facts.visit_scan import SampleType, campaign_of, sample_type_of
from storage.query.selections import label_names
from storage.query.selections.selection import Selection
from storage.schema import capture_segment, profile, visit


@dataclass(frozen=True, slots=True)
class StreamSelection:
    """A resolved selection of profiles."""

    selection: Selection
    campaign_id: int | None
    """None: the default campaign has not begun."""
    kind: SampleType
    stacks: bool
    """The depth that is streamed: samples with stacks, or leaf-only samples if there are no stacks."""
    order: Order = Order.DRAWN

    @property
    def drawn(self) -> tuple[ColumnElement[bool], ...]:
        """The conditions for visits of the selection's campaign and time range."""
        return (
            visit.c.campaign_id == self.campaign_id,
            visit.c.drawn_at >= self.selection.start,
            visit.c.drawn_at < self.selection.end,
        )


def resolve(connection: Connection, selection: Selection, *, stacks: bool | None = None) -> StreamSelection:
    """Resolve a selection; `stacks` is the depth that an earlier part of the stream determined.

    Raises `BadSelection`, `UnknownCampaign`.
    """
    kind = sample_type_of(connection, selection)
    campaign_id = campaign_of(connection, selection)
    matching = [label_names.condition(connection, matcher) for matcher in selection.matchers]
    resolved = StreamSelection(selection, campaign_id, kind, stacks=True if stacks is None else stacks)
    if stacks is not None or campaign_id is None or kind.id is None:
        return resolved
    return replace(resolved, stacks=_depth(connection, resolved, matching))


def ended(selection: Selection, now: datetime) -> Selection:
    """The selection up to now: later draws are not part of a stream that begins now."""
    if selection.end <= now:
        return selection
    if selection.start >= now:
        raise BadSelection("The time range begins in the future.", hint="Set `from` to a time in the past.")
    return replace(selection, end=now.astimezone(UTC))


def _depth(connection: Connection, asked: StreamSelection, matching: list[ColumnElement[bool]]) -> bool:
    """The depth by the rule of the query engine: with stacks if any matching profile has them."""
    profiles = (
        select(profile.c.stacks)
        .join(visit, visit.c.visit_id == profile.c.visit_id)
        .where(
            profile.c.day >= day_of(asked.selection.start),
            profile.c.day <= day_of(asked.selection.end),
            profile.c.sample_type_id == asked.kind.id,
            *asked.drawn,
            *matching,
        )
    )
    if _exists(connection, profiles.where(profile.c.stacks)):
        return True
    if _exists(connection, profiles):
        return False
    # No matching samples: decide by the visits that sampled the event, with stacks or without.
    segments = (
        select(capture_segment.c.stacks)
        .join(visit, visit.c.visit_id == capture_segment.c.visit_id)
        .where(capture_segment.c.sample_type_id == asked.kind.id, *asked.drawn)
    )
    return _exists(connection, segments.where(capture_segment.c.stacks)) or not _exists(connection, segments)


def _exists(connection: Connection, statement: Any) -> bool:
    return bool(connection.scalar(select(statement.exists())))
