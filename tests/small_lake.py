"""Three closed days in PostgreSQL and a lake to export them to, asked both ways."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from storage import partitions
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.segments.export import export_day
from storage.segments.lake_engine import LakeEngine
from storage.segments.location import Lake
from storage.segments.manifest import Manifest
from tests.answer_comparison import differences
from tests.fact_writer import FactWriter
from tests.sampled_campaign import Campaign

DAY = date(2026, 11, 10)
DAYS = 3
MIDNIGHT = datetime(2026, 11, 10, tzinfo=UTC)
LATER = MIDNIGHT + timedelta(days=DAYS + 2)
"""All days are closed."""
BEFORE, AFTER = timedelta(minutes=7), timedelta(minutes=55)
"""Rounds begin so long before a visit of an odd minute and end so long after it; of others nothing is known."""
SIZES = {"east": 100, "west": 40, "north": 7}
FUNCTIONS = ("main", "work", "wait", "std::sort<int>", "ядро")


@dataclass(frozen=True)
class Drawn:
    """A visit; `groups` are (application, colour, samples by stack)."""

    minute: int
    stratum: str = "east"
    utilisation: float | None = None
    seconds: float | None = 5.0
    """None: it failed."""
    groups: tuple[tuple[str, str, tuple[int, ...]], ...] = (("nginx", "", (3, 2, 0, 1, 0, 0)),)


class Store:
    """Both engines over the same days."""

    def __init__(self, engine: Engine, lake: Lake) -> None:
        self.engine = engine
        self.lake = lake
        self.postgres = QueryEngine(engine)
        self.duckdb = LakeEngine(lake)
        with engine.begin() as connection:
            partitions.ensure(connection, [DAY + timedelta(days=n) for n in range(DAYS)])

    def export(self, *days: int) -> list[Manifest]:
        """Days by their number, all without one; files are small, so that there are several."""
        chosen = days or range(DAYS)
        made = [export_day(self.engine, self.lake, DAY + timedelta(days=n), rows_a_file=50) for n in chosen]
        assert None not in made
        return made

    def check(self, question: Any) -> Any:
        """PostgreSQL's answer, which is the lake's."""
        wanted = self.postgres.ask(question)
        found = self.duckdb.ask(question).answer
        assert not differences(wanted, found), differences(wanted, found)[:5]
        return wanted

    def ingest(self, visits: Sequence[Drawn], campaign: str = "fleet", **event: Any) -> None:
        """Have visits drawn and their samples ingested."""
        with self.engine.begin() as connection:
            fleet = Campaign(connection, SIZES, campaign)
            stacks = stacks_of(fleet.write)
            for visit in visits:
                at = MIDNIGHT + timedelta(minutes=visit.minute)
                if visit.minute % 2:
                    fleet.cover(at - BEFORE, at + AFTER)
                if visit.seconds is None:
                    fleet.fail(at, visit.stratum, utilisation=visit.utilisation)
                    continue
                ingested = fleet.answer(
                    at, visit.stratum, utilisation=visit.utilisation, seconds=visit.seconds, **event
                )
                for application, colour, counts in visit.groups:
                    samples = {stack: n for stack, n in zip(stacks, counts, strict=True) if n}
                    labels = {"application": application, "datacenter": visit.stratum}
                    labels |= {"colour": colour} if colour else {}
                    if samples:
                        period = 10_000_000 + len(samples)
                        fleet.write.profile(ingested, samples, period=period, labels=labels, **event)


def stacks_of(write: FactWriter) -> list[int]:
    """Six stacks, with recursion, of functions of several qualities."""
    main, work, wait, sort, kernel = (
        write.function(name, binary=f"bin-{name[:2]}", file=f"{name[:3]}.c", status=3 - i % 3)
        for i, name in enumerate(FUNCTIONS)
    )
    calls = ([main], [main, work], [main, wait, work], [main, work, work, sort], [kernel], [main, kernel])
    return [write.stack(frames) for frames in calls]


def minutes(start: int, end: int, **more: str) -> Selection:
    """The selection of these minutes after the first midnight."""
    bounds = [(MIDNIGHT + timedelta(minutes=m)).isoformat() for m in (start, end)]
    return parse_selection(start=bounds[0], end=bounds[1], **more)


WHOLE = DAYS * 1440
