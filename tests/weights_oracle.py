"""Weights of visits by plain Python, as docs/numbers.md words them: an oracle without arrays."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Stratum = str


@dataclass(frozen=True)
class Drawn:
    """A visit: when, where, how busy, and what came of it."""

    minute: int
    """Since the first midnight of the days in question."""
    stratum: Stratum
    utilisation: float | None
    seconds: float | None
    """None: it failed."""
    samples: tuple[int, ...] = ()

    @property
    def klass(self) -> int | None:
        return None if self.utilisation is None else min(int(self.utilisation * 4), 3)

    @property
    def day(self) -> int:
        return self.minute // (24 * 60)

    @property
    def hour(self) -> int:
        return self.minute // 60


def covered_seconds(
    visits: Sequence[Drawn], start: int, end: int, rounds: Sequence[tuple[int, int]] = ()
) -> dict[int, float]:
    """By day, the seconds of the minutes [start, end) that rounds drew visits of, in hours with a visit.

    An hour that none of the rounds (each [from, to) in minutes) reaches into counts whole.
    """
    of_rounds = {minute for low, high in rounds for minute in range(low, high)}
    seconds: dict[int, float] = defaultdict(float)
    for hour in {visit.hour for visit in visits}:
        minutes = set(range(hour * 60, (hour + 1) * 60))
        inside = (minutes & of_rounds or minutes) & set(range(start, end))
        if hour * 60 < end and (hour + 1) * 60 > start:
            seconds[hour // 24] += 60.0 * len(inside)
    return dict(seconds)


def weights(
    visits: Sequence[Drawn],
    sizes: Mapping[Stratum, int],
    numbers: Mapping[Stratum, int],
    start: int,
    end: int,
    *,
    rounds: Sequence[tuple[int, int]] = (),
) -> dict[int, float]:
    """The weight of each ingested visit of the minutes [start, end), by its index in `visits`.

    `numbers` order the strata: neighbours by number are joined where one has too few visits.
    """
    inside = {i: visit for i, visit in enumerate(visits) if start <= visit.minute < end}
    found: dict[int, float] = {}
    for day, seconds in covered_seconds(visits, start, end, rounds).items():
        of_day = {i: visit for i, visit in inside.items() if visit.day == day}
        for strata in _joined(of_day.values(), sizes, numbers):
            machine_seconds = seconds * sum(sizes[stratum] for stratum in strata)
            members = {i: visit for i, visit in of_day.items() if visit.stratum in strata}
            found |= _of_group(members, machine_seconds)
    return found


def _joined(visits, sizes, numbers) -> list[list[Stratum]]:
    ingested = defaultdict(int)
    for visit in visits:
        ingested[visit.stratum] += visit.seconds is not None
    groups, waiting = [], []
    for stratum in sorted(sizes, key=numbers.__getitem__):
        waiting.append(stratum)
        if sum(ingested[s] for s in waiting) >= 2:
            groups.append(waiting)
            waiting = []
    if not groups:
        return [waiting] if any(ingested.values()) else []
    groups[-1] += waiting
    return groups


def _of_group(members: Mapping[int, Drawn], machine_seconds: float) -> dict[int, float]:
    watched: dict[int | None, float] = defaultdict(float)
    drawn: dict[int | None, int] = defaultdict(int)
    for visit in members.values():
        drawn[visit.klass] += 1
        if visit.seconds is not None:
            watched[visit.klass] += visit.seconds
    there = sorted(k for k in watched if k is not None)
    mean = machine_seconds / sum(watched.values())
    represented: dict[int, float] = defaultdict(float)
    for klass, count in drawn.items():
        if klass is not None and there:
            nearest = min(there, key=lambda k: (abs(k - klass), -k))
            represented[nearest] += count
    known = sum(watched[k] for k in there)
    found = {}
    for i, visit in members.items():
        if visit.seconds is None:
            continue
        if visit.klass is None:
            found[i] = mean
        else:
            share = represented[visit.klass] / sum(represented.values())
            found[i] = share * mean * known / watched[visit.klass]
    return found
