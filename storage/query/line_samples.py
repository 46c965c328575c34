"""A selection's samples with their source lines: stacks from chunks, and lines from line chunks.

Lines belong to a profile, not to its stacks, so they have no callers.
"""

from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection, Select, func

from storage.arrays import Bool, Int64, distinct
from storage.blobs.fact_blobs import Lines, decode_lines
from storage.errors import BadSelection
from storage.query.estimation.covered_time import draws
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.visit_scan import (
    MAX_BYTES,
    WHOLE,
    Profiles,
    SampleType,
    campaign_of,
    in_part,
    matching,
    on_days,
    parts_to_read,
    profiles_of,
    sample_type_of,
)
from storage.query.samples import Samples, SampleSource, of_fewer
from storage.query.selections.selection import Selection
from storage.schema import line_chunk, profile, visit
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import Rows, TooMuch, read_rows

MAX_LINES = 10_000_000
"""Maximum number of rows of lines read for one query: about 500 MB while they are summed."""
_MARGIN = 0.8
_AT_ONCE = 4096
_LINE_BYTES = 72
"""Memory per row of lines while a selection is summed."""


@dataclass(frozen=True, slots=True)
class LineFacts:
    """Columns over (profile, function, line): samples with that line as leaf, and anywhere in their stack.

    Lines are known, ≥ 1; a recursive line counts a sample once.
    """

    profiles: Profiles
    """The profiles with lines; `facts` and `samples` are those of their stacks."""
    profile: Int64
    """Index into `profiles`, ascending."""
    function: Int64
    line: Int64
    own: Int64
    """Samples, as is `total`."""
    total: Int64

    def of(self, keep: Bool) -> "LineFacts":
        """The rows where `keep` is set."""
        columns = (self.profile, self.function, self.line, self.own, self.total)
        return LineFacts(self.profiles, *(column[keep] for column in columns))


def scan_lines(  # noqa: PLR0917 - as `facts.scan.scan`
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    labels: tuple[str, ...],
    stacks: bool | None,
    parts: int = WHOLE,
) -> LineFacts:
    """The lines of the selection's profiles of one depth, with the ids of these labels; of a part of the visits.

    Functions have their ids at ingestion. Raises `TooMuch` if there are too many to read for one query.
    """
    statement = _lines(connection, selection, kind, labels, parts)
    if statement is None or stacks is None:
        nothing = Rows(0, {column.name: [] for column in profile.c})
        empty = np.zeros(0, np.int64)
        return LineFacts(profiles_of(nothing, empty, labels), empty, empty, empty, empty, empty)
    statement = statement.add_columns(line_chunk.c.facts.label("lines"), line_chunk.c.data)
    rows = read_rows(connection, statement, limit=MAX_BYTES)
    keep = np.flatnonzero(np.array(rows.values("stacks"), np.bool_) == stacks)
    counts = rows.ints("lines")[keep]
    if int(counts.sum()) > MAX_LINES:
        raise TooMuch(
            f"The selection holds {int(counts.sum()):,} rows of lines; the limit of a query is "
            f"{MAX_LINES:,}.",
            hint='Choose a shorter time range or add a matcher, e.g. application="…".',
        )
    query_budget.take(_LINE_BYTES * int(counts.sum()))
    blobs = rows.blobs.of(keep)
    decoded = []
    for first in range(0, max(len(counts), 1), _AT_ONCE):
        query_budget.checkpoint()
        decoded.append(decode_lines(blobs.views(first, first + _AT_ONCE), counts[first : first + _AT_ONCE]))
    lines = Lines(*(np.concatenate([getattr(part, name) for part in decoded]) for name in Lines.__slots__))
    return LineFacts(
        profiles_of(rows, keep, labels),
        np.repeat(np.arange(len(counts)), counts),
        lines.function.astype(np.int64),
        lines.line.astype(np.int64),
        lines.self_samples,
        lines.total_samples,
    )


def line_parts_to_read(connection: Connection, selection: Selection, kind: SampleType) -> int:
    """How many of the `WHOLE` parts of the visits have about as many lines as one query may read; at least 1."""
    statement = _lines(connection, selection, kind, (), WHOLE)
    if statement is None:
        return WHOLE
    counted = statement.with_only_columns(
        func.coalesce(func.sum(line_chunk.c.facts), 0), maintain_column_froms=True
    )
    lines = int(connection.execute(counted).scalar_one())
    return min(max(int(WHOLE * MAX_LINES / max(lines, 1) * _MARGIN), 1), WHOLE)


def _lines(
    connection: Connection, selection: Selection, kind: SampleType, labels: tuple[str, ...], parts: int
) -> Select[tuple[object, ...]] | None:
    """The selection's profiles with lines; None if there can be none."""
    statement = matching(connection, selection, kind, labels)
    if statement is None:
        return None
    if parts < WHOLE:
        statement = statement.where(in_part(visit.c.visit_id, parts))
    return statement.join(
        line_chunk, (line_chunk.c.day == profile.c.day) & (line_chunk.c.profile_id == profile.c.profile_id)
    ).where(*on_days(line_chunk.c.day, selection))


@dataclass(frozen=True, slots=True)
class LinedSamples:
    """Samples by visit, and the lines of the same profiles, with the same canonical functions."""

    samples: Samples
    lines: LineFacts
    visit: Int64
    """For each profile of the lines its visit in the samples' evidence."""

    @property
    def visits(self) -> Visits:
        """The evidence, which is by visit."""
        evidence = self.samples.evidence
        if not isinstance(evidence, Visits):
            raise TypeError("lines are only available by visit")
        return evidence

    def of_functions(self, functions: Int64) -> "LinedSamples":
        """The same with the lines of some functions only."""
        return replace(self, lines=self.lines.of(np.isin(self.lines.function, functions)))


def read_lined(
    source: SampleSource, connection: Connection, selection: Selection, labels: tuple[str, ...] = ()
) -> LinedSamples:
    """Read the samples of a selection and their lines, or a random part of the visits if there are too many.

    Raises `BadSelection` for a selection that filters stacks, as lines have none. `connection` must be a snapshot.
    """
    refuse_frames(selection)
    try:
        with query_budget.given_back():
            return _read_part(source, connection, selection, labels, WHOLE)
    except TooMuch:
        kind = sample_type_of(connection, selection)
        parts = min(
            parts_to_read(connection, selection, kind), line_parts_to_read(connection, selection, kind)
        )
        campaign_id = campaign_of(connection, selection)
        if parts == WHOLE or campaign_id is None or not draws(connection, campaign_id):
            raise
    return of_fewer(lambda fewer: _read_part(source, connection, selection, labels, fewer), parts)


def refuse_frames(selection: Selection) -> None:
    """Raise `BadSelection` for a selection that filters stacks."""
    if selection.filters_stacks:
        raise BadSelection(
            "Lines cannot be filtered by frames of their stacks, because they are stored without stacks.",
            hint="Remove the frame filters (focus, ignore, hide, show, show_from, matchers on function, "
            "file and binary), or group by function instead of line.",
        )


def _read_part(
    source: SampleSource, connection: Connection, selection: Selection, labels: tuple[str, ...], parts: int
) -> LinedSamples:
    kind = sample_type_of(connection, selection)
    functions = source.functions
    while True:
        before = len(functions.naming.replaced)
        samples = source.read_part(connection, selection, kind, labels, parts)
        lines = scan_lines(connection, selection, kind, labels, samples.profiles.stacks, parts)
        used, which = distinct(lines.function)
        functions.load(connection, used)
        lines = replace(lines, function=functions.canonical(used)[which])
        if (
            len(functions.naming.replaced) == before
        ):  # no function was named in between, so both have the same names
            break
    visit = np.searchsorted(samples.profiles.visits, lines.profiles.visits)[lines.profiles.visit]
    return LinedSamples(samples, lines, visit.astype(np.int64))
