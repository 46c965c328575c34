"""The newest version of each application beside the one before, compared within one selection."""

from dataclasses import dataclass

from storage.query.answers.movers import ComparedRelease, Release
from storage.query.reading import Reading
from storage.query.releases.profile_labels import ProfileLabels
from storage.query.releases.versions import Application, Version, VersionSamples, applications
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import Compared, Matched, matched

MOST_PAIRS = 20
"""Applications of one answer whose versions are compared, the heaviest."""
MOST_ROWS = 100
"""Rows of each comparison: the heaviest totals of either version."""
_WORK = 0.5
"""Time of all tests of an answer, relative to that of a single comparison: about a second."""


@dataclass(frozen=True, slots=True)
class ReleasePair:
    """Two versions of one application, with the rows of both."""

    release: Release
    newer: Version
    older: Version
    share: float
    """Share of the newer version in the selection, 0…1."""
    match: Matched
    same_time: bool
    """Both versions ran in the time of the compared visits."""
    part: float
    """Share of the visits that the rows were read from, 0…1."""

    @property
    def visits(self) -> tuple[int, int]:
        """Compared visits of the newer and the older version."""
        newer, older = (len(side.visits) for side in self.match.sides)
        return newer, older

    def compared(self, found: Compared) -> ComparedRelease:
        """The summary of the judged comparison."""
        return ComparedRelease(
            application=self.release.application,
            version=self.newer.name,
            previous=self.older.name,
            visits=self.visits[0],
            previous_visits=self.visits[1],
            same_time=self.same_time,
            share=self.share,
            examined=len(found.rows),
            significant=sum(row.significant for row in found.rows),
            power=0.0 if found.power is None else found.power.power,
            compared_part=found.part * self.part,
        )


def release_pairs(
    reading: Reading,
    selection: Selection,
    samples: Samples,
    by: tuple[str, ...],
    *,
    known: list[Application] | None = None,
    most: int = MOST_PAIRS,
    part: float = 1.0,
) -> list[ReleasePair]:
    """The pairs of the heaviest applications with two versions that have enough visits; totals are compared.

    A function that became slower has the largest change of the total, while its self may lie in what it calls.
    `samples` are the selection's, read visit by visit with the labels `application`, `version` and those among `by`;
    `part` is the share of the visits that they are of.
    """
    labels = ProfileLabels.of_samples(reading, selection, samples)
    found = applications(reading, labels) if known is None else known
    pairs = [(one, pair) for one in found if (pair := one.tested_pair) is not None][:most]
    whole = samples.whole
    made = []
    for one, pair in pairs:
        newer, older = pair
        sides = VersionSamples.of(samples, labels, one, pair)
        made.append(
            ReleasePair(
                Release(one.name, newer.name, older.name),
                newer,
                older,
                min(newer.weighted / whole, 1.0) if whole > 0 else 0.0,
                matched(reading, sides.newer, sides.older, by, limit=MOST_ROWS, part=_WORK / len(pairs)),
                sides.same_time,
                part,
            )
        )
    return made
