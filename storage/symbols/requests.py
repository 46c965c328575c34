"""Selects the gateways that get a request for missing symbols: one gateway per binary at a time.

A binary that has names, or a candidate with names, is not requested. Unconfirmed answers come first
(`storage.symbols.answers`), then the binaries that hide the most samples. The gateway is on a machine that ran the
binary recently. The hourly limit applies to the fleet, whatever the number of collectors, and a machine gets at
most one request an hour.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    DateTime,
    Integer,
    Row,
    Select,
    TableValuedAlias,
    and_,
    case,
    column,
    func,
    literal,
    not_,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import array, insert

from storage.schema import binary, capture_binary, debug_file, machine, symbol_request, visit
from storage.symbols.keys import sentence
from storage.symbols.kinds import FileKind, Quality

LOOK_BACK: Final = timedelta(hours=24)
"""Machines and samples of this period count."""
MACHINE_REST: Final = timedelta(hours=1)
ANSWER_WITHIN: Final = timedelta(hours=1)
"""A request whose collector died counts as failed after this. At least an hour, since the hourly limit counts it."""
ATTEMPTS_LIMIT: Final = 4
"""Requests for one binary, each to another machine, before it is given up: two must agree, and two may fail."""
FIRST_REST: Final = timedelta(hours=1)
_LOCK: Final = 0x666C_7961_7300

WANTS: Final[Mapping[str, FileKind]] = {
    "file": FileKind.SYMBOLS,
    "vdso": FileKind.EXECUTABLE,
    "kernel": FileKind.KALLSYMS,
    "module": FileKind.KALLSYMS,
}
"""What is requested from a gateway, by kind of binary."""


class RequestOutcome(StrEnum):
    """The result of a request; the texts are stored."""

    PENDING = "pending"
    """Not answered yet."""
    GOT = "got"
    """The answer is in use."""
    UNCONFIRMED = "unconfirmed"
    """The machine answered; the answer is used once another machine gives the same."""
    DISPUTED = "disputed"
    """The answer differs from another machine's: neither is used."""
    ABSENT = "absent"
    """The machine does not have the file any more."""
    REFUSED = "refused"
    """The gateway is configured not to give symbols away."""
    FAILED = "failed"
    """No answer, or an unusable one."""


@dataclass(frozen=True, slots=True)
class WantedBinary:
    """A binary without names and without a candidate that has names."""

    binary_key: str
    name: str
    path: str
    """Where it was first seen."""
    binary_kind: str
    """file, kernel, module, vdso."""
    unresolved: int
    """Samples of the last day with a nameless frame in the binary."""


@dataclass(frozen=True, slots=True)
class SymbolRequest:
    """The right to send one request for one binary to one gateway."""

    binary_key: str
    kind: FileKind
    """What to request."""
    name: str
    path: str
    visit_id: UUID
    """The machine's latest visit that saw the binary."""
    machine_id: int
    machine: str
    """The machine's name."""
    address: str
    attempt: int
    """From 1: requests for the binary so far, this one included."""


def wanted(connection: Connection, *, limit: int = 100, requestable: bool = False) -> list[WantedBinary]:
    """Binaries without symbols, those that hide the most samples of the last day first.

    `requestable`: only binaries that may be requested from a gateway now; unconfirmed answers that need a second machine
    come first. A file without a build-id or content key is excluded: its symbols could not be matched to it.
    """
    hidden = func.sum(capture_binary.c.unresolved)
    named = select(debug_file.c.debug_file_id).where(
        debug_file.c.binary_key == binary.c.key,
        debug_file.c.rejected.is_(None),
        debug_file.c.quality >= int(Quality.SYMTAB),
        # A kernel's symbol table names no functions of a program, whatever build-ids it lists.
        or_(
            debug_file.c.kind != FileKind.KALLSYMS.value,
            binary.c.kind.in_([kind for kind, wants in WANTS.items() if wants is FileKind.KALLSYMS]),
        ),
    )
    unconfirmed = select(symbol_request.c.binary_key).where(
        symbol_request.c.binary_key == binary.c.key,
        symbol_request.c.outcome == RequestOutcome.UNCONFIRMED.value,
    )
    conditions = []
    if requestable:
        rests = select(symbol_request.c.binary_key).where(
            symbol_request.c.binary_key == binary.c.key,
            or_(
                symbol_request.c.again_at.is_(None),
                symbol_request.c.again_at > func.clock_timestamp(),
                symbol_request.c.attempts >= ATTEMPTS_LIMIT,
            ),
        )
        unnamed = and_(binary.c.key.startswith("path:"), binary.c.kind.in_(["file", "vdso"]))
        conditions = [~rests.exists(), not_(unnamed)]
    rows = connection.execute(
        select(binary.c.key, binary.c.name, binary.c.path, binary.c.kind, hidden.label("unresolved"))
        .join(capture_binary, capture_binary.c.binary_id == binary.c.binary_id)
        .where(
            capture_binary.c.day >= func.date(func.now() - LOOK_BACK),
            capture_binary.c.unresolved > 0,
            binary.c.kind.in_(list(WANTS)),
            binary.c.status.in_(["unknown", "binary_only"]),
            ~named.exists(),
            *conditions,
        )
        .group_by(binary.c.binary_id)
        .order_by(*([unconfirmed.exists().desc()] if requestable else []), hidden.desc(), binary.c.key)
        .limit(limit)
    )
    return [WantedBinary(row.key, row.name, row.path, row.kind, int(row.unresolved)) for row in rows]


def claim_request(
    connection: Connection,
    *,
    per_hour: int,
    wants: Mapping[str, FileKind] = WANTS,
    machine_rest: timedelta = MACHINE_REST,
) -> SymbolRequest | None:
    """Take the next request; None: nothing to request, or `per_hour` requests were made in the last hour.

    A machine gets at most one request per `machine_rest`. Commit before sending it, and record the result with
    `note_answer`. Any number of collectors may claim.
    """
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    hour_ago = func.clock_timestamp() - timedelta(hours=1)
    if _requests_since(connection, hour_ago) >= per_hour:
        return None
    for want in wanted(connection, requestable=True):
        kind = wants.get(want.binary_kind)
        if kind is None:
            continue
        before = connection.execute(
            select(symbol_request).where(
                symbol_request.c.binary_key == want.binary_key, symbol_request.c.kind == kind.value
            )
        ).one_or_none()
        attempts = 0 if before is None else before.attempts
        but = [] if before is None else before.machine_ids
        times = [] if before is None else before.requested_times
        found = _machine_with(connection, want.binary_key, but=but, rest=machine_rest)
        if found is None:
            continue
        row = {
            "machine_id": found.machine_id,
            "requested_at": func.clock_timestamp(),
            "outcome": RequestOutcome.PENDING.value,
            "detail": "",
            "attempts": attempts + 1,
            "machine_ids": [*but, found.machine_id],
            "requested_times": array([*map(literal, times), func.clock_timestamp()]),
            "again_at": func.clock_timestamp() + ANSWER_WITHIN,
        }
        connection.execute(
            insert(symbol_request)
            .values(binary_key=want.binary_key, kind=kind.value, **row)
            .on_conflict_do_update(index_elements=["binary_key", "kind"], set_=row)
        )
        return SymbolRequest(
            binary_key=want.binary_key,
            kind=kind,
            name=want.name,
            path=want.path,
            visit_id=found.visit_id,
            machine_id=found.machine_id,
            machine=found.name,
            address=found.address,
            attempt=attempts + 1,
        )
    return None


def note_answer(
    connection: Connection, request: SymbolRequest, outcome: RequestOutcome, detail: str = ""
) -> bool:
    """Record how the request ended; False: it expired, and another machine got a request since.

    After `GOT` and `DISPUTED` no further request follows. Otherwise another may, `ATTEMPTS_LIMIT` in all: at once
    after `UNCONFIRMED`, an hour later after any other outcome, then two hours, and so on.
    """
    rest = timedelta() if outcome == RequestOutcome.UNCONFIRMED else FIRST_REST * 2 ** (request.attempt - 1)
    over = outcome in {RequestOutcome.GOT, RequestOutcome.DISPUTED} or request.attempt >= ATTEMPTS_LIMIT
    return bool(
        connection.execute(
            update(symbol_request)
            .where(
                symbol_request.c.binary_key == request.binary_key,
                symbol_request.c.kind == request.kind.value,
                symbol_request.c.attempts == request.attempt,
                symbol_request.c.outcome == RequestOutcome.PENDING.value,
            )
            .values(
                outcome=outcome.value,
                detail=sentence(detail),
                again_at=None if over else func.clock_timestamp() + rest,
            )
        ).rowcount
    )


def reopen(connection: Connection, binary_key: str, why: str) -> None:
    """Discard the answer in use: request the binary from the next machine without a request so far, if any."""
    connection.execute(
        update(symbol_request)
        .where(
            symbol_request.c.binary_key == binary_key, symbol_request.c.outcome == RequestOutcome.GOT.value
        )
        .values(
            outcome=RequestOutcome.UNCONFIRMED.value,
            detail=sentence(why),
            again_at=case((symbol_request.c.attempts < ATTEMPTS_LIMIT, func.clock_timestamp())),
        )
    )


def disputed() -> Select[Any]:
    """Keys of binaries whose machines gave different symbols, and that have no symbols from another origin."""
    return select(symbol_request.c.binary_key).where(
        symbol_request.c.outcome == RequestOutcome.DISPUTED.value,
        ~select(debug_file.c.debug_file_id)
        .where(
            debug_file.c.binary_key == symbol_request.c.binary_key,
            debug_file.c.rejected.is_(None),
            debug_file.c.quality >= int(Quality.SYMTAB),
        )
        .exists(),
    )


@dataclass(frozen=True, slots=True)
class RequestState:
    """State of the requests for one binary and kind."""

    kind: FileKind
    machine: str
    requested_at: datetime
    outcome: RequestOutcome
    detail: str
    attempts: int
    again_at: datetime | None
    """Another machine may get a request from this moment on; None: never."""


def requests_of(connection: Connection, binary_key: str) -> list[RequestState]:
    """States of the requests for a binary, for display."""
    return requests_by_binary(connection, [binary_key]).get(binary_key, [])


def requests_by_binary(connection: Connection, binary_keys: Iterable[str]) -> dict[str, list[RequestState]]:
    """Like `requests_of`, for several binaries, by key."""
    rows = connection.execute(
        select(symbol_request, machine.c.name)
        .join(machine, machine.c.machine_id == symbol_request.c.machine_id)
        .where(symbol_request.c.binary_key.in_(list(binary_keys)))
        .order_by(symbol_request.c.kind)
    )
    found: dict[str, list[RequestState]] = {}
    for row in rows:
        state = RequestState(
            kind=FileKind(row.kind),
            machine=row.name,
            requested_at=row.requested_at,
            outcome=RequestOutcome(row.outcome),
            detail=row.detail,
            attempts=row.attempts,
            again_at=row.again_at,
        )
        found.setdefault(row.binary_key, []).append(state)
    return found


def _requests() -> TableValuedAlias:
    """(machine_id, at): the individual requests in a row of `symbol_request`."""
    pairs = func.unnest(symbol_request.c.machine_ids, symbol_request.c.requested_times)
    return pairs.table_valued(
        column("machine_id", Integer), column("at", DateTime(timezone=True))
    ).render_derived()


def _requests_since(connection: Connection, moment: ColumnElement[datetime]) -> int:
    requests = _requests()
    found = (
        select(func.count())
        .select_from(symbol_request.join(requests, true()))
        .where(symbol_request.c.requested_at > moment, requests.c.at > moment)
    )
    return connection.execute(found).scalar_one()


def _machine_with(
    connection: Connection, binary_key: str, *, but: Sequence[int], rest: timedelta
) -> Row[int, str, str, UUID] | None:
    """The last machine that ran the binary, is enabled in the inventory, and got no request within `rest`."""
    requests = _requests()
    rests = (
        select(requests.c.machine_id)
        .select_from(symbol_request.join(requests, true()))
        .where(
            symbol_request.c.requested_at > func.clock_timestamp() - rest,
            requests.c.at > func.clock_timestamp() - rest,
        )
    )
    known = machine.alias("known")
    return connection.execute(
        select(machine.c.machine_id, machine.c.name, machine.c.address, visit.c.visit_id)
        .select_from(binary)
        .join(capture_binary, capture_binary.c.binary_id == binary.c.binary_id)
        .join(visit, visit.c.visit_id == capture_binary.c.visit_id)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(
            binary.c.key == binary_key,
            capture_binary.c.day >= func.date(func.now() - LOOK_BACK),
            machine.c.enabled,
            machine.c.removed_at.is_(None),
            machine.c.machine_id.not_in(rests),
            # Machines with the same address are the same gateway.
            machine.c.address.not_in(select(known.c.address).where(known.c.machine_id.in_(list(but)))),
        )
        .order_by(visit.c.drawn_at.desc())
        .limit(1)
    ).one_or_none()
