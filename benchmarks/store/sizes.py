"""How much of everything a run has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from benchmarks.size import Size

FACTS_AN_HOUR: Final = 29_000_000 // 24
"""Of the default campaign: 4,320 visits a day, some 6,700 facts each."""
_LEAST_HOURS: Final = 4


@dataclass(frozen=True)
class StoreSize:
    """Sizes of one run; facts unless it is said otherwise."""

    name: str
    facts: int
    """Of the dense history, those that are ingested included."""
    ingested: int
    """Ingested end to end while the clock runs: the last part of the history."""
    warming: int
    """Ingested before that, by processes with empty caches."""
    meanwhile: int
    """Ingested while questions are answered, after the history."""
    sparse: int
    """Of the sparse month."""
    stacks: int
    """Known before anything is ingested."""
    machines: int
    waiting: int
    """Visits that wait for the roller while questions are answered."""
    deep_every: int
    """One in so many visits is of the second campaign, `deep`, whose facts the peers get."""
    questions: int
    """Of each kind."""
    slow_questions: int
    """Of each kind that reads chunks or decodes everything."""
    restarts: int
    """Of PostgreSQL and the API, for cold answers."""
    days: int = 0
    """The history is spread over so many days; 0: as dense as the default campaign's."""
    new_share: float = 0.2
    """Of the stacks in each ingested visit, those that the store does not know."""

    @property
    def bulk(self) -> int:
        """Facts of the history that are loaded with known stacks."""
        return self.facts - self.ingested - self.warming

    @property
    def hours(self) -> int:
        """Hours that the history covers."""
        return 24 * self.days or max(_LEAST_HOURS, round(self.facts / FACTS_AN_HOUR))

    @property
    def new_stacks(self) -> int:
        """Stacks that captures bring."""
        return round((self.ingested + self.warming + self.meanwhile) * self.new_share)


SIZES: Final = {
    Size.SMALLEST: StoreSize(
        "smallest", facts=300_000, ingested=60_000, warming=20_000, meanwhile=20_000, sparse=50_000, stacks=20_000,
        machines=500, waiting=10, deep_every=3, questions=4, slow_questions=2, restarts=1,
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
