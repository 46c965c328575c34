"""The databases of a run: a separate server, a fleet of 8 strata, and the stacks known in advance."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import create_engine, insert, text
from sqlalchemy.dialects.postgresql import insert as upsert

from services.embedded.postgres import EmbeddedPostgres
from storage import campaigns, inventory, migrate, partitions
from storage.archive import capture_key
from storage.campaigns import Definition, EventPlan
from storage.ingest.interning import Interner
from storage.ingest.marker_frames import MARKERS, Kind
from storage.ingest.stack_hash import hash_runs
from storage.ingest.stack_rows import StackRows
from storage.inventory import NewMachine
from storage.schema import capture, coverage, visit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from sqlalchemy import Connection, Engine

    from benchmarks.store.vocabulary import Ints, Vocabulary

STRATA: Final = 8
DEEP_EVERY: Final = 5
_PART: Final = 50_000
OPTIONS: Final = {"shared_buffers": "512MB", "max_wal_size": "2GB", "checkpoint_timeout": "15min"}


@contextmanager
def running(folder: Path) -> Iterator[EmbeddedPostgres]:
    """Run a server below `folder`, created if missing, with a migrated database; it ends with the block."""
    folder.chmod(0o711)  # the server runs as another user when we are root
    server = EmbeddedPostgres(folder / "postgres", options=OPTIONS)
    try:
        server.start()
        migrate.upgrade(server.url())
        yield server
    finally:
        server.stop()


@contextmanager
def fresh_database() -> Iterator[EmbeddedPostgres]:
    """Run a separate server with an empty, migrated database; both are deleted after the block."""
    folder = Path(tempfile.mkdtemp(prefix="bench-store-", dir="/tmp"))
    try:
        with running(folder) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def another_database(server: EmbeddedPostgres, name: str) -> str:
    """Create a database on the server, replacing one of the same name; returns its URL."""
    engine = create_engine(server.url("postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.url(name)


@dataclass(frozen=True)
class Places:
    """Ids that rows of visits refer to."""

    campaigns: tuple[int, int]
    """The standing campaign and another one."""
    strata: list[int]
    machines: list[int]
    deep_every: int
    """One in `deep_every` visits belongs to the other campaign."""

    def campaign(self, visit_id: UUID) -> int:
        """The campaign that drew a visit."""
        return self.campaigns[visit_id.int % self.deep_every == 0]


def make_fleet(
    connection: Connection, machines: int, days: Iterable[date], *, deep_every: int = DEEP_EVERY
) -> Places:
    """Create two campaigns, 8 strata and their machines, and partitions for these days."""
    partitions.ensure(connection, days)
    ids = [
        campaigns.create_or_update(
            connection, Definition(name, 3600, 100, (EventPlan("cpu", 5000, rate_hz=99),))
        ).campaign_id
        for name in ("fleet", "deep")
    ]
    strata = inventory.stratum_ids(connection, [(f"dc{n // 4}", f"CPU {n % 4}") for n in range(STRATA)])
    return Places(
        (ids[0], ids[1]),
        list(strata.values()),
        [inventory.add(connection, NewMachine(f"m{n:05d}", f"h{n}:1")) for n in range(machines)],
        deep_every,
    )


def archived(
    connection: Connection, places: Places, visits: Sequence[tuple[UUID, int, int]], *, ingested: bool
) -> None:
    """Insert rows of successful visits (id, machine, hour since 1970) with archived captures, ingested or not."""
    rows, raw = [], []
    cells: dict[tuple[int, int, int, int, date], int] = {}
    for visit_id, machine, hour in visits:
        at = datetime.fromtimestamp(3600 * hour, UTC)
        stratum = places.strata[machine % STRATA]
        campaign = places.campaign(visit_id)
        rows.append({
            "visit_id": visit_id, "day": at.date(), "hour": hour, "campaign_id": campaign, "round": hour,
            "machine_id": places.machines[machine], "stratum_id": stratum,
            "population": len(places.machines) // STRATA, "drawn": 1, "probability": 0.1, "drawn_at": at,
            "outcome": "answered", "seconds": 5.0, "utilisation": (machine % 10) / 10,
        })  # fmt: skip
        key = capture_key(at.date(), visit_id)
        raw.append({
            "visit_id": visit_id, "day": at.date(), "blob": key, "bytes": 1, "raw_bytes": 1, "sha256": b"",
            "samples": 1, "ingested": int(ingested),
        })  # fmt: skip
        cell = (campaign, stratum, hour, min(3, (machine % 10) * 4 // 10), at.date())
        cells[cell] = cells.get(cell, 0) + 1
    connection.execute(insert(visit), rows)
    connection.execute(insert(capture), raw)
    columns = ("campaign_id", "stratum_id", "hour", "utilisation_class", "day")
    for cell, count in cells.items():
        statement = upsert(coverage).values(
            **dict(zip(columns, cell, strict=True)), population=len(places.machines) // STRATA,
            drawn=count, answered=count, failed=0, seconds=5.0 * count,
        )  # fmt: skip
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=columns[:4],
                set_={
                    "drawn": coverage.c.drawn + count,
                    "answered": coverage.c.answered + count,
                    "seconds": coverage.c.seconds + 5.0 * count,
                },
            )
        )


def meet(engine: Engine, vocabulary: Vocabulary) -> Ints:
    """Insert the functions and the known stacks into the dictionaries; returns every known stack's id, else 0."""
    interner = Interner(engine)
    functions = interner.functions(vocabulary.functions, [Kind.USER] * len(vocabulary.functions))
    interner.functions(MARKERS, [Kind.MARKER] * len(MARKERS))
    ids = np.zeros(vocabulary.stacks, np.int64)
    known = np.concatenate(
        [first + np.arange(count) for first, count in zip(vocabulary.first, vocabulary.known, strict=False)]
    )
    for stacks in np.array_split(known, max(1, len(known) // _PART)):
        depth, function = vocabulary.functions_of(stacks)
        offsets = np.concatenate(([0], np.cumsum(depth)))
        called = functions[function]
        hashes = hash_runs(called, np.arange(len(called)), offsets)

        def rows_of(asked: Ints) -> StackRows:
            by_program = np.argsort(asked)
            asked = asked[by_program]
            deep = depth[asked]  # noqa: B023 - called before the next part
            ends = np.repeat(offsets[asked + 1] - 1 + np.cumsum(deep) - deep, deep)  # noqa: B023 - likewise
            at = ends - np.arange(len(ends))
            return StackRows(by_program, hashes[asked], deep, called[at])  # noqa: B023 - likewise

        ids[stacks] = interner.stacks(hashes, rows_of)
    return ids


def bytes_by_table(connection: Connection) -> dict[str, int]:
    """Bytes of the whole database by its catalogue: tables with indexes and TOAST, partitions with their parent.

    Each other schema, such as PostgreSQL's own catalogue, counts as one table.
    """
    rows = connection.execute(
        text(
            "SELECT CASE n.nspname WHEN 'public' THEN root.relname ELSE n.nspname END, sum(pg_total_relation_size(c.oid))::bigint"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_class root ON root.oid = coalesce(pg_partition_root(c.oid), c.oid)"
            # Table sizes include indexes and TOAST; shared catalogues belong to the server.
            " WHERE c.relkind IN ('r', 'm', 'S') AND n.nspname <> 'pg_toast' AND NOT c.relisshared"
            " GROUP BY 1 ORDER BY 2 DESC"
        )
    )
    return {name: size for name, size in rows}  # noqa: C416 - rows are no pairs to a type checker


def growth(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """Bytes by which each table has grown."""
    return {name: size - before.get(name, 0) for name, size in now.items()}
