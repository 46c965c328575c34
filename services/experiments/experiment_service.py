"""Stores, lists and removes experiments; its answers are those of /api/v1/experiments."""

import re
from datetime import UTC
from typing import Any, Final

from sqlalchemy import Engine

from services.experiments.errors import Fault, UnusableExperiments
from services.experiments.experiment_csv import read_experiments
from storage import experiments, inventory
from storage.database import snapshot
from storage.experiments import ExperimentSet, Part, PlatformRun
from storage.query.selections.times import format_time

Json = dict[str, Any]
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ExperimentService:
    """The stored experiments of one database. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        """The caller keeps ownership of the engine."""
        self._engine = engine

    def add(self, name: str, content: bytes, *, added_by: str = "", replace: bool = False) -> Json:
        """Store a file under a name, whole or not at all: `AddedExperiments`.

        Raises UnusableExperiments, `TooManyExperiments`, `DatabaseError`, and `ExperimentsExist` if the name is taken
        and `replace` is false.
        """
        if not _NAME.fullmatch(name):
            what = f"{name[:60]!r} is not a valid name of experiments"
            instead = (
                "use at most 100 letters, digits, points, dashes and underscores, a letter or digit first"
            )
            raise UnusableExperiments([Fault(0, "", what, instead)])
        runs = read_experiments(content)
        with self._engine.begin() as connection:
            kept = experiments.keep(connection, name, runs, added_by=added_by, replace=replace)
            known = {machine.platform for machine in inventory.machines(connection, enabled_only=False)}
        strangers = sorted({part.platform for part in kept.parts} - known)
        return {**_set(kept), "unknown_platforms": strangers}

    def listing(self) -> Json:
        """All sets, the newest first: `ExperimentSets`."""
        with snapshot(self._engine) as connection:
            return {"experiments": [_set(each) for each in experiments.sets(connection)]}

    def show(self, name: str) -> Json:
        """One set with its runs: `ExperimentRuns`. Raises `UnknownExperiments`."""
        with snapshot(self._engine) as connection:
            found = experiments.find(connection, name)
            runs = experiments.read(connection, found.set_id)
        return {**_set(found), "rows": [_run(each) for each in runs]}

    def remove(self, name: str) -> Json:
        """Delete a set: `RemovedExperiments`. Raises `UnknownExperiments`."""
        with self._engine.begin() as connection:
            experiments.remove(connection, name)
        return {"name": name}


def _set(found: ExperimentSet) -> Json:
    return {
        "name": found.name,
        "added_by": found.added_by,
        "added_at": format_time(found.added_at.astimezone(UTC)),
        "alone": sum(part.alone for part in found.parts),
        "beside": sum(part.beside for part in found.parts),
        "platforms": [_part(part) for part in found.parts],
    }


def _part(part: Part) -> Json:
    return {
        "platform": part.platform,
        "alone": part.alone,
        "beside": part.beside,
        "targets": [{"application": name, "runs": runs} for name, runs in part.targets],
        "programs": list(part.programs),
    }


def _run(found: PlatformRun) -> Json:
    run = found.run
    return {
        "line": found.line,
        "platform": found.platform,
        "target": run.target,
        "beside": list(run.beside),
        "metric": None if run.metric is None else run.metric.value,
        "value": run.value,
        "lines": run.lines,
        "gigabytes": run.gigabytes,
        "cores": run.cores,
    }
