"""What has no names yet, and how much it hides: the list for whoever may have the symbols.

Also of binaries that are known well, of those that ran long ago, and of files that were uploaded
before their binary ran anywhere: what was brought must be found again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, func, literal, select, union_all

from storage.query.estimation.estimates import Estimate
from storage.schema import binary, debug_file, symbol_ask
from storage.symbols import absences, caches, candidates, reprocessing, requests
from storage.symbols.absences import Absence
from storage.symbols.binary_usage import Holdings, read_holdings
from storage.symbols.caches import BuildState
from storage.symbols.candidates import DebugFile
from storage.symbols.reprocessing import Reprocessing
from storage.symbols.requests import AskState


class Which(StrEnum):
    """Which binaries a list has."""

    MISSING = "missing"
    """Those that hide samples."""
    ALL = "all"
    """All that ran, and all that something was uploaded for."""


class Order(StrEnum):
    """What a list is sorted by; the largest first, names ascending."""

    CPU = "cpu"
    """Estimated core-seconds that have no name."""
    UNRESOLVED = "unresolved"
    SAMPLES = "samples"
    MACHINES = "machines"
    NAME = "name"
    SEEN = "seen"
    """When it was first seen."""


@dataclass(frozen=True, slots=True)
class BinarySymbols:
    """One binary: what it hides, and what is known of its symbols."""

    binary_key: str
    name: str
    path: str
    """Where it was first seen; '' before it ran anywhere."""
    kind: str
    """file, kernel, module, vdso, …; '' before it ran anywhere."""
    status: str
    """full, symtab, binary_only, unknown."""
    reason: str
    """Why the status is not full, a sentence."""
    first_seen: datetime | None
    samples: int
    unresolved: int
    captures: int
    machines: int
    """Those that lack names; 0 where none does."""
    cpu_s: float
    unresolved_cpu_s: float
    estimated: Estimate | None
    """Of the time without names: share of the fleet's CPU, core-seconds; None: visits were not drawn at random."""
    weighed_s: float
    """Seconds that the estimate is about: core-seconds divided by it are cores."""
    files: tuple[DebugFile, ...]
    """Candidates, the best first, rejected ones last."""
    builds: tuple[BuildState, ...]
    asked: tuple[AskState, ...]
    disputed: bool
    """Machines gave different symbols of it, and there are no others."""
    reprocessing: Reprocessing | None
    """The last one."""


@dataclass(frozen=True, slots=True)
class SymbolsPage:
    """A part of the list."""

    rows: tuple[BinarySymbols, ...]
    total: int
    """Binaries in the whole list."""
    start: datetime
    end: datetime
    weighed_s: float
    """Seconds that estimates are about: core-seconds divided by it are cores."""


def read_symbols(
    connection: Connection,
    start: datetime,
    end: datetime,
    *,
    which: Which = Which.MISSING,
    order: Order = Order.CPU,
    matching: str = "",
    limit: int = 50,
    offset: int = 0,
) -> SymbolsPage:
    """The list of binaries by what they held in [start, end); `matching` is a part of name, path or key.

    Call it in a snapshot (`storage.database.snapshot`). Raises `BadSelection`.
    """
    held = read_holdings(connection, start, end)
    known = _known(connection, held, which, matching)
    known.sort(key=lambda one: _rank(held, one, order))
    page = known[offset : offset + limit]
    return SymbolsPage(tuple(_rows(connection, held, page)), len(known), start, end, held.weighed_s)


def read_binary(
    connection: Connection, binary_key: str, start: datetime, end: datetime
) -> BinarySymbols | None:
    """Everything about one binary's symbols; None: nobody has heard of it. Call it in a snapshot."""
    found = [one for one in _named(connection, keys=[binary_key]) if one.key == binary_key]
    if not found:
        return None
    ids = [one.binary_id for one in found if one.binary_id]
    held = read_holdings(connection, start, end, only=ids)
    _put_in_place(held, found)
    return _rows(connection, held, found[:1])[0]


def read_absences(connection: Connection, binary_key: str) -> list[Absence]:
    """Where the binary's symbols are known not to be."""
    return absences.known_absences(connection, binary_key)


@dataclass(slots=True)
class _Binary:
    """A binary by name, and its place in `Holdings`."""

    key: str
    binary_id: int
    """0: it never ran anywhere."""
    name: str
    path: str
    kind: str
    status: str
    reason: str
    first_seen: datetime | None
    place: int = -1
    """-1: it did not run in that time."""


def _known(connection: Connection, held: Holdings, which: Which, matching: str) -> list[_Binary]:
    found = _named(connection, matching=matching, ran=which is Which.MISSING)
    _put_in_place(held, found)
    if which is Which.MISSING:
        return [one for one in found if one.place >= 0 and held.unresolved[one.place] > 0]
    return found


def _named(
    connection: Connection, *, keys: Sequence[str] | None = None, matching: str = "", ran: bool = False
) -> list[_Binary]:
    """Binaries that ran, and, unless `ran`, those that only have files."""
    seen = select(
        binary.c.key, binary.c.binary_id, binary.c.name, binary.c.path, binary.c.kind, binary.c.status,
        binary.c.reason, binary.c.first_seen,
    )  # fmt: skip
    unseen = (
        select(
            debug_file.c.binary_key.label("key"),
            literal(0),
            func.max(debug_file.c.name),
            literal(""),
            literal(""),
            literal("unknown"),
            literal("It was not seen in any capture yet."),
            func.min(debug_file.c.added_at),
        )
        .where(~select(binary.c.key).where(binary.c.key == debug_file.c.binary_key).exists())
        .group_by(debug_file.c.binary_key)
    )
    if keys is not None:
        seen = seen.where(binary.c.key.in_(list(keys)))
        unseen = unseen.where(debug_file.c.binary_key.in_(list(keys)))
    rows = connection.execute(seen if ran else union_all(seen, unseen))
    wanted = matching.casefold()
    return [
        _Binary(*row)
        for row in rows
        if not wanted or any(wanted in text.casefold() for text in (row.name, row.path, row.key))
    ]


def _put_in_place(held: Holdings, found: Sequence[_Binary]) -> None:
    place = {id_: n for n, id_ in enumerate(held.binary_id.tolist())}
    for one in found:
        one.place = place.get(one.binary_id, -1)


def _rank(held: Holdings, one: _Binary, order: Order) -> tuple[float, float, str, str]:
    """Ascending."""
    if order is Order.NAME:
        return 0.0, 0.0, one.name.casefold(), one.key
    if order is Order.SEEN:
        return -(one.first_seen.timestamp() if one.first_seen else 0.0), 0.0, one.name, one.key
    if one.place < 0:
        return 1.0, 0.0, one.name, one.key
    hidden = float(held.unresolved[one.place])
    if order is Order.CPU:
        estimate = held.estimated[one.place]
        seconds = float(held.unresolved_cpu_s[one.place]) if estimate is None else estimate.units.value
        return -seconds, -hidden, one.name, one.key
    column = {Order.UNRESOLVED: held.unresolved, Order.SAMPLES: held.samples, Order.MACHINES: held.machines}
    return -float(column[order][one.place]), -hidden, one.name, one.key


def _rows(connection: Connection, held: Holdings, found: Sequence[_Binary]) -> list[BinarySymbols]:
    keys = [one.key for one in found]
    files = candidates.every_of(connection, keys)
    builds = caches.states_of(connection, keys)
    asked = requests.asked_for(connection, keys)
    again = reprocessing.latest(connection, keys)
    disputed: set[str] = set(connection.scalars(requests.disputed().where(symbol_ask.c.binary_key.in_(keys))))
    return [
        BinarySymbols(
            binary_key=one.key,
            name=one.name,
            path=one.path,
            kind=one.kind,
            status=one.status,
            reason=one.reason,
            first_seen=one.first_seen if one.binary_id else None,
            samples=0 if one.place < 0 else int(held.samples[one.place]),
            unresolved=0 if one.place < 0 else int(held.unresolved[one.place]),
            captures=0 if one.place < 0 else int(held.captures[one.place]),
            machines=0 if one.place < 0 else int(held.machines[one.place]),
            cpu_s=0.0 if one.place < 0 else float(held.cpu_s[one.place]),
            unresolved_cpu_s=0.0 if one.place < 0 else float(held.unresolved_cpu_s[one.place]),
            estimated=None if one.place < 0 else held.estimated[one.place],
            weighed_s=held.weighed_s,
            files=tuple(files.get(one.key, ())),
            builds=tuple(builds.get(one.key, ())),
            asked=tuple(asked.get(one.key, ())),
            disputed=one.key in disputed,
            reprocessing=again.get(one.key),
        )
        for one in found
    ]
