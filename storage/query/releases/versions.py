"""The versions of each application in samples, in the order of their releases."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storage.arrays import Float, Int64
from storage.query.estimation.visit_evidence import Visits
from storage.query.reading import Reading
from storage.query.releases.profile_subset import subset
from storage.query.releases.sightings import Sight, sights
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection

VERSION = "version"
ENOUGH_VISITS = 8
"""Fewest visits of each version for a comparison."""
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one application."""

    name: str
    sight: Sight
    weighted: float
    """Estimated units of the fleet."""


@dataclass(frozen=True, slots=True)
class Application:
    """An application with its versions, the newest first; profiles without a version are left out."""

    name: str
    id: int
    versions: tuple[Version, ...]

    @property
    def weighted(self) -> float:
        """Estimated units of the fleet of all versions."""
        return sum(version.weighted for version in self.versions)

    @property
    def tested_pair(self) -> tuple[Version, Version] | None:
        """The newest version and the one before, both with enough visits; None if there are none."""
        for newer, older in zip(self.versions, self.versions[1:], strict=False):
            if min(newer.sight.visits, older.sight.visits) >= ENOUGH_VISITS:
                return newer, older
        return None


def applications(reading: Reading, selection: Selection, samples: Samples) -> list[Application]:
    """The applications that have versions, heaviest first.

    `samples` are the selection's, read visit by visit with the labels `application` and `version`.
    """
    profiles, evidence = samples.profiles, samples.evidence
    if not isinstance(evidence, Visits):
        raise TypeError("versions are seen by single visits")
    if not len(profiles):
        return []
    weighted = profiles.units * evidence.weight[profiles.visit]
    return applications_of(
        profiles.label(APPLICATION),
        profiles.label(VERSION),
        profiles.visit,
        time=reading.visit_times(selection).of(evidence.id),
        weighted=weighted,
        names=names_of(reading, APPLICATION, profiles.label(APPLICATION)),
        versions=names_of(reading, VERSION, profiles.label(VERSION)),
    )


def applications_of(
    application: Int64,
    version: Int64,
    visit: Int64,
    *,
    time: Float,
    weighted: Float,
    names: Mapping[int, str],
    versions: Mapping[int, str],
) -> list[Application]:
    """As `applications`; `time` is by visit, `weighted` and the labels' ids are by profile."""
    units: dict[tuple[int, int], float] = defaultdict(float)
    pairs, which = np.unique(np.stack((application, version)), axis=1, return_inverse=True)
    sums = np.bincount(which.ravel(), weights=weighted, minlength=pairs.shape[1])
    for one, other, amount in zip(*pairs.tolist(), sums.tolist(), strict=True):
        units[one, other] = amount
    found: dict[int, list[Version]] = defaultdict(list)
    for sight in sights(application, version, visit, time):
        if versions[sight.value]:
            found[sight.scope].append(Version(versions[sight.value], sight, units[sight.scope, sight.value]))
    made = [Application(names[id_], id_, newest_first(of)) for id_, of in found.items()]
    return sorted(made, key=lambda one: (-one.weighted, one.name))


def newest_first(found: Sequence[Version]) -> tuple[Version, ...]:
    """Versions by descending age order.

    Versions whose beginning is known are newer than the others. The others are ordered by the numbers in their names if
    the names differ in nothing else (r7, r8), else by the mean time of their visits.
    """
    alike = len({_DIGITS.sub("0", one.name) for one in found if not one.sight.is_new}) == 1

    def order(one: Version) -> tuple[float, tuple[int, ...], float]:
        first, middle = one.sight.age_order
        numbers = tuple(int(text) for text in _DIGITS.findall(one.name)) if alike else ()
        return (first, () if one.sight.is_new else numbers, middle)

    return tuple(sorted(found, key=order, reverse=True))


def of_version(samples: Samples, application: Application, version: Version) -> Samples:
    """The samples of one version, as if matchers had selected it."""
    profiles = samples.profiles
    keep = (profiles.label(APPLICATION) == application.id) & (profiles.label(VERSION) == version.sight.value)
    return subset(samples, keep)


def names_of(reading: Reading, label: str, ids: Int64) -> Mapping[int, str]:
    """The values of a label by stored id."""
    known = np.unique(ids)
    return dict(zip(known.tolist(), reading.label_values(label, known), strict=True))
