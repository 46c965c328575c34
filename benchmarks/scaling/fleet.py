"""Machines, disks and network bandwidth that a fleet needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from benchmarks.scaling.measured import BUCKET_BYTES, WHOLE_DAY_BYTES, Measured
from benchmarks.scaling.numerals import count, plain, size

DEFAULT_VISITS: Final = 4_320
"""Visits per day of the standing campaign: 3 per minute."""
RAW_DAYS, HOUR_DAYS, CELL_DAYS, LAKE_DAYS = 35, 35, 155, 1100
"""Retention of raw captures and profiles; of hourly cells; of daily cells, buckets and visits; of the lake. Cells are
dropped in whole buckets of 64 days, so 92 days become up to 155."""
DAY_S: Final = 86_400
_CPUS: Final = 64
_BUCKET_DAYS: Final = 64
_PROMISED: Final = 0.1


@dataclass(frozen=True)
class Fleet:
    """Resources for a fleet with this number of visits per day."""

    machines: int
    visits: float
    given: Measured

    @property
    def facts(self) -> float:
        """Facts per day."""
        return self.visits * self.given.facts_per_visit

    @property
    def overhead(self) -> float:
        """Share of the fleet's CPU time."""
        return self.visits * self.given.visit_cpu_s / (self.machines * _CPUS * DAY_S)

    @property
    def halfwidth(self) -> float:
        """Relative half-width for a 1 % function of the whole fleet after one day."""
        return self.given.halfwidth * math.sqrt(DEFAULT_VISITS / self.visits)

    @property
    def least_part(self) -> float:
        """Least share of machines that run an application, for ± 10 % of its own 1 % function after 30 days."""
        needed = DEFAULT_VISITS * (self.given.halfwidth / _PROMISED) ** 2
        return needed / (30 * self.visits)

    @property
    def profiles(self) -> float:
        """Bytes in PostgreSQL, once retention has begun to drop them; likewise the next properties."""
        return self.facts * self.given.profile_bytes * RAW_DAYS

    @property
    def hours(self) -> float:
        """Bytes of hourly cells."""
        return self.facts * self.given.hour_bytes * HOUR_DAYS

    @property
    def days(self) -> float:
        """Bytes of daily cells."""
        return self.facts * WHOLE_DAY_BYTES * CELL_DAYS

    @property
    def buckets(self) -> float:
        """Bytes of cells of several days."""
        return self.facts * BUCKET_BYTES * CELL_DAYS

    @property
    def rows_of_visits(self) -> float:
        """Bytes of the rows of visits, which are kept as long as cells."""
        return self.visits * self.given.visit_bytes * CELL_DAYS

    @property
    def database(self) -> float:
        """Upper bound of everything in PostgreSQL except stacks and names."""
        return self.profiles + self.hours + self.days + self.buckets + self.rows_of_visits

    def database_of(self, profile_days: int, cell_days: int) -> float:
        """As `database`, with other retentions; cells are dropped in whole buckets of 64 days."""
        longest = cell_days + _BUCKET_DAYS - 1
        hours = self.hours * min(longest, HOUR_DAYS) / HOUR_DAYS
        history = (self.days + self.buckets + self.rows_of_visits) * longest / CELL_DAYS
        return self.profiles * profile_days / RAW_DAYS + hours + history

    @property
    def archive(self) -> float:
        """Bytes of retained raw captures."""
        return self.raw * RAW_DAYS

    @property
    def raw(self) -> float:
        """Bytes of raw captures per day."""
        return self.visits * self.given.samples_per_visit * self.given.raw_bytes_per_sample

    @property
    def lake(self) -> float:
        """Bytes retained in the lake."""
        return self.facts * self.given.lake_bytes * LAKE_DAYS

    @property
    def server_cores(self) -> float:
        """Cores of all servers, busy all day."""
        given = self.given
        return self.cores(given.ingest_s + given.roll_s + given.export_s + given.server_s)

    @property
    def load(self) -> float:
        """Mean daily load relative to the highest measured rate of ingesting and merging on one machine."""
        return self.facts / DAY_S / self.given.ingested_per_s

    @property
    def catching_up(self) -> float | None:
        """Seconds in which that machine ingests the backlog of one lost day and current arrivals; None: never."""
        spare = self.given.ingested_per_s - self.facts / DAY_S
        return self.facts / spare if spare > 0 else None

    def cores(self, cpu_s_per_fact: float) -> float:
        """Cores that are busy all day."""
        return self.facts * cpu_s_per_fact / DAY_S

    def rows(self) -> list[tuple[str, str]]:
        """Rows of the page's table, by name."""
        given = self.given
        return [
            ("visits per day", count(self.visits)),
            ("visits per day and machine", plain(self.visits / self.machines)),
            ("share of the fleet's CPU time", f"{plain(100 * self.overhead)} %"),
            ("core-hours of the fleet per day", plain(self.visits * given.visit_cpu_s / 3600)),
            ("half-width for a 1 % function of the fleet after a day", f"± {plain(100 * self.halfwidth)} %"),
            (
                "least share of machines for ± 10 % after 30 days",
                f"{plain(100 * self.least_part)} %" if self.least_part <= 1 else "more than all",
            ),
            ("facts per day", count(self.facts)),
            ("raw captures per day", size(self.raw)),
            ("raw captures stored (35 days)", size(self.archive)),
            ("network, mean", f"{size(self.raw / DAY_S)}/s"),
            ("PostgreSQL: profiles and lines (35 days)", size(self.profiles)),
            ("PostgreSQL: hourly cells (35 days)", size(self.hours)),
            ("PostgreSQL: daily cells (155 days)", size(self.days)),
            ("PostgreSQL: buckets of days, upper bound (155 days)", size(self.buckets)),
            ("PostgreSQL: visits (155 days)", size(self.rows_of_visits)),
            ("PostgreSQL: total without stacks, upper bound", size(self.database)),
            ("lake per day", size(self.facts * given.lake_bytes)),
            ("lake stored (1 100 days)", size(self.lake)),
            ("busy cores: workers", plain(self.cores(given.ingest_s))),
            ("busy cores: collector", plain(self.cores(given.roll_s + given.export_s))),
            ("busy cores: PostgreSQL", plain(self.cores(given.server_s))),
            ("core-hours of servers per day", plain(24 * self.server_cores)),
        ]
