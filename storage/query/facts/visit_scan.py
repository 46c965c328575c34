"""Read a selection's profiles and all their facts, from one snapshot."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    Select,
    Text,
    bindparam,
    cast,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy.sql.elements import ColumnElement

from storage.arrays import Bool, Int64
from storage.errors import BadSelection, UnknownCampaign
from storage.query.estimation.sampling_design import Ids
from storage.query.facts.chunk_cache import EPOCH, Written, facts_of
from storage.query.facts.decode_chunks import decode_chunks
from storage.query.selections import label_names
from storage.query.selections.near_names import near_name
from storage.query.selections.selection import DEFAULT_CAMPAIGN, DEFAULT_EVENT, Selection
from storage.schema import campaign, chunk, profile, sample_type, visit
from storage.snapshots.copy_binary import Rows, TooMuch, among_given, read_fixed, read_rows
from storage.snapshots.decoded_cache import DecodedCache
from storage.snapshots.snapshot_cache import cached_per_snapshot

MAX_FACTS = 20_000_000
"""Maximum number of facts read for one query: about 1 GB while they are summed."""
MAX_CHUNKS = 200_000
MAX_BYTES = 512 << 20
WHOLE = 256
"""Number of parts that visits are divided into by their random ids."""
_MARGIN = 0.8
"""Margin below the limits, because parts differ in size."""
TIME_UNIT = "nanoseconds"
"""Sample types in this unit are CPU time; answers also give them in seconds."""

_SAMPLE_TYPES = select(
    sample_type.c.event, sample_type.c.unit, sample_type.c.sample_type_id, sample_type.c.kind
)
_CAMPAIGN = select(campaign.c.campaign_id).where(campaign.c.name == bindparam("name"))


@dataclass(frozen=True, slots=True)
class SampleType:
    """Event and unit of an answer; `id` None: never sampled yet."""

    event: str
    unit: str
    id: int | None
    gauge: bool = False
    """A level such as the heap in use: averaged over visits, never multiplied by time."""

    @property
    def seconds_per_unit(self) -> float | None:
        """Core-seconds per unit; None if units are not time."""
        return 1e-9 if self.unit == TIME_UNIT else None


@dataclass(frozen=True, slots=True)
class Profiles:
    """Columns over the profiles of a selection."""

    visits: Ids
    """Their distinct visits, ascending."""
    visit: Int64
    """Index into `visits`."""
    machine: Int64
    facts: Int64
    samples: Int64
    period: Int64
    labels: dict[str, Int64]
    """Stored ids by column of `profile`, of the requested labels."""
    stacks: bool | None
    """Whether they have stacks or leaves only; None if there are no profiles."""

    def __len__(self) -> int:
        return len(self.machine)

    def label(self, name: str) -> Int64:
        """The stored ids of a requested label."""
        return self.machine if name == label_names.MACHINE else self.labels[label_names.column_of(name)]

    @property
    def units(self) -> Int64:
        """Units of each profile."""
        return self.samples * self.period


@dataclass(frozen=True, slots=True)
class Facts:
    """Columns over the facts of a selection."""

    profile: Int64
    """Index into `Profiles`, ascending."""
    stack: Int64
    samples: Int64
    units: Int64

    def of(self, keep: Bool) -> "Facts":
        """The facts where `keep` is set."""
        return Facts(self.profile[keep], self.stack[keep], self.samples[keep], self.units[keep])


@cached_per_snapshot
def sample_type_of(connection: Connection, selection: Selection) -> SampleType:
    """The sample type of a selection. Raises `BadSelection` for an event that was never sampled.

    The default event always exists, so that queries of an empty store return empty answers.
    """
    return chosen_type(connection.execute(_SAMPLE_TYPES).all(), selection)


def chosen_type(rows: Iterable[Any], selection: Selection) -> SampleType:
    """As `sample_type_of`, from all sample types: rows with the columns of `_SAMPLE_TYPES`."""
    rows = list(rows)
    fitting = sorted(
        (row for row in rows if row.event == selection.event and selection.unit in {"", row.unit}),
        key=lambda row: (row.unit != TIME_UNIT, row.unit),
    )
    if fitting:
        first = fitting[0]
        return SampleType(first.event, first.unit, first.sample_type_id, gauge=first.kind == "gauge")
    if selection.event == DEFAULT_EVENT and selection.unit in {"", TIME_UNIT}:
        return SampleType(DEFAULT_EVENT, TIME_UNIT, None)
    known = ", ".join(sorted(f"{row.event} ({row.unit})" for row in rows)) or f"{DEFAULT_EVENT} ({TIME_UNIT})"
    asked = f"{selection.event} ({selection.unit})" if selection.unit else selection.event
    events = {row.event for row in rows} | {DEFAULT_EVENT}
    near = near_name(selection.event, events - {selection.event})
    hint = f"Did you mean {near}? " if near else ""
    raise BadSelection(
        f"Unknown event {asked!r}.",
        hint=f"{hint}Events: {known}.",
        parameter="unit" if selection.event in events else "event",
    )


@cached_per_snapshot
def campaign_of(connection: Connection, selection: Selection) -> int | None:
    """The selection's campaign; None if the default one has not begun. Raises `UnknownCampaign`."""
    return known_campaign(connection.execute(_CAMPAIGN, {"name": selection.campaign}).scalar(), selection)


def known_campaign(found: int | None, selection: Selection) -> int | None:
    """As `campaign_of`, with `found` as the id of the campaign of that name."""
    if found is None and selection.campaign != DEFAULT_CAMPAIGN:
        raise UnknownCampaign(f"There is no campaign {selection.campaign!r}.")
    return found


def scan_profiles(
    connection: Connection, selection: Selection, kind: SampleType, labels: tuple[str, ...]
) -> Profiles:
    """The profiles of a selection without their facts, for queries that need labels only."""
    statement = matching(connection, selection, kind, labels)
    if statement is None:
        return profiles_of(Rows(0, {name: [] for name in _columns(labels)}), np.zeros(0, np.int64), labels)
    rows = read_fixed(connection, statement, limit=MAX_BYTES)
    return profiles_of(rows, one_depth(rows), labels)


def no_profiles(*, stacks: bool) -> Profiles:
    """One unlabelled group of samples, which represents cells: they have no profiles."""
    one = np.zeros(1, np.int64)
    return Profiles(np.zeros(0, "S16"), one, one, one, one, one, {}, stacks)


def in_part(column: Any, parts: int) -> ColumnElement[bool]:
    """Selects the visits of the first `parts` of the `WHOLE` parts."""
    return func.get_byte(func.uuid_send(column), 15) < parts


def parts_to_read(connection: Connection, selection: Selection, kind: SampleType) -> int:
    """How many of the `WHOLE` parts have about as much data as one query may read; at least 1."""
    statement = matching(connection, selection, kind, ())
    if statement is None:
        return WHOLE
    counted = statement.with_only_columns(
        func.coalesce(func.sum(profile.c.facts), 0), func.count(), maintain_column_froms=True
    )
    facts, chunks = connection.execute(counted).one()
    return parts_of(int(facts), chunks)


def parts_of(facts: int, chunks: int) -> int:
    """How many of the `WHOLE` parts of this many facts have about as much as one query may read; at least 1."""
    most = min(MAX_FACTS / max(float(facts), 1.0), MAX_CHUNKS / max(chunks, 1))
    return min(max(int(WHOLE * most * _MARGIN), 1), WHOLE)


def scan(
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    labels: tuple[str, ...],
    *,
    parts: int = WHOLE,
    cache: DecodedCache | None = None,
) -> tuple[Profiles, Facts]:
    """Read the profiles of a selection, with the ids of these labels, and their facts; or a part of the visits.

    Chunks of a single application that are in the `cache` are not read again. Raises `TooMuch` if there are too many to
    read for one query.
    """
    asked = _asked(connection, selection, kind, labels)
    if asked is None:
        nothing = Rows(0, {name: [] for name in _columns(labels)})
        none = np.zeros(0, np.int64)
        return profiles_of(nothing, none, labels), Facts(none, none, none, none)
    if cache is not None and parts == WHOLE and asked.application is not None:
        return _scan_cached(connection, asked, asked.application, labels, cache)
    statement = _in_part(_with_chunks(*asked.structure), parts)
    rows = read_rows(connection, statement, asked.given, limit=MAX_BYTES)
    keep = one_depth(rows)
    return profiles_of(rows, keep, labels), _facts(rows, keep)


def _in_part(statement: Select[Any], parts: int) -> Select[Any]:
    return statement if parts == WHOLE else statement.where(in_part(visit.c.visit_id, parts))


def _columns(labels: tuple[str, ...]) -> tuple[str, ...]:
    own = ("visit_id", "machine_id", "stacks", "facts", "samples", "period")
    return (*own, *sorted({label_names.column_of(label) for label in labels} - set(own)))


def matching(
    connection: Connection, selection: Selection, kind: SampleType, labels: tuple[str, ...]
) -> Select[Any] | None:
    """The statement for the selection's profiles; None if there can be none.

    A visit's time is that of its draw: it was fixed then, by the collector's clock, with its day.
    """
    asked = _asked(connection, selection, kind, labels)
    return None if asked is None else _profiles(*asked.structure).params(asked.given)


class _Asked(NamedTuple):
    """A selection's profiles as parameters of a statement, which is shared by all selections of one structure."""

    structure: tuple[tuple[str, ...], tuple[tuple[str, bool], ...]]
    """Arguments of `_profiles`."""
    given: dict[str, Any]
    application: int | None
    """The only application whose profiles are requested; None if there may be several."""


def _asked(
    connection: Connection, selection: Selection, kind: SampleType, labels: tuple[str, ...]
) -> _Asked | None:
    """The parameters of a selection's statement; None if there can be no profiles."""
    for label in labels:
        label_names.check_label(connection, label)
    chosen = [label_names.choice(connection, matcher) for matcher in selection.matchers]
    campaign_id = campaign_of(connection, selection)
    if campaign_id is None or kind.id is None:
        return None
    given = {
        "first_day": selection.start.date(),
        "last_day": selection.end.date(),
        "start": selection.start,
        "end": selection.end,
        "campaign": campaign_id,
        "sample_type": kind.id,
        **{f"ids{n}": choice.ids for n, choice in enumerate(chosen)},
    }
    return _Asked(
        (_columns(labels), tuple((choice.column, choice.negative) for choice in chosen)),
        given,
        next((choice.ids[0] for choice in chosen if _is_one_application(choice)), None),
    )


def _is_one_application(choice: label_names.Choice) -> bool:
    return choice.column == profile.c.application.name and not choice.negative and len(choice.ids) == 1


@lru_cache(maxsize=128)
def _profiles(columns: tuple[str, ...], chosen: tuple[tuple[str, bool], ...]) -> Select[Any]:
    """Profiles of a time, where each chosen column has one of the given ids, or none of them."""
    conditions = [
        ~among_given(profile.c[column], f"ids{n}") if negative else among_given(profile.c[column], f"ids{n}")
        for n, (column, negative) in enumerate(chosen)
    ]
    return (
        select(*(profile.c[name] for name in columns))
        .join(visit, visit.c.visit_id == profile.c.visit_id)
        .where(
            profile.c.day >= bindparam("first_day"),
            profile.c.day <= bindparam("last_day"),
            visit.c.drawn_at >= bindparam("start"),
            visit.c.drawn_at < bindparam("end"),
            profile.c.campaign_id == bindparam("campaign"),
            profile.c.sample_type_id == bindparam("sample_type"),
            *conditions,
        )
    )


@lru_cache(maxsize=128)
def _with_chunks(columns: tuple[str, ...], chosen: tuple[tuple[str, bool], ...]) -> Select[Any]:
    """As `_profiles`, with the facts of each."""
    return (
        _profiles(columns, chosen)
        .join(chunk, (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id))
        .where(chunk.c.day >= bindparam("first_day"), chunk.c.day <= bindparam("last_day"))
        .add_columns(chunk.c.data)
    )


@lru_cache(maxsize=128)
def _versions(columns: tuple[str, ...], chosen: tuple[tuple[str, bool], ...]) -> Select[Any]:
    """As `_profiles`, with day, id and version, which identify cached profiles."""
    written = cast(cast(literal_column(f"{profile.name}.xmin"), Text), BigInteger)
    return _profiles(columns, chosen).add_columns(
        cast(profile.c.day - literal(EPOCH), Integer).label(_DAY),
        profile.c.profile_id,
        written.label(_VERSION),
    )


_DAY, _VERSION = (
    "day_number",
    "row_version",
)  # requested labels are columns too, one of them `version`


def _scan_cached(
    connection: Connection, asked: _Asked, application: int, labels: tuple[str, ...], cache: DecodedCache
) -> tuple[Profiles, Facts]:
    """As `scan`, for one application: only chunks that are not cached are read."""
    rows = read_fixed(connection, _versions(*asked.structure), asked.given, limit=MAX_BYTES)
    keep = one_depth(rows)
    ids, day = rows.ints("profile_id"), rows.ints(_DAY)
    keep = keep[np.lexsort((ids[keep], day[keep]))]
    counts = rows.ints("facts")[keep]
    check_size(counts)
    stacks, samples = facts_of(
        connection,
        Written(ids[keep], day[keep], rows.ints(_VERSION)[keep], counts),
        application=application,
        sample_type_id=asked.given["sample_type"],
        cache=cache,
        limit=MAX_BYTES,
    )
    of = np.repeat(np.arange(len(counts)), counts)
    units = samples * rows.ints("period")[keep][of]
    return profiles_of(rows, keep, labels), Facts(of, stacks, samples, units)


def on_days(column: Any, selection: Selection) -> tuple[Any, ...]:
    """Conditions that restrict a statement to the partitions of the selection's days."""
    return column >= selection.start.date(), column <= selection.end.date()


def one_depth(rows: Rows) -> Int64:
    """Profiles with stacks, or all if there are none: flat samples among stacks would appear as roots."""
    stacks = np.flatnonzero(np.array(rows.values("stacks"), np.bool_))
    return stacks if len(stacks) else np.arange(len(rows))


def profiles_of(rows: Rows, keep: Int64, labels: tuple[str, ...]) -> Profiles:
    """Some of the rows of `matching`, in the given order."""
    visits, visit_index = np.unique(rows.uuids("visit_id")[keep], return_inverse=True)
    columns = {label_names.column_of(label) for label in labels}
    return Profiles(
        visits=visits,
        visit=visit_index.astype(np.int64),
        machine=rows.ints("machine_id")[keep],
        facts=rows.ints("facts")[keep],
        samples=rows.ints("samples")[keep],
        period=rows.ints("period")[keep],
        labels={name: rows.ints(name)[keep] for name in columns},
        stacks=bool(rows.values("stacks")[int(keep[0])]) if len(keep) else None,
    )


def _facts(rows: Rows, keep: Int64) -> Facts:
    counts = rows.ints("facts")[keep]
    check_size(counts)
    stacks, samples = decode_chunks([rows.blobs.of(keep)], counts)
    of = np.repeat(np.arange(len(counts)), counts)
    return Facts(of, stacks, samples, samples * rows.ints("period")[keep][of])


def check_size(counts: Int64) -> None:
    """Raise `TooMuch` for chunks with more facts than one query may read."""
    if int(counts.sum()) > MAX_FACTS or len(counts) > MAX_CHUNKS:
        raise TooMuch(
            f"The selection holds {int(counts.sum()):,} facts in {len(counts):,} chunks; the limit of "
            f"a query is {MAX_FACTS:,} in {MAX_CHUNKS:,}.",
            hint='Choose a shorter time range or add a matcher, e.g. application="…".',
        )
