"""Binaries without symbols, and how many samples they hide.

The list can also contain binaries with symbols, binaries that ran long ago, and binaries with an uploaded file that
have not run yet, so that every upload can be found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, func, literal, select, union_all

from storage.query.estimation.estimates import Estimate
from storage.schema import binary, debug_file, symbol_request
from storage.symbols import absences, caches, candidates, reprocessing, requests
from storage.symbols.absences import Absence
from storage.symbols.binary_usage import Holdings, read_holdings
from storage.symbols.caches import BuildState
from storage.symbols.candidates import DebugFile
from storage.symbols.reprocessing import Reprocessing
from storage.symbols.requests import RequestState


class Which(StrEnum):
    """Which binaries a list contains."""

    MISSING = "missing"
    """Binaries that hide samples."""
    ALL = "all"
    """All binaries that ran or have an uploaded file."""


class Order(StrEnum):
    """Sort key of a list; largest first, names ascending."""

    CPU = "cpu"
    """Estimated core-seconds without a function name."""
    UNRESOLVED = "unresolved"
    SAMPLES = "samples"
    MACHINES = "machines"
    NAME = "name"
    SEEN = "seen"
    """When the binary was first seen; newest first."""


@dataclass(frozen=True, slots=True)
class BinarySymbols:
    """A binary, its hidden samples and the state of its symbols."""

    binary_key: str
    name: str
    path: str
    """Path at first sight; '' before the binary ran."""
    kind: str
    """file, kernel, module, vdso, …; '' before the binary ran."""
    status: str
    """full, symtab, binary_only, unknown."""
    reason: str
    """Why the status is not full, as a sentence."""
    first_seen: datetime | None
    samples: int
    unresolved: int
    captures: int
    machines: int
    """Machines with nameless frames of the binary."""
    cpu_s: float
    unresolved_cpu_s: float
    estimated: Estimate | None
    """Nameless time as a share of the fleet's CPU and in core-seconds; None: visits were not drawn at random."""
    estimated_s: float
    """Seconds that the estimate covers: core-seconds divided by this are cores."""
    files: tuple[DebugFile, ...]
    """Candidates, best first, rejected ones last."""
    builds: tuple[BuildState, ...]
    requests: tuple[RequestState, ...]
    disputed: bool
    """Machines gave different symbols, and there are none from another origin."""
    reprocessing: Reprocessing | None
    """The latest one."""


@dataclass(frozen=True, slots=True)
class SymbolsPage:
    """A page of the list."""

    rows: tuple[BinarySymbols, ...]
    total: int
    """Number of binaries in the whole list."""
    start: datetime
    end: datetime
    estimated_s: float
    """Seconds that the estimates cover: core-seconds divided by this are cores."""


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
    """List binaries by their samples in [start, end); `matching` is a substring of name, path or key.

    Call it in a snapshot (`storage.database.snapshot`). Raises `BadSelection`.
    """
    held = read_holdings(connection, start, end)
    known = _known(connection, held, which, matching)
    known.sort(key=lambda one: _rank(held, one, order))
    page = known[offset : offset + limit]
    return SymbolsPage(tuple(_rows(connection, held, page)), len(known), start, end, held.estimated_s)


def read_binary(
    connection: Connection, binary_key: str, start: datetime, end: datetime
) -> BinarySymbols | None:
    """All symbol information of one binary; None: unknown binary. Call it in a snapshot."""
    found = [one for one in _named(connection, keys=[binary_key]) if one.key == binary_key]
    if not found:
        return None
    ids = [one.binary_id for one in found if one.binary_id]
    held = read_holdings(connection, start, end, only=ids)
    _put_in_place(held, found)
    return _rows(connection, held, found[:1])[0]


def read_absences(connection: Connection, binary_key: str) -> list[Absence]:
    """The unexpired absences of the binary's symbols."""
    return absences.known_absences(connection, binary_key)


@dataclass(slots=True)
class _Binary:
    """A binary and its index in `Holdings`."""

    key: str
    binary_id: int
    """0: the binary never ran."""
    name: str
    path: str
    kind: str
    status: str
    reason: str
    first_seen: datetime | None
    place: int = -1
    """-1: the binary did not run in this time range."""


def _known(connection: Connection, held: Holdings, which: Which, matching: str) -> list[_Binary]:
    found = _named(connection, matching=matching, ran=which is Which.MISSING)
    _put_in_place(held, found)
    if which is Which.MISSING:
        return [one for one in found if one.place >= 0 and held.unresolved[one.place] > 0]
    return found


def _named(
    connection: Connection, *, keys: Sequence[str] | None = None, matching: str = "", ran: bool = False
) -> list[_Binary]:
    """Binaries that ran and, unless `ran`, those that only have files."""
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
            literal("No capture contains it yet."),
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
    """The sort key, ascending."""
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
    requested = requests.requests_by_binary(connection, keys)
    again = reprocessing.latest(connection, keys)
    disputed: set[str] = set(
        connection.scalars(requests.disputed().where(symbol_request.c.binary_key.in_(keys)))
    )
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
            estimated_s=held.estimated_s,
            files=tuple(files.get(one.key, ())),
            builds=tuple(builds.get(one.key, ())),
            requests=tuple(requested.get(one.key, ())),
            disputed=one.key in disputed,
            reprocessing=again.get(one.key),
        )
        for one in found
    ]
