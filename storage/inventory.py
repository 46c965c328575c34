"""The inventory: all machines with the descriptions from their gateways, and the strata (DIGEST G1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from google.protobuf.json_format import MessageToDict
from sqlalchemy import Connection, Row, Select, delete, func, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from fleetpb import capture_pb2
from storage.errors import MachineExists, UnknownMachine
from storage.schema import machine, stratum, visit


@dataclass(frozen=True, slots=True)
class NewMachine:
    """An operator's entry for a machine."""

    name: str
    address: str
    """Listening address of its gateway: `unix:/path` or `host:port`."""
    datacenter: str = ""
    cluster: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of the inventory; the gateway's fields are '' or None until it has described itself."""

    machine_id: int
    name: str
    address: str
    datacenter: str
    cluster: str
    platform: str
    """CPU model."""
    architecture: str
    kernel: str
    logical_cpus: int | None
    cores: int | None
    packages: int | None
    threads_per_core: int | None
    nominal_mhz: float | None
    memory_bytes: int | None
    labels: Mapping[str, str]
    """The operator's labels, then those configured on the gateway."""
    described_at: datetime | None
    enabled: bool


def add(connection: Connection, new: NewMachine, *, replace: bool = False) -> int:
    """Add an enabled machine; return its id. A removed machine is restored with its id and history.

    Raises `MachineExists` unless `replace`, which overwrites all fields of `NewMachine`; a disabled machine stays
    disabled.
    """
    said = {
        "address": new.address,
        "datacenter": new.datacenter,
        "cluster": new.cluster,
        "labels": dict(new.labels),
    }
    row = insert(machine).values(name=new.name, **said)
    was_removed = machine.c.removed_at.is_not(None)
    machine_id = connection.scalar(
        row.on_conflict_do_update(
            index_elements=[machine.c.name],
            set_=said | {"enabled": or_(machine.c.enabled, was_removed), "removed_at": None},
            where=None if replace else was_removed,
        ).returning(machine.c.machine_id)
    )
    if machine_id is None:
        raise MachineExists(f"Machine {new.name!r} is in the inventory already.")
    return int(machine_id)


def machines(connection: Connection, *, enabled_only: bool = True) -> list[Machine]:
    """All machines by name; `enabled_only` excludes machines that are never drawn."""
    query = _present().order_by(machine.c.name)
    if enabled_only:
        query = query.where(machine.c.enabled)
    return [_machine(row) for row in connection.execute(query)]


def find(connection: Connection, name: str) -> Machine:
    """The machine of this name. Raises `UnknownMachine`."""
    row = connection.execute(_present().where(machine.c.name == name)).one_or_none()
    if row is None:
        raise UnknownMachine(f"The inventory has no machine {name!r}; see: fleetprof machines list")
    return _machine(row)


def describe(connection: Connection, machine_id: int, message: capture_pb2.Machine) -> None:
    """Store a gateway's description of its machine. Raises `UnknownMachine`.

    Text is cut to 256 characters, since gateways are not trusted to limit it.
    """
    result = connection.execute(
        update(machine)
        .where(machine.c.machine_id == machine_id)
        .values(
            platform=_text(message.platform),
            architecture=_text(message.architecture),
            kernel=_text(message.kernel_release),
            logical_cpus=min(message.logical_cpus, 2**31 - 1) or None,
            cores=min(message.cores, 2**31 - 1) or None,
            packages=min(message.packages, 2**31 - 1) or None,
            threads_per_core=min(message.threads_per_core, 32_767) or None,
            nominal_mhz=message.nominal_mhz or None,
            memory_bytes=min(message.memory_bytes, 2**63 - 1) or None,
            described=_clean(MessageToDict(message, preserving_proto_field_name=True)),
            described_at=func.now(),
        )
    )
    if result.rowcount == 0:
        raise UnknownMachine(f"The inventory has no machine with id {machine_id}.")


def set_enabled(connection: Connection, name: str, enabled: bool) -> None:
    """Enable or disable drawing of the machine. Raises `UnknownMachine`."""
    machine_id = find(connection, name).machine_id
    connection.execute(update(machine).where(machine.c.machine_id == machine_id).values(enabled=enabled))


def remove(connection: Connection, name: str) -> None:
    """Remove the machine from the inventory; its visits and their profiles stay. Raises `UnknownMachine`."""
    machine_id = find(connection, name).machine_id
    visited = select(visit.c.visit_id).where(visit.c.machine_id == machine_id).exists()
    gone = connection.execute(delete(machine).where(machine.c.machine_id == machine_id, ~visited))
    if gone.rowcount == 0:
        connection.execute(
            update(machine)
            .where(machine.c.machine_id == machine_id)
            .values(enabled=False, removed_at=func.now())
        )


def stratum_ids(
    connection: Connection,
    keys: Iterable[tuple[str, str]],
    *,
    thinning: int = 0,
    visits_per_hour: float = 0.0,
) -> dict[tuple[str, str], int]:
    """The strata of these (datacenter, platform) pairs, created if missing.

    Machine-time with thinned visits, or planned at another pace, is a separate stratum (`storage.schema.stratum`).
    """
    wanted = sorted(set(keys))
    if not wanted:
        return {}
    found = _strata(connection, wanted, thinning, visits_per_hour)
    if missing := [key for key in wanted if key not in found]:
        rows = [
            {
                "datacenter": datacenter,
                "platform": platform,
                "thinning": thinning,
                "visits_per_hour": visits_per_hour,
            }
            for datacenter, platform in missing
        ]
        connection.execute(insert(stratum).values(rows).on_conflict_do_nothing())
        found |= _strata(connection, missing, thinning, visits_per_hour)
    return found


def _strata(
    connection: Connection, keys: list[tuple[str, str]], thinning: int, visits_per_hour: float
) -> dict[tuple[str, str], int]:
    rows = connection.execute(
        select(stratum).where(
            tuple_(stratum.c.datacenter, stratum.c.platform).in_(keys),
            stratum.c.thinning == thinning,
            stratum.c.visits_per_hour == visits_per_hour,
        )
    )
    return {(row.datacenter, row.platform): row.stratum_id for row in rows}


def _present() -> Select[Any]:
    return select(machine).where(machine.c.removed_at.is_(None))


def _machine(row: Row[Any]) -> Machine:
    from_gateway = (row.described or {}).get("labels", {})
    return Machine(
        machine_id=row.machine_id,
        name=row.name,
        address=row.address,
        datacenter=row.datacenter,
        cluster=row.cluster,
        platform=row.platform,
        architecture=row.architecture,
        kernel=row.kernel,
        logical_cpus=row.logical_cpus,
        cores=row.cores,
        packages=row.packages,
        threads_per_core=row.threads_per_core,
        nominal_mhz=row.nominal_mhz,
        memory_bytes=row.memory_bytes,
        labels=from_gateway | row.labels,
        described_at=row.described_at,
        enabled=row.enabled,
    )


def _text(value: str) -> str:
    return value.replace("\0", "")[:256]  # PostgreSQL's text type does not allow NUL


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None  # JSON has no NaN and no infinity
    return value
