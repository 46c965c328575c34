"""Benchmark results by platform: overlap coefficients, memory latencies and bandwidths (DIGEST A1, D2).

A figure belongs to a platform and a workload. A figure without a workload applies to workloads without their own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from analysis.measured import Measured
from storage.schema import calibration

ANY = ""
"""Workload of a figure that applies to workloads without their own."""


class Kind(StrEnum):
    """The measured quantity."""

    SMT = "smt"
    """Overlap coefficient: factor of CPU time next to a busy sibling thread; 1 … 10."""
    MEMORY_LATENCY = "memory-latency"
    """Latency of a load that misses every cache, in nanoseconds; 1 … 10 000."""
    MEMORY_BANDWIDTH = "memory-bandwidth"
    """Maximum bytes per second of a socket; up to 10 TB/s."""


_POSSIBLE: Mapping[Kind, tuple[float, float, str]] = {
    Kind.SMT: (1.0, 10.0, ""),
    Kind.MEMORY_LATENCY: (1.0, 10_000.0, " ns"),
    Kind.MEMORY_BANDWIDTH: (0.0, 1e13, " bytes/s"),
}
"""Bounds and unit: far beyond any real machine, to limit what a broken or malicious gateway can report."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One figure of a platform."""

    kind: Kind
    platform: str
    workload: str
    value: float
    lo: float | None = None
    """Lower end of the 95 % interval; None: entered by a person, or measured once."""
    hi: float | None = None
    measured: bool = False
    machine: str = ""
    repetitions: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError, with a sentence for users, for an impossible figure."""
        least, most, unit = _POSSIBLE[self.kind]
        if not least <= self.value <= most or self.value == 0:
            raise ValueError(
                f"{self.kind} is {self.value:g}; it must be {f'at least {least:g}' if least else 'above 0'} and {most:g} at most{unit}."
            )
        if (self.lo is None) != (self.hi is None):
            raise ValueError("An interval needs both ends.")
        if (
            self.lo is not None
            and self.hi is not None
            and not self.lo <= self.value <= self.hi < float("inf")
        ):
            raise ValueError(f"{self.value:g} is outside its interval {self.lo:g} … {self.hi:g}.")
        if not self.platform:
            raise ValueError("The name of the platform is missing.")

    @property
    def known(self) -> Measured:
        """The figure with its interval; without one it is taken as exact."""
        lo, hi = (self.value if end is None else end for end in (self.lo, self.hi))
        return Measured(self.value, lo, hi)


def record(connection: Connection, found: Calibration) -> None:
    """Store a figure, replacing the one of the same kind, platform and workload."""
    values = {
        "kind": found.kind.value, "platform": found.platform, "workload": found.workload, "value": found.value,
        "lo": found.lo, "hi": found.hi, "source": "measured" if found.measured else "given",
        "machine": found.machine, "repetitions": found.repetitions,
    }  # fmt: skip
    statement = insert(calibration).values(**values)
    key = ("kind", "platform", "workload")
    changed = {name: statement.excluded[name] for name in values if name not in key}
    connection.execute(
        statement.on_conflict_do_update(index_elements=key, set_={**changed, "at": statement.excluded.at})
    )


def forget(connection: Connection, kind: Kind, platform: str, workload: str = ANY) -> bool:
    """Delete a figure; return whether it existed."""
    c = calibration.c
    gone = connection.execute(
        delete(calibration).where(c.kind == kind.value, c.platform == platform, c.workload == workload)
    )
    return bool(gone.rowcount)


def read(connection: Connection, kind: Kind | None = None) -> tuple[Calibration, ...]:
    """All figures, or those of a kind, sorted by kind, platform and workload."""
    c = calibration.c
    statement = select(
        c.kind, c.platform, c.workload, c.value, c.lo, c.hi, c.source, c.machine, c.repetitions
    ).order_by(c.kind, c.platform, c.workload)
    if kind is not None:
        statement = statement.where(c.kind == kind.value)
    return tuple(
        Calibration(
            Kind(row.kind), row.platform, row.workload, row.value, row.lo, row.hi,
            row.source == "measured", row.machine, row.repetitions,
        )
        for row in connection.execute(statement)
    )  # fmt: skip


def of_platform(found: Iterable[Calibration], platform: str, workload: str = ANY) -> Calibration | None:
    """The platform's figure for a workload, or else for any workload; None: neither exists."""
    named = {(each.platform, each.workload): each for each in found}
    return named.get((platform, workload)) or named.get((platform, ANY))
