"""Exports a day from one PostgreSQL snapshot, verifies the files, and publishes them atomically by a manifest.

An interrupted export leaves unreferenced files and is simply repeated. Concurrent exports of one day exclude each
other, and retention of the day waits for the export.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy import Connection, Engine, func, select, text

from storage import identity, partitions
from storage.arrays import Int64
from storage.database import snapshot
from storage.errors import PartitionMissing
from storage.query.estimation.sampling_design import Ids, read_design
from storage.query.selections.selection import Selection
from storage.schema import campaign, capture_segment, coverage, covered_time, profile, sample_type, visit
from storage.segments import export_dictionaries, ingested_days, manifest
from storage.segments.duck import DEFAULT, Limits
from storage.segments.due_days import reason_to_keep
from storage.segments.errors import LakeAhead, LakeDamaged, LakeDiffers, LakeError
from storage.segments.export_dictionaries import columns_of
from storage.segments.export_facts import Weights, write_facts
from storage.segments.location import Lake, folder_of
from storage.segments.manifest import Covered, Manifest
from storage.segments.tables import TABLES
from storage.segments.verify import faults
from storage.segments.writer import ROWS_A_FILE, TableWriter
from storage.snapshots.copy_binary import read_fixed

_LOCK = 0x666C6C6B
"""First key of the advisory locks; the second is the day number since 1970."""
_MAX_BYTES = 1 << 30
_ROWS_AT_ONCE = 20_000
_EPOCH = date(1970, 1, 1)


def export_day(
    engine: Engine,
    lake: Lake,
    day: date,
    *,
    on_facts: Callable[[int], None] = lambda _: None,
    limits: Limits = DEFAULT,
    now: datetime | None = None,
    rows_a_file: int = ROWS_A_FILE,
    replace: bool = False,
    stopping: Callable[[], bool] = lambda: False,
) -> Manifest | None:
    """Export a day to the lake, replacing its copy; None: another process is exporting it.

    `on_facts` receives the number of facts of each batch. With `replace` even a copy that has more than PostgreSQL is
    replaced. `stopping` ends the verification. Raises `DatabaseError` (`PartitionMissing` for a day without facts),
    `LakeUnavailable`, `LakeAhead`, `LakeBusy` if stopped, and `LakeDiffers` if the files do not add up. The lake is
    unchanged then.
    """
    database = identity.ensure(engine)
    stamp = manifest.stamp_of((now or datetime.now(UTC)).astimezone(UTC), secrets.token_hex(4))
    with snapshot(engine) as connection:
        partitions.keep(connection)
        ours = connection.scalar(
            text("SELECT pg_try_advisory_xact_lock(:class, :day)"),
            {"class": _LOCK, "day": (day - _EPOCH).days},
        )
        if not ours:
            return None
        if day not in partitions.existing(connection):
            raise PartitionMissing(
                f"PostgreSQL has no facts of {day}: they are deleted, or not ingested yet."
            )
        if not replace and (why := reason_to_keep(connection, lake, day)):
            raise LakeAhead(f"{day} was not exported. {why}")
        with _undone(lake, day, stamp):
            made = _Day(connection, lake, day, database, stamp, rows_a_file).write(on_facts)
            if wrong := faults(lake, made, limits, stopping):
                raise LakeDiffers(f"{day} was not exported. {' '.join(wrong)}")
            manifest.write(lake, made)
        clear(lake, made)
    return made


def clear(lake: Lake, made: Manifest) -> int:
    """Delete the day's unreferenced files; return their number. The caller must hold the day's export lock."""
    deleted = 0
    for table in TABLES:
        for key in lake.keys(folder_of(table, made.day)):
            if key not in made.keys(table):
                lake.delete(key)
                deleted += 1
    return deleted


@contextmanager
def _undone(lake: Lake, day: date, stamp: str) -> Iterator[None]:
    """Delete this export's files if the block fails. If the deletion fails, too, the next export repeats it."""
    try:
        yield
    except BaseException as error:
        with suppress(LakeError):
            # A put may succeed although its response is lost, so the manifest may exist.
            if not _counts(lake, day, stamp):
                _discard(lake, day, stamp)
        if isinstance(error, pa.ArrowException):
            raise LakeDiffers(f"{day} was not exported: cannot write it as Parquet: {error}") from error
        raise


def _counts(lake: Lake, day: date, stamp: str) -> bool:
    try:
        known = manifest.read(lake, day)
    except LakeDamaged:
        return False
    return known is not None and known.stamp == stamp


def _discard(lake: Lake, day: date, stamp: str) -> None:
    for table in TABLES:
        folder = folder_of(table, day)
        for key in lake.keys(folder):
            if key.startswith(f"{folder}/{stamp}-"):
                lake.delete(key)


class _Day:
    """One export of a day."""

    def __init__(  # noqa: PLR0917 - what an export is of
        self, connection: Connection, lake: Lake, day: date, database: str, stamp: str, rows_a_file: int
    ) -> None:
        self._connection = connection
        self._day = day
        self._database = database
        self._stamp = stamp
        self._writers = {
            name: TableWriter(lake, name, day, stamp, rows_a_file=rows_a_file) for name in TABLES
        }

    def write(self, on_facts: Callable[[int], None]) -> Manifest:
        connection, day, open_table = self._connection, self._day, self._writers.__getitem__
        # Small tables come first and are put at once: an unwritable lake fails before millions of facts are read.
        for name in export_dictionaries.write_small(connection, open_table):
            self._writers[name].close()
        ids, machines = self._write_visits()
        self._write_segments(ids)
        self._write_coverage()
        met = write_facts(
            connection,
            day,
            open_table("profiles"),
            open_table("samples"),
            self._weights(ids),
            on_facts=on_facts,
        )
        met.machines.add(machines)
        export_dictionaries.write_stacks(connection, open_table, met.stacks)
        export_dictionaries.write_values(connection, open_table("values"), met.values)
        export_dictionaries.write_label_sets(connection, open_table("label_sets"), met.label_sets)
        export_dictionaries.write_machines(connection, open_table("machines"), met.machines)
        return Manifest(
            day=day,
            database=self._database,
            stamp=self._stamp,
            ingested=ingested_days.ingested(connection, day),
            totals=ingested_days.totals(connection, day),
            tables={name: writer.close() for name, writer in self._writers.items()},
            begun=self._begun(),
            covered=self._covered(),
        )

    def _write_visits(self) -> tuple[Ids, Int64]:
        """The ids of the day's visits and their machines; a visit's number is its index."""
        v, table = visit.c, self._writers["visits"]
        columns = (
            v.visit_id, v.hour, v.campaign_id, v.round, v.machine_id, v.stratum_id, v.population, v.drawn,
            v.probability, v.drawn_at, v.outcome, v.seconds, v.utilisation,
        )  # fmt: skip
        ordered = select(*columns).where(v.day == self._day).order_by(v.visit_id)
        ids: list[bytes] = []
        machines: list[int] = []
        rows = self._connection.execute(ordered, execution_options={"yield_per": _ROWS_AT_ONCE})
        for some in rows.partitions():
            first = len(ids)
            ids += [row.visit_id.bytes for row in some]
            machines += [row.machine_id for row in some]
            uuids, *others = columns_of(some, len(columns))
            table.add([range(first, len(ids)), list(map(str, uuids)), *others])
        return np.array(ids, "S16"), np.array(machines, np.int64)

    def _write_segments(self, ids: Ids) -> None:
        c = capture_segment.c
        rows = read_fixed(
            self._connection,
            select(c.visit_id, c.segment, c.sample_type_id, c.stacks, c.seconds, c.period, c.samples)
            .where(c.day == self._day, c.sample_type_id.is_not(None), c.seconds.is_not(None))
            .order_by(c.visit_id, c.segment),
            limit=_MAX_BYTES,
        )
        of = rows.uuids("visit_id")
        number = np.searchsorted(ids, of)
        if (number == len(ids)).any() or not np.array_equal(ids[number], of):
            raise LakeDiffers(f"{self._day} was not exported: visits of some captures are missing.")
        self._writers["segments"].add(
            [
                number,
                *(rows.ints(name) for name in ("segment", "sample_type_id")),
                np.array(rows.values("stacks"), np.bool_),
                rows.floats("seconds"),
                *(rows.ints(name) for name in ("period", "samples")),
            ]
        )

    def _write_coverage(self) -> None:
        c = coverage.c
        columns = (
            c.campaign_id, c.stratum_id, c.hour, c.utilisation_class, c.population, c.drawn, c.answered, c.failed,
            c.seconds,
        )  # fmt: skip
        rows = read_fixed(
            self._connection,
            select(*columns).where(c.day == self._day).order_by(*columns[:4]),
            limit=_MAX_BYTES,
        )
        whole = [rows.ints(column.name) for column in columns[:-1]]
        self._writers["coverage"].add([*whole, rows.floats("seconds")])

    def _weights(self, ids: Ids) -> Weights:
        """The weight of each visit for a query of this day alone."""
        c = profile.c
        start = datetime.combine(self._day, time(), UTC)
        kinds = self._connection.execute(
            select(
                c.campaign_id,
                campaign.c.name,
                c.sample_type_id,
                sample_type.c.event,
                sample_type.c.kind,
                c.stacks,
            )
            .distinct()
            .join(campaign, campaign.c.campaign_id == c.campaign_id)
            .join(sample_type, sample_type.c.sample_type_id == c.sample_type_id)
            .where(c.day == self._day)
        ).all()
        weights: dict[tuple[int, int, bool], npt.NDArray[np.float64]] = {}
        for kind in kinds:
            selection = Selection(start, start + timedelta(days=1), event=kind.event, campaign=kind.name)
            _, known = read_design(
                self._connection,
                selection,
                kind.campaign_id,
                kind.sample_type_id,
                stacks=kind.stacks,
                gauge=kind.kind == "gauge",
            )
            key = (kind.campaign_id, kind.sample_type_id, kind.stacks)
            weights[key] = np.ones(len(ids)) if known is None else known.of(ids)[0]
        return weights

    def _begun(self) -> dict[int, int]:
        c = coverage.c
        first = select(c.campaign_id, func.min(c.hour)).where(c.drawn > 0).group_by(c.campaign_id)
        return {row[0]: row[1] for row in self._connection.execute(first)}

    def _covered(self) -> dict[int, tuple[Covered, ...]]:
        c = covered_time.c
        start = datetime.combine(self._day, time(), UTC)
        end = start + timedelta(days=1)
        rows = self._connection.execute(
            select(c.campaign_id, c.begins, c.ends)
            .where(c.ends > start, c.begins < end)
            .order_by(c.campaign_id, c.begins)
        )
        found: dict[int, tuple[Covered, ...]] = {}
        for number, begins, ends in rows:
            run = (_microseconds(max(begins, start)), _microseconds(min(ends, end)))
            found[number] = (*found.get(number, ()), run)
        return found


def _microseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
