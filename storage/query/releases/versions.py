"""The versions of each application in samples, in the order of their releases."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storage.arrays import Int64
from storage.query.reading import Reading
from storage.query.releases.profile_labels import ProfileLabels
from storage.query.releases.profile_subset import subset
from storage.query.releases.sightings import Sight, sights
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION

VERSION = "version"
ENOUGH_VISITS = 8
"""Fewest visits of each version for a comparison."""
_KERNEL_THREAD = "["
"""Beginning of the names of kernel threads (`storage.ingest.process_labels`)."""
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


def applications(reading: Reading, labels: ProfileLabels) -> list[Application]:
    """The applications that have versions, heaviest first; `labels` are `application` and `version` of profiles.

    Kernel threads are left out: their version is that of the kernel, which a roll-out of theirs would repeat.
    """
    if not len(labels.profiles):
        return []
    application, version = labels.label(APPLICATION), labels.label(VERSION)
    names, versions = (names_of(reading, *one) for one in ((APPLICATION, application), (VERSION, version)))
    pairs, which = np.unique(np.stack((application, version)), axis=1, return_inverse=True)
    units = dict(
        zip(
            map(tuple, pairs.T.tolist()),
            np.bincount(which.ravel(), weights=labels.weighted, minlength=pairs.shape[1]).tolist(),
            strict=True,
        )
    )
    found: dict[int, list[Version]] = defaultdict(list)
    for sight in sights(application, version, labels.visit, labels.time):
        name = versions[sight.value]
        if name and not names[sight.scope].startswith(_KERNEL_THREAD):
            found[sight.scope].append(Version(name, sight, units[sight.scope, sight.value]))
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


@dataclass(frozen=True, slots=True)
class VersionSamples:
    """The samples of two versions of an application, as if matchers had selected each."""

    newer: Samples
    older: Samples
    same_time: bool
    """They are of the time in which both versions ran; else that time has too few visits of one of them."""

    @classmethod
    def of(
        cls, samples: Samples, labels: ProfileLabels, application: Application, pair: tuple[Version, Version]
    ) -> "VersionSamples":
        """Those of a pair; `labels` are those of the samples.

        Work changes over a day, and an old version has run at other times than a new one. So visits before the first
        sight of the newer version and after the last of the older one are left out.
        """
        time = labels.time[labels.visit]
        together = (time >= pair[0].sight.first) & (time <= pair[1].sight.last)
        of_application = labels.label(APPLICATION) == application.id
        keep = [of_application & (labels.label(VERSION) == one.sight.value) for one in pair]
        same_time = all(len(np.unique(labels.visit[one & together])) >= ENOUGH_VISITS for one in keep)
        if same_time:
            keep = [one & together for one in keep]
        newer, older = (subset(samples, one) for one in keep)
        return cls(newer, older, same_time)


def names_of(reading: Reading, label: str, ids: Int64) -> Mapping[int, str]:
    """The values of a label by stored id."""
    known = np.unique(ids)
    return dict(zip(known.tolist(), reading.label_values(label, known), strict=True))
