"""GIVEN an operation that commits n times WHEN each commit in turn fails in each way THEN nothing is lost or twice.

The list of boundaries is not written down anywhere: a run goes on until a commit that was to fail never came.
"""

import itertools
import logging
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from math import inf
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from storage import captures, partitions
from storage.archive import Archive
from storage.database import open_engine
from storage.dictionary_sweep.sweep import sweep
from storage.errors import DatabaseError
from storage.ingest import profile_labels
from storage.ingest.ingest import ToIngest, ingest, ingest_many
from storage.ingest.interning import Interner
from storage.ingest.late_names import rename
from storage.retention.retain import retain
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.compact import compact
from storage.rollup.cubes import WEIGHTED_LEVELS
from storage.rollup.rebuild import rebuild
from storage.schema import binary, capture, capture_binary, function, rollup_long_built, rollup_queue
from storage.symbols import candidates, reprocessing
from storage.symbols.improved_binaries import improved
from tests.integration.exactly_once import library
from tests.integration.exactly_once.faults import CRASHED, Commits, Fault, Plan
from tests.integration.exactly_once.made import STARTS, other_labels, pattern
from tests.integration.exactly_once.truth import Checked, check, moment
from tests.integration.exactly_once.world import (
    KEEP,
    MIDNIGHT,
    MOMENTS,
    NOON,
    OLD,
    TODAY,
    Visit,
    World,
    make_world,
)
from tests.synthetic_captures import LIBRARY

pytestmark = pytest.mark.integration

log = logging.getLogger(__name__)

VISITS = len(MOMENTS)
"""One of every moment, and of every pattern."""
MOST = 120


@dataclass(frozen=True, slots=True)
class Scene:
    """What an operation is given."""

    engine: Engine
    world: World
    archive: Archive
    interner: Interner
    """Of the process: a second try finds there what the first one came to know."""

    def visit(self, moment: datetime) -> Visit:
        """The visit drawn then."""
        return next(visit for visit in self.world.visits.values() if visit.drawn_at == moment)

    def as_process(self, engine: Engine) -> "Scene":
        """The same for another process."""
        return replace(self, engine=engine, interner=Interner(engine))


class Course(Enum):
    """What an operation does when it is done again."""

    REPEATS = auto()
    """Commits as often, whoever does it."""
    RESUMES = auto()
    """Commits as often in another process; in the same one it goes on with the commit that failed."""
    CONSUMES = auto()
    """Goes on with the commit that failed, whoever does it."""

    def at(self, attempt: int, *, same_process: bool) -> int:
        """The commit at which an attempt (from 1) meets its fault: before it in odd ones, after it in even ones.

        Over all attempts each commit meets both.
        """
        if self is Course.REPEATS or (self is Course.RESUMES and not same_process):
            return (attempt + 1) // 2
        if self is Course.RESUMES and attempt > 1 and attempt % 2:
            return 2  # the one that failed after its commit is done again first
        return 1


@dataclass(frozen=True, slots=True)
class Operation:
    """`act` may be repeated at any time; `done` holds of the facts once it came to its end."""

    name: str
    prepare: tuple[Callable[[Scene], object], ...]
    act: Callable[[Scene], object]
    done: Callable[[Scene, Checked], bool]
    least: int
    """Commits it has at least: a test that meets none shows nothing."""
    course: Course = Course.RESUMES


def ingest_one(scene: Scene, generation: int = 1, moment: datetime = MIDNIGHT) -> None:
    _ingest(scene, scene.visit(moment), generation)


def ingest_all(scene: Scene, generation: int = 1) -> None:
    """Together, in one transaction."""
    items = [_item(visit, generation) for visit in scene.world.visits.values()]
    for ingested in ingest_many(scene.engine, scene.interner, items):
        if ingested.error is not None:
            raise ingested.error


def ingest_all_again(scene: Scene) -> None:
    ingest_all(scene, 2)


def _item(visit: Visit, generation: int) -> ToIngest:
    made = pattern(visit.seed, better=generation > 1)
    return ToIngest(visit.visit_id, generation, made.of(visit.visit_id), made.resolved)


def _ingest(scene: Scene, visit: Visit, generation: int) -> None:
    item = _item(visit, generation)
    ingest(scene.engine, scene.interner, item.visit_id, item.generation, item.capture, item.resolved)


def ingest_one_again(scene: Scene) -> None:
    ingest_one(scene, 2)


def ingest_one_of_old(scene: Scene) -> None:
    ingest_one(scene, moment=OLD[0])


def ingest_one_with_other_labels(scene: Scene) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profile_labels, "derive", other_labels)
        ingest_one(scene, 2)


def name_functions(scene: Scene) -> None:
    rename(scene.engine, scene.interner, LIBRARY.hex(), STARTS)


def upload_symbols(scene: Scene) -> None:
    library.upload(scene.engine, scene.archive)


def build_symbols(scene: Scene) -> None:
    """By whoever gets the lease; a builder that died still has it for a moment."""
    while not library.build(scene.engine, scene.archive, b"debug data"):
        time.sleep(library.LEASE_S / 5)


def use_symbols(scene: Scene) -> None:
    """As the worker does that is told of an upload: now, and whenever the sweep finds that there is news."""
    library.LibraryNamer(scene.engine).name_functions(library.KEY)


def ingest_again(scene: Scene) -> None:
    """As collector and workers do: want some of them again, and ingest what is due."""
    while True:
        with scene.engine.begin() as connection:
            reprocessing.feed(connection, limit=5)
        with scene.engine.connect() as connection:
            due = captures.due(connection, limit=99)
        if not due:
            return
        items = [_item(scene.world.visits[one.visit_id], one.generation) for one in due]
        for ingested in ingest_many(scene.engine, scene.interner, items):
            if ingested.error is not None:
                raise ingested.error


def want_again(scene: Scene) -> None:
    with scene.engine.begin() as connection:
        captures.want_again(connection, scene.world.visits)


def merge_all(scene: Scene) -> None:
    writer = RollupWriter(scene.engine)
    while waiting(scene.engine):
        writer.rollup(batch=4)


def waiting(engine: Engine) -> int:
    """Entries to be merged."""
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(rollup_queue)).scalar_one()


def rebuild_midnight(scene: Scene) -> None:
    rebuild(scene.engine, MIDNIGHT.date())


def compact_all(scene: Scene) -> None:
    compact(scene.engine, NOON + timedelta(days=90), most_rows=inf)


def sweep_all(scene: Scene) -> None:
    sweep(scene.engine)


def drop_old(scene: Scene) -> None:
    retain(scene.engine, scene.archive, TODAY, KEEP)


def drop_facts_of_old(scene: Scene) -> None:
    """What the first half of `drop_old` does."""
    with scene.engine.begin() as connection:
        partitions.drop(connection, KEEP.facts_horizon(TODAY))


def one_ingested(generation: int) -> Callable[[Scene, Checked], bool]:
    return lambda scene, checked: checked.ingested[scene.visit(MIDNIGHT).visit_id].generation == generation


def none_of_old(scene: Scene, checked: Checked) -> bool:
    return not set(checked.ingested) & set(
        scene.world.of_days(*(moment.date() for moment in OLD))
    ) and _expired(scene)


def all_ingested(scene: Scene, checked: Checked) -> bool:
    return set(checked.ingested) == set(scene.world.visits)


def all_but_old(scene: Scene, checked: Checked) -> bool:
    return set(checked.ingested) == set(scene.world.visits) - set(
        scene.world.of_days(*(moment.date() for moment in OLD))
    )


def has_news(scene: Scene, checked: Checked) -> bool:
    """The upload is there once, and somebody will look at it."""
    with scene.engine.connect() as connection:
        files = candidates.every(connection, library.KEY)
        return len(files) == 1 and improved(connection, limit=9) == [library.KEY]


def is_built(scene: Scene, checked: Checked) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        whole = library.built(scene.engine, scene.archive, Path(folder)) == library.made_of(b"debug data")
    return whole and all_ingested(scene, checked)


def is_named(scene: Scene, checked: Checked) -> bool:
    """Nothing is nameless, and the captures' next generation is asked for once."""
    with scene.engine.connect() as connection:
        nameless = connection.scalars(
            select(function.c.start).where(
                function.c.binary_key == library.KEY, function.c.alias_of.is_(None)
            )
        ).all()
        found = reprocessing.progress(connection)
        return (
            not nameless
            and not improved(connection, limit=9)
            and [one.captures for one in found if one.finished_at is None] == [_holding(scene)]
            and all_ingested(scene, checked)
        )


def all_ingested_again(scene: Scene, checked: Checked) -> bool:
    """Those that hold the library in their second generation, with its calls; the others in the first."""
    with scene.engine.connect() as connection:
        [found] = [one for one in reprocessing.progress(connection) if one.finished_at is None]
        holding = set(
            connection.scalars(
                select(capture_binary.c.visit_id)
                .join(binary, binary.c.binary_id == capture_binary.c.binary_id)
                .where(binary.c.key == library.KEY)
            )
        )
    generations = {visit_id: one.generation for visit_id, one in checked.ingested.items()}
    return (found.ingested, found.left) == (len(holding), 0) and generations == {
        visit_id: 2 if visit_id in holding else 1 for visit_id in scene.world.visits
    }


def _holding(scene: Scene) -> int:
    with scene.engine.connect() as connection:
        return connection.execute(
            select(func.count())
            .select_from(capture_binary)
            .join(binary, binary.c.binary_id == capture_binary.c.binary_id)
            .where(binary.c.key == library.KEY)
        ).scalar_one()


def all_merged(scene: Scene, checked: Checked) -> bool:
    return all_ingested(scene, checked) and not waiting(scene.engine)


def all_compacted(scene: Scene, checked: Checked) -> bool:
    with scene.engine.connect() as connection:
        levels = set(connection.scalars(select(rollup_long_built.c.level).distinct()))
    return all_merged(scene, checked) and levels == set(WEIGHTED_LEVELS)


OPERATIONS = (
    Operation("first ingestion", (), ingest_one, one_ingested(1), 12),
    Operation("next generation", (ingest_all,), ingest_one_again, one_ingested(2), 8),
    Operation("other labels", (ingest_all,), ingest_one_with_other_labels, one_ingested(2), 8),
    Operation("ingestion in a dropped day", (drop_facts_of_old,), ingest_one_of_old, none_of_old, 12),
    Operation("several together", (), ingest_all, all_ingested, 8),
    Operation("several together again", (ingest_all,), ingest_all_again, all_ingested, 4),
    Operation("naming", (ingest_all,), name_functions, all_ingested, 2),
    Operation("uploading symbols", (ingest_all,), upload_symbols, has_news, 1, Course.REPEATS),
    Operation("building symbols", (ingest_all,), build_symbols, is_built, 2, Course.REPEATS),
    Operation(
        "naming after an upload", (ingest_all, upload_symbols), use_symbols, is_named, 2, Course.REPEATS
    ),
    Operation(
        "ingestion again after an upload",
        (ingest_all, upload_symbols, use_symbols),
        ingest_again,
        all_ingested_again,
        4,
        Course.REPEATS,
    ),
    Operation("wanting again", (ingest_all,), want_again, all_ingested, 1, Course.REPEATS),
    Operation("merging", (ingest_all,), merge_all, all_merged, 2, Course.CONSUMES),
    Operation(
        "merging what was replaced",
        (ingest_all, merge_all, ingest_all_again),
        merge_all,
        all_merged,
        3,
        Course.CONSUMES,
    ),
    Operation(
        "the next generation of what was merged", (ingest_all, merge_all), ingest_all_again, all_ingested, 4
    ),
    Operation("rebuilding", (ingest_all, merge_all), rebuild_midnight, all_merged, 3, Course.REPEATS),
    Operation("compacting", (ingest_all, merge_all), compact_all, all_compacted, 3, Course.REPEATS),
    Operation(
        "sweeping",
        (ingest_all, merge_all, ingest_all_again, merge_all),
        sweep_all,
        all_merged,
        5,
        Course.REPEATS,
    ),
    Operation("retention", (ingest_all, merge_all), drop_old, all_but_old, 2, Course.REPEATS),
)


@pytest.fixture(params=OPERATIONS, ids=lambda operation: operation.name)
def operation(request: pytest.FixtureRequest) -> Operation:
    found: Operation = request.param
    return found


@pytest.fixture
def scene(engine: Engine, archive: Archive, operation: Operation) -> Scene:
    made = Scene(engine, make_world(engine, VISITS, archive=archive), archive, Interner(engine))
    for step in operation.prepare:
        step(made)
    return made


@pytest.mark.slow
def test_a_process_may_die_at_any_commit(operation: Operation, scene: Scene, database_url: str) -> None:
    for attempt in itertools.count(1):
        assert attempt < MOST, f"{operation.name} never ends"
        fault = Fault.DIES_BEFORE if attempt % 2 else Fault.DIES_AFTER
        plan = Plan(fault, operation.course.at(attempt, same_process=False))
        died = dies(operation, scene.as_process(open_engine(database_url, application="dies")), plan)
        checked = looked(scene.engine, scene.world)
        if not died:
            break
    log.info("%s: died %d times", operation.name, attempt - 1)
    assert attempt > 2 * operation.least
    assert operation.done(scene, checked)
    operation.act(scene)  # the task comes once more
    assert operation.done(scene, looked(scene.engine, scene.world))


@pytest.mark.slow
def test_a_connection_may_break_at_any_commit(operation: Operation, scene: Scene, database_url: str) -> None:
    """The process goes on with all it remembers, and does not know what was committed."""
    process = scene.as_process(open_engine(database_url, application="breaks"))
    commits = Commits(process.engine)
    for attempt in itertools.count(1):
        assert attempt < MOST, f"{operation.name} never ends"
        fault = Fault.BREAKS_BEFORE if attempt % 2 else Fault.BREAKS_AFTER
        commits.plan(Plan(fault, operation.course.at(attempt, same_process=True)))
        try:
            operation.act(process)
            break
        except DatabaseError:
            looked(scene.engine, scene.world)
    process.engine.dispose()
    log.info("%s: broke %d times", operation.name, commits.faults)
    assert commits.faults >= 2 * operation.least
    assert operation.done(scene, looked(scene.engine, scene.world))


def dies(operation: Operation, scene: Scene, plan: Plan) -> bool:
    """Do the operation in a process of its own that meets the fault; False: there is no such commit."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            Commits(scene.engine, plan)
            operation.act(scene)
            status = 0
        finally:
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in CRASHED | {0}, f"ended with {code}"
    return code != 0


def _expired(scene: Scene) -> bool:
    with scene.engine.connect() as connection:
        return bool(
            connection.scalar(
                select(capture.c.expired).where(capture.c.visit_id == scene.visit(OLD[0]).visit_id)
            )
        )


def looked(engine: Engine, world: World) -> Checked:
    """The snapshot of now, in which nothing is wrong."""
    with moment(engine) as (connection, _name):
        checked = check(connection, world)
    assert checked.wrong == ()
    return checked
