"""Agreement between machines on the symbols of a binary: two machines must give the same file.

A debug file names a binary's functions for the whole fleet, and its build-id is only a claim: a malicious machine
could rename every program's functions. Gateways derive the file from the binary alone, so honest answers are equal
byte by byte. Only their digests are stored until two agree.

| standing | when | the file |
|---|---|---|
| agreed | another machine gave the same | is kept |
| alone | no capture of another machine holds the binary | is kept until one does (`withdraw`) |
| unconfirmed | otherwise: another machine gets a request | is not kept |
| disputed | another machine gave a different one | is not kept, and no further request follows |

Machines are distinguished by their inventory address: two names with one address are one gateway.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from sqlalchemy import Connection, Select, and_, func, select, text
from sqlalchemy.dialects.postgresql import insert

from storage.schema import binary, capture, capture_binary, debug_file, machine, symbol_answer, visit
from storage.symbols import candidates, reprocessing, requests
from storage.symbols.keys import checked

LOOK_BACK: Final = timedelta(hours=24)
"""The first search for binaries that run on a second machine covers captures ingested in this period."""
OVERLAP: Final = timedelta(minutes=2)
"""An ingestion becomes visible when its transaction ends, later than its recorded moment."""
_LOCK: Final = 0x666C_7961_7301


class Standing(Enum):
    """How far an answer is trusted."""

    AGREED = auto()
    ALONE = auto()
    UNCONFIRMED = auto()
    DISPUTED = auto()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one machine."""

    binary_key: str
    machine_id: int
    digest: bytes
    """SHA-256 of the file; for a kernel table, of the kernel's own part."""
    parts: Mapping[str, bytes] = field(default_factory=dict)
    """For a kernel table: SHA-256 of each module's part, by the module's key."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer's standing among the answers of all machines."""

    standing: Standing
    others: tuple[str, ...]
    """Names of the machines that gave the same if agreed, or a different one if disputed."""
    parts: Mapping[str, Standing]
    """Standing of each part; never `ALONE`."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A file vouched for by one machine only that is withdrawn."""

    binary_key: str
    machine: str
    """The machine that gave the file."""
    other: str
    """The other machine that runs the binary."""


def ran(connection: Connection, machine_id: int, binary_key: str) -> bool:
    """Whether a capture of the machine holds the binary."""
    held = _held(binary_key).where(visit.c.machine_id == machine_id)
    return bool(connection.scalar(select(held.exists())))


def held_elsewhere(connection: Connection, machine_id: int, binary_keys: Collection[str]) -> frozenset[str]:
    """The binaries that captures of machines at other addresses hold."""
    found = (
        select(binary.c.key)
        .join(capture_binary, capture_binary.c.binary_id == binary.c.binary_id)
        .join(visit, visit.c.visit_id == capture_binary.c.visit_id)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(binary.c.key.in_(list(binary_keys)), machine.c.address != _address_of(machine_id))
        .distinct()
    )
    return frozenset(connection.scalars(found))


def weigh(connection: Connection, said: Answer) -> Verdict:
    """Record a machine's answer, replacing its earlier one, and compare it with the others. Raises `BadKey`."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    row = {
        "digest": said.digest,
        "parts": {part: digest.hex() for part, digest in said.parts.items()},
        "answered_at": func.clock_timestamp(),
    }
    connection.execute(
        insert(symbol_answer)
        .values(binary_key=checked(said.binary_key), machine_id=said.machine_id, **row)
        .on_conflict_do_update(index_elements=["binary_key", "machine_id"], set_=row)
    )
    others = connection.execute(
        select(symbol_answer.c.digest, symbol_answer.c.parts, machine.c.name)
        .join(machine, machine.c.machine_id == symbol_answer.c.machine_id)
        .where(
            symbol_answer.c.binary_key == said.binary_key,
            machine.c.removed_at.is_(None),
            machine.c.address != _address_of(said.machine_id),
        )
        .order_by(machine.c.name)
    ).all()
    same = tuple(other.name for other in others if bytes(other.digest) == said.digest)
    different = tuple(other.name for other in others if bytes(other.digest) != said.digest)
    parts = {
        part: _weighed(digest.hex(), [other.parts[part] for other in others if part in other.parts])
        for part, digest in said.parts.items()
    }
    if different:
        return Verdict(Standing.DISPUTED, different, parts)
    if same:
        return Verdict(Standing.AGREED, same, parts)
    is_alone = not connection.scalar(select(_held_elsewhere(said).exists()))
    return Verdict(Standing.ALONE if is_alone else Standing.UNCONFIRMED, (), parts)


def withdraw(connection: Connection, since: datetime | None) -> tuple[list[Withdrawn], datetime]:
    """Withdraw files of a single machine whose binaries now run on another; also return the next call's `since`.

    Considers captures that were ingested since `since`; None: in the last day. Captures named by the files are
    reprocessed, and the binaries are requested again.
    """
    now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    witness, other, sibling = machine.alias("witness"), machine.alias("other"), debug_file.alias("sibling")
    rows = connection.execute(
        select(
            sibling.c.binary_key,
            sibling.c.sha256,
            witness.c.name.label("witness"),
            func.min(other.c.name).label("other"),
        )
        .select_from(debug_file)
        .join(witness, witness.c.machine_id == debug_file.c.machine_id)
        .join(binary, binary.c.key == debug_file.c.binary_key)
        .join(capture_binary, capture_binary.c.binary_id == binary.c.binary_id)
        .join(capture, capture.c.visit_id == capture_binary.c.visit_id)
        .join(visit, visit.c.visit_id == capture_binary.c.visit_id)
        .join(other, other.c.machine_id == visit.c.machine_id)
        # A kernel's table is stored for its modules, too.
        .join(
            sibling,
            and_(sibling.c.sha256 == debug_file.c.sha256, sibling.c.machine_id == debug_file.c.machine_id),
        )
        .where(
            debug_file.c.machine_id.is_not(None),
            capture.c.ingested_at > (now - LOOK_BACK if since is None else since - OVERLAP),
            other.c.address != witness.c.address,
        )
        .group_by(sibling.c.debug_file_id, witness.c.name)
        .order_by(sibling.c.binary_key)
    ).all()
    for row in rows:
        candidates.remove(connection, row.binary_key, bytes(row.sha256))
        why = f"{row.other} runs it, too. The symbols that only {row.witness} sent are no longer used."
        reprocessing.begin(connection, row.binary_key, why=why, nameless=False)
        requests.reopen(connection, row.binary_key, why)
    return [Withdrawn(row.binary_key, row.witness, row.other) for row in rows], now


def _weighed(digest: str, others: list[str]) -> Standing:
    if any(other != digest for other in others):
        return Standing.DISPUTED
    return Standing.AGREED if others else Standing.UNCONFIRMED


def _held_elsewhere(said: Answer) -> Select[tuple[int]]:
    return (
        _held(said.binary_key)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(machine.c.address != _address_of(said.machine_id))
    )


def _held(binary_key: str) -> Select[tuple[int]]:
    """Captures that hold the binary, joined with their visits."""
    return (
        select(capture_binary.c.binary_id)
        .join(binary, binary.c.binary_id == capture_binary.c.binary_id)
        .join(visit, visit.c.visit_id == capture_binary.c.visit_id)
        .where(binary.c.key == binary_key)
    )


def _address_of(machine_id: int) -> object:
    one = machine.alias("one")
    return select(one.c.address).where(one.c.machine_id == machine_id).scalar_subquery()
