"""The source lines of one selection, or of a selection and its base side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Float, Int64
from storage.query import binary_builds
from storage.query.answers.lines import SourceVersion
from storage.query.answers.table import TableRow
from storage.query.line_samples import LinedSamples
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.occurrences import Occurrences
from storage.query.shapes.side_shares import Shares, largest, spread
from storage.query.shapes.source_versions import VersionRows, Versions, version_and_line, versions_of
from storage.query.shapes.table import only_row
from storage.query.subject import Subject

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class LineSide:
    """The lines of some functions in one selection."""

    samples: Samples
    functions: Int64
    """Those of the functions that occur, by descending total."""
    itself: TableRow
    """All the functions as one row."""
    versions: Versions
    rows: VersionRows

    @classmethod
    def read(cls, reading: Reading, selection: Selection, subject: Subject) -> "LineSide":
        """Read a selection. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        lined = reading.lined(selection, binary_builds.LABELS)
        samples = lined.samples
        found = Occurrences.of(reading.functions, samples, subject)
        itself = only_row(samples, found.together())
        lined = lined.of_functions(found.functions)
        versions = _versions(reading, selection, lined)
        return cls(samples, found.functions, itself, versions, VersionRows(lined, versions))

    def shares(self, weight: Float) -> Float:
        """Shares of the whole selection, 0…1."""
        whole = self.samples.whole
        return np.clip(weight / whole, 0.0, 1.0) if whole > 0 else np.zeros(len(weight))


def _versions(reading: Reading, selection: Selection, lined: LinedSamples) -> Versions:
    """The versions of the files with lines, in samples that were read with `binary_builds.LABELS`."""
    functions = reading.functions
    named = [functions.row(id_) for id_ in np.unique(lined.lines.function).tolist()]
    known = reading.builds(selection, lined.lines.profiles, (row.binary for row in named))
    contents = reading.contents(known.keys, (row.file for row in named))
    return versions_of(functions, lined, known, contents)


@dataclass(frozen=True, slots=True)
class MatchedLines:
    """Columns over the lines of all sides, by version and line."""

    versions: tuple[SourceVersion, ...]
    """Of all sides, in the order of `Versions.versions`; the text identifies a version."""
    number: Int64
    places: tuple[Int64, ...]
    """For each side, the row's place in `LineSide.rows`, or `NOWHERE`."""
    own_share: Shares
    """For each side; 0 where it does not have the line."""
    total_share: Shares

    @classmethod
    def of(cls, sides: Sequence[LineSide]) -> "MatchedLines":
        """The lines of one or two selections."""
        versions, renumbered = _merged([side.versions.versions for side in sides])
        numbers = [side.rows.numbers(new) for side, new in zip(sides, renumbered, strict=True)]
        every = np.unique(np.concatenate(numbers))
        at = [np.searchsorted(every, number) for number in numbers]
        places, own, total = [], [], []
        for side, here in zip(sides, at, strict=True):
            place = np.full(len(every), NOWHERE)
            place[here] = np.arange(len(here))
            places.append(place)
            own.append(spread(side.shares(side.rows.own_weight), here, len(every)))
            total.append(spread(side.shares(side.rows.total_weight), here, len(every)))
        return cls(versions, every, tuple(places), tuple(own), tuple(total))

    def heaviest(self, most: int) -> Int64:
        """The lines with the largest total on any side, in their order."""
        # Rounded: the order of summation changes the last digits of equal sums, so they would not tie.
        weight = np.round(largest(self.total_share), 12)
        return np.sort(np.argsort(-weight, kind="stable")[:most])

    def version_and_line(self, row: int) -> tuple[int, int]:
        """The row's index into `versions`, and its line."""
        return version_and_line(int(self.number[row]))


def _merged(
    sides: Sequence[tuple[SourceVersion, ...]],
) -> tuple[tuple[SourceVersion, ...], list[Int64]]:
    """The versions of all sides, and for each side the new numbers of its versions."""
    if len(sides) == 1:
        return sides[0], [np.arange(len(sides[0]))]
    now, base = ({_identity(version): version for version in side} for side in sides)
    together: list[SourceVersion] = []
    for key in {**now, **base}:
        here, before = now.get(key), base.get(key)
        known = here or replace(base[key], self=0, self_seconds=_nothing(base[key]), self_share=0.0)
        builds = {*known.builds, *(() if before is None else before.builds)}
        together.append(
            replace(
                known,
                builds=tuple(sorted(builds, key=lambda build: (build.key, build.binary))),
                b_self_share=0.0 if before is None else before.self_share,
            )
        )
    together.sort(key=_order)
    number = {_identity(version): place for place, version in enumerate(together)}
    return tuple(together), [
        np.array([number[_identity(version)] for version in side], np.int64) for side in sides
    ]


def _identity(version: SourceVersion) -> tuple[str, str | None]:
    return version.file, version.sha256


def _order(version: SourceVersion) -> tuple[object, ...]:
    """By file; within a file known versions first, then the heaviest first."""
    share = max(version.self_share, version.b_self_share or 0.0)
    return version.file, version.sha256 is None, -share, version.sha256 or ""


def _nothing(version: SourceVersion) -> float | None:
    return None if version.self_seconds is None else 0.0
