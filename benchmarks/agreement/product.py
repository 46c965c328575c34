"""The whole product: a gateway daemon, a visit, the archive, the symbolizer, PostgreSQL, a query."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from collector import by_hand
from collector.visit import Visitor
from storage import inventory
from storage.campaigns import BY_HAND, EventPlan
from storage.ingest.decode_capture import decode_capture
from storage.inventory import NewMachine
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.query.shapes.flame import MOST_NODES, FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.ingestion import Ingester

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from collector.schedule_round import ScheduledVisit
    from fleetpb import capture_pb2
    from storage.archive import Archive
    from storage.query.answers.table import TableAnswer
    from storage.query.shapes.flame import FlameTree
    from symbolizer.sources.source import SymbolSource

MACHINE = "here"
_ALL_ROWS = Page(limit=10_000)


class ProductFailed(Exception):
    """A part of the product failed; the sentence names it."""


@contextmanager
def gateway(socket: Path, log: Path) -> Iterator[str]:
    """Run a gateway daemon of this machine; yields its address."""
    address = f"unix:{socket}"
    with log.open("w+") as log_file:
        # Default limits, except a higher share of CPU, so that other work does not thin the sampling.
        command = [sys.executable, "-m", "gateway", "--listen", address, "--max-cpu-percent", "50"]
        process = subprocess.Popen(command, stdout=log_file, stderr=subprocess.STDOUT)
        try:
            while "listening" not in log.read_text():
                if process.poll() is not None:
                    raise ProductFailed(f"The gateway ended: {log.read_text()[-500:]}")
                try:
                    process.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
            yield address
        finally:
            process.terminate()
            process.wait(30)


@dataclass(frozen=True, slots=True)
class VisitResult:
    """A successful visit."""

    scheduled: ScheduledVisit
    capture: capture_pb2.Capture

    @property
    def period(self) -> int:
        """Units of the CPU event per sample."""
        return self.capture.segments[0].period

    @property
    def lost(self) -> int:
        """Records that did not fit into the gateway's rings."""
        return sum(sum(segment.lost) for segment in self.capture.segments)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The spans of CLOCK_MONOTONIC, ns, in which the CPU was sampled."""
        start = self.capture.window.monotonic_start_ns
        return [
            (start + segment.start_offset_ns, start + segment.start_offset_ns + segment.duration_ns)
            for segment in self.capture.segments
        ]


class Product:
    """Profiles this machine and runs queries. The caller owns the archive and the database."""

    def __init__(
        self,
        engine: Engine,
        archive: Archive,
        symbol_cache: Path,
        gateway_address: str,
        *,
        symbols: SymbolSource | None = None,
    ) -> None:
        """`symbols` defaults to this machine's files."""
        self._engine = engine
        self._archive = archive
        self._lander = Ingester(engine, archive, Resolver(symbols or LocalFiles(), symbol_cache))
        self._queries = QueryEngine(engine)
        with engine.begin() as connection:
            inventory.add(connection, NewMachine(MACHINE, gateway_address))

    def visit(self, seconds: float, rate_hz: float, on_progress: Callable[[float, int], None]) -> VisitResult:
        """Visit this machine and archive the capture. Raises ProductFailed."""
        visitor = Visitor()
        scheduled = by_hand.schedule(self._engine, MACHINE, visitor)
        visited = asyncio.run(
            by_hand.run_visit(
                self._engine,
                self._archive,
                visitor,
                scheduled,
                events=[EventPlan(event="cpu", rate_hz=rate_hz, duration_ms=round(seconds * 1000))],
                on_progress=on_progress,
            )
        )
        if visited.received is None:
            raise ProductFailed(f"The visit failed: {visited.outcome}. {visited.detail}")
        return VisitResult(scheduled, decode_capture(visited.received.blob))

    def ingest(self, visited: VisitResult) -> None:
        """Name the capture's functions and store its samples. Raises ProductFailed."""
        brought = sum(segment.samples for segment in visited.capture.segments)
        ingested = self._lander.ingest(visited.scheduled.visit_id)
        if ingested is None or ingested.samples != brought:
            raise ProductFailed(f"The capture of {brought} samples were not ingested: {ingested}")

    def table(self, visited: VisitResult, select: str, by: tuple[str, ...] = ("function",)) -> TableAnswer:
        """All rows of the visit's samples that match."""
        return self._queries.ask(TableQuestion(_selection(visited, select), by, _ALL_ROWS))

    def flame(self, visited: VisitResult, select: str) -> FlameTree:
        """The whole tree of the visit's samples that match."""
        return self._queries.ask(FlameTreeQuestion(_selection(visited, select), MOST_NODES))

    def close(self) -> None:
        """Release the queries' resources."""
        self._queries.close()


def _selection(visited: VisitResult, select: str) -> Selection:
    moment = visited.scheduled.visit.drawn_at
    return Selection(
        start=moment,
        end=moment + timedelta(microseconds=1),
        matchers=parse_matchers(select),
        campaign=BY_HAND,
    )
