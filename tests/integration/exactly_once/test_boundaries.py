"""GIVEN an operation that commits n times WHEN each commit in turn fails in each way THEN nothing is lost or twice.

The list of boundaries is not written down anywhere: a run goes on until a commit that was to fail never came.
"""

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import pytest
from sqlalchemy import Engine, select, text

from collector import sweep
from storage import captures, partitions
from storage.archive import Archive
from storage.database import open_engine
from storage.errors import DatabaseError
from storage.landing import assembly
from storage.landing.interning import Interner
from storage.landing.land import land
from storage.landing.rename import rename
from storage.schema import capture, metadata
from tests.integration.exactly_once.faults import CRASHED, Commits, Fault, Plan
from tests.integration.exactly_once.made import STARTS, other_labels, pattern
from tests.integration.exactly_once.truth import Checked, check, moment
from tests.integration.exactly_once.world import KEEP_FROM, MIDNIGHT, OLD, Visit, World, make_world
from tests.made_captures import LIBRARY

pytestmark = pytest.mark.integration

Note = Callable[[str, object], None]

VISITS = 6
"""One of every pattern and of every moment."""
MOST = 200


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


@dataclass(frozen=True, slots=True)
class Operation:
    """`act` may be repeated at any time; `done` holds of the facts once it came to its end."""

    name: str
    prepare: tuple[Callable[[Scene], object], ...]
    act: Callable[[Scene], object]
    done: Callable[[Scene, Checked], bool]
    least: int
    """Commits it has at least: a test that meets none shows nothing."""
    repeats: bool = True
    """Done again by another process it commits as often: its nth life dies at the nth commit."""
    remembers: bool = True
    """Done again by the same process it goes on with the commit that failed."""


def land_one(scene: Scene, generation: int = 1, moment: datetime = MIDNIGHT) -> None:
    _land(scene, scene.visit(moment), generation)


def land_all(scene: Scene) -> None:
    for visit in scene.world.visits.values():
        _land(scene, visit, 1)


def _land(scene: Scene, visit: Visit, generation: int) -> None:
    made = pattern(visit.seed, better=generation > 1)
    land(scene.engine, scene.interner, visit.visit_id, generation, made.of(visit.visit_id), made.resolved)


def land_one_again(scene: Scene) -> None:
    land_one(scene, 2)


def land_one_of_old(scene: Scene) -> None:
    land_one(scene, moment=OLD)


def land_one_with_other_labels(scene: Scene) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "derive", other_labels)
        land_one(scene, 2)


def name_functions(scene: Scene) -> None:
    rename(scene.engine, scene.interner, LIBRARY.hex(), STARTS)


def want_again(scene: Scene) -> None:
    with scene.engine.begin() as connection:
        captures.want_again(connection, scene.world.visits)


def drop_old(scene: Scene) -> None:
    sweep.drop_old(scene.engine, scene.archive, KEEP_FROM)


def drop_facts_of_old(scene: Scene) -> None:
    """What the first half of `drop_old` does."""
    with scene.engine.begin() as connection:
        partitions.drop(connection, KEEP_FROM)


def one_landed(generation: int) -> Callable[[Scene, Checked], bool]:
    return lambda scene, checked: checked.landed[scene.visit(MIDNIGHT).visit_id].generation == generation


def none_of_old(scene: Scene, checked: Checked) -> bool:
    return not set(checked.landed) & set(scene.world.of_days(OLD.date())) and _expired(scene)


def all_landed(scene: Scene, checked: Checked) -> bool:
    return set(checked.landed) == set(scene.world.visits)


def all_but_old(scene: Scene, checked: Checked) -> bool:
    return set(checked.landed) == set(scene.world.visits) - set(scene.world.of_days(OLD.date()))


OPERATIONS = (
    Operation("first landing", (), land_one, one_landed(1), 12),
    Operation("next generation", (land_all,), land_one_again, one_landed(2), 8),
    Operation("other labels", (land_all,), land_one_with_other_labels, one_landed(2), 8),
    Operation("landing in a dropped day", (drop_facts_of_old,), land_one_of_old, none_of_old, 12),
    Operation("naming", (land_all,), name_functions, all_landed, 2),
    Operation("wanting again", (land_all,), want_again, all_landed, 1, remembers=False),
    Operation("retention", (land_all,), drop_old, all_but_old, 2, remembers=False),
)


@pytest.fixture(params=OPERATIONS, ids=lambda operation: operation.name)
def operation(request: pytest.FixtureRequest) -> Operation:
    found: Operation = request.param
    return found


@pytest.fixture
def scene(engine: Engine, archive: Archive, operation: Operation) -> Scene:
    return set_up(engine, archive, operation)


def set_up(engine: Engine, archive: Archive, operation: Operation) -> Scene:
    made = Scene(engine, make_world(engine, VISITS, archive=archive), archive, Interner(engine))
    for step in operation.prepare:
        step(made)
    return made


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault.is_fatal])
def test_a_process_may_die_at_any_commit(
    operation: Operation, fault: Fault, scene: Scene, database_url: str, record_property: Note
) -> None:
    for at in itertools.count(1):
        assert at < MOST, f"{operation.name} never ends"
        if not operation.repeats:
            empty(scene.engine)
            scene = set_up(scene.engine, scene.archive, operation)
        died = dies(
            operation, scene.as_process(open_engine(database_url, application="dies")), Plan(fault, at)
        )
        checked = looked(scene.engine, scene.world)
        if not died:
            break
    record_property("crashes", at - 1)
    assert at > operation.least
    assert operation.done(scene, checked)
    operation.act(scene)  # the task comes once more
    assert operation.done(scene, looked(scene.engine, scene.world))


@pytest.mark.parametrize("fault", [fault for fault in Fault if not fault.is_fatal])
def test_a_connection_may_break_at_any_commit(
    operation: Operation, fault: Fault, scene: Scene, database_url: str, record_property: Note
) -> None:
    """The process goes on with all it remembers, and does not know what was committed."""
    process = scene.as_process(open_engine(database_url, application="breaks"))
    commits = Commits(process.engine)
    for attempt in itertools.count(1):
        assert attempt < MOST, f"{operation.name} never ends"
        # The commit that failed is done again and passes; the one after it fails.
        commits.plan(Plan(fault, min(attempt, 2) if operation.remembers else attempt))
        try:
            operation.act(process)
            break
        except DatabaseError:
            looked(scene.engine, scene.world)
    process.engine.dispose()
    record_property("breaks", commits.faults)
    assert commits.faults >= operation.least
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
                select(capture.c.expired).where(capture.c.visit_id == scene.visit(OLD).visit_id)
            )
        )


def looked(engine: Engine, world: World) -> Checked:
    """The snapshot of now, in which nothing is wrong."""
    with moment(engine) as (connection, _name):
        checked = check(connection, world)
    assert checked.wrong == ()
    return checked


def empty(engine: Engine) -> None:
    """As on the first day."""
    with engine.begin() as connection:
        names = ", ".join(f'"{table.name}"' for table in metadata.sorted_tables)
        connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY CASCADE"))
