"""Experiments uploaded by operators: runs of programs alone on a chip and next to others (DIGEST I1, I8).

A set is one file that is stored, replaced and removed as a whole. A model names its training set and
the number of runs.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from analysis.interference.experiments import Metric, Run
from storage.errors import ExperimentsExist, TooManyExperiments, UnknownExperiments
from storage.schema import experiment_run, experiment_set

MOST_SETS = 200
"""Maximum sets in a database: lists, and queries that name no set, read all of them."""


@dataclass(frozen=True, slots=True)
class PlatformRun:
    """A run with its platform and its line in the file."""

    line: int
    """From 1, counting the heading."""
    platform: str
    run: Run


@dataclass(frozen=True, slots=True)
class Part:
    """The runs of one platform in a set."""

    platform: str
    targets: tuple[tuple[str, int], ...]
    """Applications measured next to others, by name, with the number of runs."""
    programs: tuple[str, ...]
    """Applications that ran alone, by name."""
    alone: int
    """Number of runs alone."""

    @property
    def beside(self) -> int:
        """Number of runs next to others."""
        return sum(count for _, count in self.targets)

    def runs_of(self, targets: Collection[str]) -> tuple[int, ...]:
        """Number of runs next to others of each target that has any."""
        return tuple(count for name, count in self.targets if name in targets)


@dataclass(frozen=True, slots=True)
class ExperimentSet:
    """The metadata of a set, without its runs."""

    set_id: int
    name: str
    added_by: str
    added_at: datetime
    parts: tuple[Part, ...]
    """By platform."""

    def on(self, is_meant: Callable[[str], bool]) -> "ExperimentSet":
        """The set restricted to the matching platforms."""
        return replace(self, parts=tuple(part for part in self.parts if is_meant(part.platform)))

    def has_all(self, targets: Collection[str]) -> bool:
        """Whether all targets were measured next to others on the same platform."""
        wanted = frozenset(targets)
        return any(len(part.runs_of(wanted)) == len(wanted) for part in self.parts)


def keep(
    connection: Connection,
    name: str,
    runs: Sequence[PlatformRun],
    *,
    added_by: str = "",
    replace: bool = False,
) -> ExperimentSet:
    """Store runs under a name.

    Raises `ExperimentsExist` if the name is taken, unless `replace`; `TooManyExperiments`.
    """
    # Serializes concurrent replacements of the same set: the second would conflict with the first one's new row.
    connection.execute(text("LOCK TABLE experiment_set IN SHARE ROW EXCLUSIVE MODE"))
    if replace:
        connection.execute(delete(experiment_set).where(experiment_set.c.name == name))
    taken = select(experiment_set.c.set_id).where(experiment_set.c.name == name)
    kept = connection.scalar(select(func.count()).select_from(experiment_set)) or 0
    if kept >= MOST_SETS and connection.scalar(taken) is None:
        raise TooManyExperiments(
            f"There are {kept:,} sets of experiments; the limit is {MOST_SETS}. Remove one: fleetprof "
            "experiments remove NAME"
        )
    set_id = connection.scalar(
        insert(experiment_set)
        .values(name=name, added_by=added_by)
        .on_conflict_do_nothing(index_elements=[experiment_set.c.name])
        .returning(experiment_set.c.set_id)
    )
    if set_id is None:
        raise ExperimentsExist(f"Experiments {name!r} exist already.")
    connection.execute(insert(experiment_run), [_values(int(set_id), run) for run in runs])
    return find(connection, name)


def sets(connection: Connection) -> tuple[ExperimentSet, ...]:
    """All sets, the newest first."""
    return _sets(connection)


def find(connection: Connection, name: str) -> ExperimentSet:
    """The set of this name. Raises `UnknownExperiments`."""
    found = _sets(connection, name)
    if not found:
        raise UnknownExperiments(f"There are no experiments {name!r}; see: fleetprof experiments list")
    return found[0]


def remove(connection: Connection, name: str) -> None:
    """Delete a set and its runs. Raises `UnknownExperiments`."""
    if not connection.execute(delete(experiment_set).where(experiment_set.c.name == name)).rowcount:
        raise UnknownExperiments(f"There are no experiments {name!r}; see: fleetprof experiments list")


def read(connection: Connection, set_id: int, platform: str | None = None) -> tuple[PlatformRun, ...]:
    """The runs of a set, or of one of its platforms, in file order."""
    c = experiment_run.c
    statement = select(experiment_run).where(c.set_id == set_id).order_by(c.line)
    if platform is not None:
        statement = statement.where(c.platform == platform)
    return tuple(
        PlatformRun(
            row.line,
            row.platform,
            Run(
                row.target,
                tuple(row.beside),
                None if row.metric is None else Metric(row.metric),
                *(row.value, row.lines, row.gigabytes, row.cores),
            ),
        )
        for row in connection.execute(statement)
    )


def _values(set_id: int, found: PlatformRun) -> dict[str, Any]:
    run = found.run
    return {
        "set_id": set_id, "line": found.line, "platform": found.platform, "target": run.target,
        "beside": list(run.beside), "metric": None if run.metric is None else run.metric.value, "value": run.value,
        "lines": run.lines, "gigabytes": run.gigabytes, "cores": run.cores,
    }  # fmt: skip


def _sets(connection: Connection, name: str | None = None) -> tuple[ExperimentSet, ...]:
    s, r = experiment_set.c, experiment_run.c
    heads = select(s.set_id, s.name, s.added_by, s.added_at).order_by(s.added_at.desc(), s.set_id.desc())
    if name is not None:
        heads = heads.where(s.name == name)
    found = connection.execute(heads).all()
    is_alone = (func.cardinality(r.beside) == 0).label("is_alone")
    counts: dict[int, list[tuple[str, str, bool, int]]] = defaultdict(list)
    for row in connection.execute(
        select(r.set_id, r.platform, r.target, is_alone, func.count().label("runs"))
        .where(r.set_id.in_([head.set_id for head in found]))
        .group_by(r.set_id, r.platform, r.target, is_alone)
    ):
        counts[row.set_id].append((row.platform, row.target, row.is_alone, row.runs))
    return tuple(
        ExperimentSet(head.set_id, head.name, head.added_by, head.added_at, _parts(counts[head.set_id]))
        for head in found
    )


def _parts(counts: Iterable[tuple[str, str, bool, int]]) -> tuple[Part, ...]:
    return tuple(_part(platform, tuple(of)) for platform, of in groupby(sorted(counts), itemgetter(0)))


def _part(platform: str, counts: Sequence[tuple[str, str, bool, int]]) -> Part:
    return Part(
        platform=platform,
        targets=tuple((target, runs) for _, target, is_alone, runs in counts if not is_alone),
        programs=tuple(target for _, target, is_alone, _ in counts if is_alone),
        alone=sum(runs for _, _, is_alone, runs in counts if is_alone),
    )
