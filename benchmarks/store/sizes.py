"""Sizes of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from benchmarks.size import Size

FACTS_AN_HOUR: Final = 29_000_000 // 24
"""Density of the default campaign: 4,320 visits a day, about 6,700 facts each."""
_LEAST_HOURS: Final = 4


@dataclass(frozen=True)
class StoreSize:
    """Sizes of one run, in facts unless stated otherwise."""

    name: str
    facts: int
    """Facts of the dense history, including those ingested end to end."""
    ingested: int
    """Facts ingested end to end during the measurement: the last part of the history."""
    warming: int
    """Facts ingested before that, by processes with empty caches."""
    meanwhile: int
    """Facts ingested during questions, after the history."""
    sparse: int
    """Facts of the sparse month."""
    stacks: int
    """Stacks known before ingestion."""
    machines: int
    waiting: int
    """Visits that wait for the rollup process during questions."""
    deep_every: int
    """One in `deep_every` visits belongs to the second campaign, `deep`, whose facts the peers get."""
    questions: int
    """Questions per kind."""
    slow_questions: int
    """Questions per kind that reads chunks or decodes everything."""
    restarts: int
    """Restarts of PostgreSQL and the API, for cold responses."""
    days: int = 0
    """Days of the history; 0: as many as the default campaign's density requires."""
    new_share: float = 0.2
    """Share of the stacks in each ingested visit that are new to the store."""

    @property
    def bulk(self) -> int:
        """Facts of the history that are bulk-loaded with known stacks."""
        return self.facts - self.ingested - self.warming

    @property
    def hours(self) -> int:
        """Hours that the history covers."""
        return 24 * self.days or max(_LEAST_HOURS, round(self.facts / FACTS_AN_HOUR))

    @property
    def new_stacks(self) -> int:
        """Number of new stacks in captures."""
        return round((self.ingested + self.warming + self.meanwhile) * self.new_share)


SIZES: Final = {
    Size.SMALLEST: StoreSize(
        "smallest", facts=60_000, ingested=15_000, warming=5_000, meanwhile=5_000, sparse=10_000, stacks=5_000,
        machines=200, waiting=5, deep_every=3, questions=2, slow_questions=1, restarts=1,
    ),
    Size.DEFAULT: StoreSize(
        "default", facts=10_000_000, ingested=2_000_000, warming=400_000, meanwhile=400_000, sparse=1_200_000,
        stacks=450_000, machines=5000, waiting=200, deep_every=5, questions=60, slow_questions=20, restarts=2,
    ),
    Size.FULL: StoreSize(
        "full", facts=100_000_000, ingested=5_000_000, warming=1_000_000, meanwhile=1_500_000, sparse=2_500_000,
        stacks=4_600_000, machines=5000, waiting=200, deep_every=16, questions=100, slow_questions=40, restarts=3,
    ),
}  # fmt: skip
