"""A function's builds, and a random sample of the visits with it, whose captures have its addresses (DIGEST G18).

Visits are chosen among those with the function in a stack: other visits have no sample in its code, except in
functions inlined into it, whose stacks contain it too. The order of visits is that of a hash of their random ids, so
the same selection chooses the same visits. How many are chosen follows from the mean size of captures, not from the
order: a choice that ended with the first capture that does not fit would prefer small ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from uuid import UUID

from sqlalchemy import select

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query import binary_builds
from storage.query.answers.disassembly import DisassembledBuild
from storage.query.answers.functions import NamedFunction
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.table import TableRow
from storage.query.answers.totals import Totals
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import SampleType, matching
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.function_builds import FunctionBuilds
from storage.query.shapes.occurrences import Occurrences
from storage.query.shapes.table import only_row
from storage.query.shapes.totals import totals
from storage.query.store_reading import StoreReading
from storage.query.subject import Subject
from storage.schema import binary, capture, function, profile
from storage.snapshots.copy_binary import among_uuids

MOST_NAMED = 100
MOST_CAPTURES = 1000
"""Of one answer."""


@dataclass(frozen=True, slots=True)
class ChosenVisit:
    """A visit whose capture is to be read."""

    id: UUID
    blob: str
    """Key in the archive; '': it is deleted."""
    size: int
    """Compressed size in bytes."""
    weight: float
    """Fleet units per observed unit."""
    profiles: frozenset[int]
    """Ids of its profiles in the selection."""


@dataclass(frozen=True, slots=True)
class ShownBuild:
    """The build and the function in it."""

    key: str
    name: str
    path: str
    """Path at which it was first seen."""
    kind: str
    """As in `storage.schema.binary.kind`."""
    raw_name: str
    """The function's name in the symbol table."""
    start: int | None
    """Offset of the function in the binary, if it has no name."""


@dataclass(frozen=True, slots=True)
class FunctionVisits:
    """Everything about a function that ingested data tells."""

    selection: SelectionEcho
    totals: Totals
    kind: SampleType
    functions: tuple[NamedFunction, ...]
    functions_total: int
    itself: TableRow
    builds: tuple[DisassembledBuild, ...]
    unknown_samples: int
    shown: ShownBuild | None
    """None: no build of the binary is known."""
    visits: int
    """Visits to choose from."""
    chosen: tuple[ChosenVisit, ...]
    """In random order."""
    weighted: bool


@dataclass(frozen=True, slots=True)
class FunctionVisitsQuestion:
    """The heaviest of some functions in the selection, and visits with it."""

    selection: Selection
    subject: Subject
    build_id: str = ""
    """Key of the build; '': the heaviest."""
    captures: int = 200
    """Largest number of visits."""
    most_bytes: int = 64 << 20
    """Largest total size of their captures, compressed."""

    def answer(self, reading: StoreReading) -> FunctionVisits:
        """The function and its visits. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        if self.selection.filters_stacks:
            raise BadSelection(
                "Instructions cannot be filtered by frames of their stacks.",
                hint="Remove the frame filters (focus, ignore, hide, show, show_from, matchers on function, file and "
                "binary).",
            )
        samples, functions = reading.visits(self.selection, binary_builds.LABELS), reading.functions
        every = Occurrences.of(functions, samples, self.subject)
        found = (
            Occurrences.of(functions, samples, Subject(int(every.functions[0])))
            if len(every.functions) > 1
            else every
        )
        builds = FunctionBuilds.of(reading, self.selection, samples, found)
        stored = _stored(reading, found)
        shown = self._shown(builds, "" if stored is None else stored.binary_key or "")
        places = builds.visits_of(shown)
        return FunctionVisits(
            selection=selection_echo(self.selection, samples.kind),
            totals=totals(functions, samples),
            kind=samples.kind,
            functions=tuple(functions.row(id_).named() for id_ in every.functions[:MOST_NAMED].tolist()),
            functions_total=len(every.functions),
            itself=only_row(samples, found.together()),
            builds=tuple(row for row, _ in builds.listed),
            unknown_samples=builds.unknown_samples,
            shown=None if shown is None else _described(reading, stored, builds.keys[shown]),
            visits=len(places),
            chosen=self._chosen(reading, samples, places),
            weighted=samples.evidence.design.weights is not None
            if isinstance(samples.evidence, Visits)
            else False,
        )

    def _shown(self, builds: FunctionBuilds, own_key: str) -> int | None:
        """The build; `own_key` is the only one of a function that has no name."""
        if not self.build_id:
            return builds.keys.index(own_key) if own_key in builds.keys else builds.heaviest
        if self.build_id not in builds.keys:
            raise BadSelection(
                f"No build {self.build_id[:100]!r} of this binary is known.",
                hint="`builds` of the answer without build_id lists the builds of the selection.",
                parameter="build_id",
            )
        return builds.keys.index(self.build_id)

    def _chosen(self, reading: StoreReading, samples: Samples, places: Int64) -> tuple[ChosenVisit, ...]:
        ids = [samples.profiles.visits[place].ljust(16, b"\0") for place in places.tolist()]
        order = sorted(range(len(ids)), key=lambda n: blake2b(ids[n], digest_size=8).digest())
        order = order[: min(self.captures, MOST_CAPTURES)]
        wanted = [ids[n] for n in order]
        rows = reading.connection.execute(
            select(capture.c.visit_id, capture.c.blob, capture.c.bytes).where(
                among_uuids(capture.c.visit_id, wanted)
            )
        ).all()
        stored = {row.visit_id: row for row in rows}
        sizes = [row.bytes for row in rows if row.blob]
        if sizes:
            order = order[: max(int(self.most_bytes * len(sizes) / max(sum(sizes), 1)), 1)]
        profiles = self._profiles(reading, samples, [ids[n] for n in order])
        weight = samples.evidence.weight if isinstance(samples.evidence, Visits) else None
        chosen = []
        for n in order:
            id_ = UUID(bytes=ids[n])
            row = stored.get(id_)
            chosen.append(
                ChosenVisit(
                    id_,
                    row.blob if row is not None else "",
                    row.bytes if row is not None else 0,
                    1.0 if weight is None else float(weight[places[n]]),
                    profiles.get(id_, frozenset()),
                )
            )
        return tuple(chosen)

    def _profiles(
        self, reading: StoreReading, samples: Samples, ids: Sequence[bytes]
    ) -> dict[UUID, frozenset[int]]:
        """The selection's profiles of these visits, of the depth that was read."""
        statement = matching(reading.connection, self.selection, samples.kind, ())
        if statement is None or not ids:
            return {}
        statement = statement.with_only_columns(
            profile.c.visit_id, profile.c.profile_id, maintain_column_froms=True
        ).where(among_uuids(profile.c.visit_id, ids), profile.c.stacks == samples.profiles.stacks)
        found: dict[UUID, set[int]] = {}
        for row in reading.connection.execute(statement):
            found.setdefault(row.visit_id, set()).add(row.profile_id)
        return {visit_id: frozenset(profiles) for visit_id, profiles in found.items()}


def _stored(reading: StoreReading, found: Occurrences) -> Any:
    """The function's row; None if there is none."""
    if not len(found.functions):
        return None
    c = function.c
    return reading.connection.execute(
        select(c.name, c.raw_name, c.binary_key, c.start).where(
            c.function_id == int(found.functions[0]), c.alias_of.is_(None)
        )
    ).one_or_none()


def _described(reading: StoreReading, stored: Any, key: str) -> ShownBuild | None:
    seen = reading.connection.execute(
        select(binary.c.name, binary.c.path, binary.c.kind).where(binary.c.key == key)
    ).one_or_none()
    if seen is None or stored is None:
        return None
    start = stored.start if stored.binary_key == key else None
    return ShownBuild(key, seen.name, seen.path, seen.kind, stored.raw_name or stored.name, start)
