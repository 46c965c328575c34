"""A small random fleet in a real store, and the same samples as plain rows: what answers are counted by hand from."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from sqlalchemy import Connection

from tests.sampled_campaign import Campaign

PERIOD = 10_000_000
NAMES = ("main", "run", "parse", "malloc", "memcpy", "emit")
LABELS = {
    "application": ("web", "batch", ""),
    "version": ("1", "2"),
}


class Sampled(NamedTuple):
    """One fact."""

    drawn_at: datetime
    visit: int
    machine: str
    labels: dict[str, str]
    stack: tuple[str, ...]
    """Function names, outermost first."""
    units: int


@dataclass
class CountedFleet:
    """What was written."""

    functions: dict[str, int]
    """Ids by name."""
    facts: list[Sampled] = field(default_factory=list)

    def units(self, facts: Iterable[Sampled] | None = None) -> int:
        """Sum over some facts, or all."""
        return sum(fact.units for fact in (self.facts if facts is None else facts))

    def totals(self, path_of) -> Counter:
        """Units by every beginning of `path_of(fact)`, the empty one included."""
        found: Counter = Counter()
        for fact in self.facts:
            path = path_of(fact)
            for depth in range(len(path) + 1):
                found[path[:depth]] += fact.units
        return found


def write_fleet(
    connection: Connection, start: datetime, *, hours: int, visits: int, seed: int = 7
) -> CountedFleet:
    """Visits spread evenly over some hours, idle and failed ones among them, in two strata."""
    draw = Random(seed)
    campaign = Campaign(connection, {"east": 60, "west": 25}, random=Random(seed))
    write = campaign.write
    functions = {name: write.function(name, file=f"{name}.c", binary="prog") for name in NAMES}
    stacks = sorted({tuple(draw.choices(NAMES, k=draw.randint(1, 6))) for _ in range(25)})
    ids = {stack: write.stack([functions[name] for name in stack]) for stack in stacks}
    fleet = CountedFleet(functions)
    for number in range(visits):
        at = start + timedelta(hours=hours) * number / visits
        where = ("east", "west")[number % 2]
        busy = draw.choice([None, 0.1, 0.4, 0.9])
        if number % 9 == 8:
            campaign.fail(at, where, utilisation=busy)
            continue
        machine = f"{where}-{number % 10}"
        visit = campaign.answer(at, where, utilisation=busy, machine=machine)
        for _ in range(draw.randint(0, 3)):
            labels = {name: draw.choice(values) for name, values in LABELS.items()}
            samples = {stack: draw.randint(1, 9) for stack in draw.sample(stacks, draw.randint(1, 6))}
            write.profile(
                visit, {ids[stack]: n for stack, n in samples.items()}, labels=labels, period=PERIOD
            )
            fleet.facts += [
                Sampled(at, number, machine, labels, stack, n * PERIOD) for stack, n in samples.items()
            ]
    return fleet
