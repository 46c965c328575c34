"""The versions of the source files that lines belong to, and rows of lines by version."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from storage.arrays import Int64, distinct, sum_at, weight_at
from storage.query.answers.figures import as_seconds
from storage.query.answers.lines import SourceBuild, SourceVersion
from storage.query.binary_builds import Builds
from storage.query.estimation import visit_totals
from storage.query.estimation.visit_evidence import Details
from storage.query.estimation.visit_totals import Contributions
from storage.query.line_samples import LinedSamples
from storage.query.shapes.frame_keys import LINE
from storage.query.stacks.function_names import Functions

_LINE_BITS = 31


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of all files, and the version of each line fact."""

    versions: tuple[SourceVersion, ...]
    """By file; within a file known versions first, then the heaviest first."""
    of_line: Int64


def versions_of(
    functions: Functions, lined: LinedSamples, builds: Builds, contents: Mapping[tuple[str, str], bytes]
) -> Versions:
    """The versions of all files with lines; `contents` has SHA-256 by binary key and path."""
    facts = lined.lines
    used, which = distinct(facts.function)
    rows = [functions.row(id_) for id_ in used.tolist()]
    names = {name: number for number, name in enumerate(dict.fromkeys(row.binary for row in rows))}
    build = np.full(len(facts.function), -1, np.int64)
    binary = np.array([names[row.binary] for row in rows], np.int64)[which]
    for name, number in names.items():
        if name in builds.of_profile:
            here = binary == number
            build[here] = builds.of_profile[name][facts.profile[here]]
    # There are many lines, but few pairs of a function and a build: only the loop over pairs is in Python.
    pairs, of_pair = np.unique(which * (len(builds.keys) + 1) + build + 1, return_inverse=True)
    version_of_pair: list[tuple[str, bytes]] = []
    met: dict[tuple[str, bytes], set[tuple[str, str]]] = {}
    for pair in pairs.tolist():
        function, place = divmod(pair, len(builds.keys) + 1)
        row = rows[function]
        key = builds.keys[place - 1] if place else None
        version = row.file, contents.get((key, row.file), b"") if key is not None else b""
        version_of_pair.append(version)
        met.setdefault(version, set())
        if key is not None:
            met[version].add((key, row.binary))
    found = list(met)
    number_of = {version: number for number, version in enumerate(found)}
    of_line = np.array([number_of[version] for version in version_of_pair], np.int64)[of_pair]
    own = facts.own * facts.profiles.period[facts.profile]
    units = sum_at(of_line, own, len(found))
    weights = weight_at(of_line, own * lined.visits.weight[lined.visit[facts.profile]], len(found))
    whole, scale = lined.samples.whole, lined.samples.kind.seconds_per_unit
    order = sorted(range(len(found)), key=lambda n: (found[n][0], not found[n][1], -units[n], found[n][1]))
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    return Versions(
        tuple(
            SourceVersion(
                file=found[n][0],
                sha256=found[n][1].hex() or None,
                builds=tuple(SourceBuild(key, name) for key, name in sorted(met[found[n]])),
                self=int(units[n]),
                self_seconds=as_seconds(int(units[n]), scale),
                self_share=min(float(weights[n]) / whole, 1.0) if whole > 0 else 0.0,
                b_self_share=None,
            )
            for n in order
        ),
        place_of[of_line],
    )


def version_and_line(number: int) -> tuple[int, int]:
    """The version and line of a number of `VersionRows.numbers`."""
    version, line = divmod(number, 1 << _LINE_BITS)
    return version, line


class VersionRows:
    """One row for each line of each version, by version and line, with the interface of `table_rows.Rows`."""

    def __init__(self, lined: LinedSamples, versions: Versions) -> None:
        self._lined = lined
        self._versions = versions
        facts = lined.lines
        self._visit = lined.visit[facts.profile]
        period, weight = facts.profiles.period[facts.profile], lined.visits.weight[self._visit]
        self._own, self._total = facts.own * period, facts.total * period
        self._keys, self._row = np.unique((versions.of_line << _LINE_BITS) | facts.line, return_inverse=True)
        size = len(self._keys)
        self.own = sum_at(self._row, self._own, size)
        self.total = sum_at(self._row, self._total, size)
        self.own_weight = weight_at(self._row, self._own * weight, size)
        self.total_weight = weight_at(self._row, self._total * weight, size)

    def place(self, row: int) -> tuple[int, int]:
        """The row's version and line."""
        return version_and_line(int(self._keys[row]))

    def numbers(self, version: Int64) -> Int64:
        """A number for the version and line of each row; `version` has a new number for each version."""
        line = self._keys & ((1 << _LINE_BITS) - 1)
        numbers: Int64 = (version[self._keys >> _LINE_BITS] << _LINE_BITS) | line
        return numbers

    def key(self, place: int) -> dict[str, str]:
        """File and line."""
        version, line = self.place(place)
        return {"file": self._versions.versions[version].file, LINE: str(line)}

    def function_id(self, place: int) -> int | None:  # noqa: ARG002 - the protocol's
        """None: a line may belong to several functions."""
        return None

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        return self._lined.visits.details(self.contributions(places), None)

    def contributions(self, places: Int64, *, totals: bool = True) -> Contributions:  # noqa: ARG002 - lines have both
        """The units of each visit in some rows, in their order."""
        facts, size, visits = self._lined.lines, len(places), len(self._lined.visits)
        row_of = np.full(len(self._keys) + 1, -1, np.int64)
        row_of[places] = np.arange(size)
        row = row_of[self._row]
        there = row >= 0
        own, total = (
            visit_totals.of_pairs(row, self._visit, units, rows=size, visits=visits)
            for units in (self._own, self._total)
        )
        return Contributions(
            sum_at(row[there], facts.own[there], size),
            sum_at(row[there], facts.total[there], size),
            own,
            total,
        )
