"""What a fleet needs of machines, disks and lines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from benchmarks.scaling.measured import BUCKET_BYTES, WHOLE_DAY_BYTES, Measured
from benchmarks.scaling.numerals import count, plain, size

DEFAULT_VISITS: Final = 4_320
"""A day, of the standing campaign: 3 a minute."""
RAW_DAYS, HOUR_DAYS, CELL_DAYS, LAKE_DAYS = 35, 35, 155, 1100
"""Raw captures and profiles; cells of hours; cells of days, buckets and visits, which go in whole buckets of 64 days, so
that 92 become as many as 155; the lake."""
DAY_S: Final = 86_400
_CPUS: Final = 64
_BUCKET_DAYS: Final = 64
_PROMISED: Final = 0.1


@dataclass(frozen=True)
class Fleet:
    """What a fleet with so many visits a day needs."""

    machines: int
    visits: float
    given: Measured

    @property
    def facts(self) -> float:
        """A day."""
        return self.visits * self.given.facts_per_visit

    @property
    def overhead(self) -> float:
        """Share of the fleet's CPU time."""
        return self.visits * self.given.visit_cpu_s / (self.machines * _CPUS * DAY_S)

    @property
    def halfwidth(self) -> float:
        """Of a 1 % function of the whole fleet, after a day."""
        return self.given.halfwidth * math.sqrt(DEFAULT_VISITS / self.visits)

    @property
    def least_part(self) -> float:
        """Share of the machines that an application must run on for ± 10 % of its own 1 % function after 30 days."""
        needed = DEFAULT_VISITS * (self.given.halfwidth / _PROMISED) ** 2
        return needed / (30 * self.visits)

    @property
    def profiles(self) -> float:
        """Bytes in PostgreSQL, once retention has begun to drop them; so are the next ones."""
        return self.facts * self.given.profile_bytes * RAW_DAYS

    @property
    def hours(self) -> float:
        """Cells of hours."""
        return self.facts * self.given.hour_bytes * HOUR_DAYS

    @property
    def days(self) -> float:
        """Cells of days."""
        return self.facts * WHOLE_DAY_BYTES * CELL_DAYS

    @property
    def buckets(self) -> float:
        """Cells of many days."""
        return self.facts * BUCKET_BYTES * CELL_DAYS

    @property
    def rows_of_visits(self) -> float:
        """Rows that stay as long as cells do."""
        return self.visits * self.given.visit_bytes * CELL_DAYS

    @property
    def database(self) -> float:
        """Everything in PostgreSQL but stacks and names, at most."""
        return self.profiles + self.hours + self.days + self.buckets + self.rows_of_visits

    def database_of(self, profile_days: int, cell_days: int) -> float:
        """As `database`, with other retentions; cells go in whole buckets of 64 days."""
        longest = cell_days + _BUCKET_DAYS - 1
        hours = self.hours * min(longest, HOUR_DAYS) / HOUR_DAYS
        history = (self.days + self.buckets + self.rows_of_visits) * longest / CELL_DAYS
        return self.profiles * profile_days / RAW_DAYS + hours + history

    @property
    def archive(self) -> float:
        """Bytes of raw captures that are kept."""
        return self.raw * RAW_DAYS

    @property
    def raw(self) -> float:
        """Bytes of raw captures, a day."""
        return self.visits * self.given.samples_per_visit * self.given.raw_bytes_per_sample

    @property
    def lake(self) -> float:
        """Bytes that are kept there."""
        return self.facts * self.given.lake_bytes * LAKE_DAYS

    @property
    def server_cores(self) -> float:
        """Of all servers, busy all day."""
        given = self.given
        return self.cores(given.ingest_s + given.roll_s + given.export_s + given.server_s)

    @property
    def load(self) -> float:
        """Share of what one machine ingested and merged at most that the mean of the day takes."""
        return self.facts / DAY_S / self.given.ingested_per_s

    @property
    def catching_up(self) -> float | None:
        """Seconds in which that machine ingests what a day away left and what arrives meanwhile; None: never."""
        spare = self.given.ingested_per_s - self.facts / DAY_S
        return self.facts / spare if spare > 0 else None

    def cores(self, cpu_s_per_fact: float) -> float:
        """Cores that are busy all day."""
        return self.facts * cpu_s_per_fact / DAY_S

    def rows(self) -> list[tuple[str, str]]:
        """What the page's table shows, by name."""
        given = self.given
        return [
            ("visits a day", count(self.visits)),
            ("of a machine", plain(self.visits / self.machines)),
            ("share of the fleet's CPU time", f"{plain(100 * self.overhead)} %"),
            ("core-hours of the fleet, a day", plain(self.visits * given.visit_cpu_s / 3600)),
            ("a 1 % function of the fleet, after a day", f"± {plain(100 * self.halfwidth)} %"),
            (
                "… of what runs on this share of machines, ± 10 % after 30 days",
                f"{plain(100 * self.least_part)} %" if self.least_part <= 1 else "not even all",
            ),
            ("facts a day", count(self.facts)),
            ("raw captures, a day", size(self.raw)),
            ("raw captures kept (35 days)", size(self.archive)),
            ("network, mean", f"{size(self.raw / DAY_S)}/s"),
            ("PostgreSQL: profiles and lines (35 days)", size(self.profiles)),
            ("PostgreSQL: cells of hours (35 days)", size(self.hours)),
            ("PostgreSQL: cells of days (155 days)", size(self.days)),
            ("PostgreSQL: buckets of days, at most (155 days)", size(self.buckets)),
            ("PostgreSQL: visits (155 days)", size(self.rows_of_visits)),
            ("PostgreSQL, at most, stacks apart", size(self.database)),
            ("lake, a day", size(self.facts * given.lake_bytes)),
            ("lake kept (1 100 days)", size(self.lake)),
            ("busy cores: workers", plain(self.cores(given.ingest_s))),
            ("busy cores: collector", plain(self.cores(given.roll_s + given.export_s))),
            ("busy cores: PostgreSQL", plain(self.cores(given.server_s))),
            ("core-hours of servers, a day", plain(24 * self.server_cores)),
        ]
