"""What the processes do: land, name functions, drop old days, read; each by the product's own code."""

from uuid import UUID

from sqlalchemy import Connection, select

from storage import captures
from storage.database import open_engine
from storage.landing import assembly
from storage.landing.errors import UnknownCapture
from storage.landing.interning import Interner
from storage.landing.land import land
from storage.landing.rename import rename
from storage.schema import capture
from tests.integration.exactly_once.answers import Answers
from tests.integration.exactly_once.crew import Actor
from tests.integration.exactly_once.made import STARTS, other_labels, pattern
from tests.integration.exactly_once.truth import check, moment
from tests.made_captures import LIBRARY

MOST_GENERATIONS = 3
QUESTIONS = 3


def lander(actor: Actor) -> None:
    """Lands captures that are due, and as often some that are landed or of an older generation."""
    if actor.rng.random() < 0.4:
        assembly.derive = other_labels
    interner = Interner(actor.engine)
    for _ in actor.again():
        with actor.engine.connect() as connection:
            due = [visit_id for visit_id, _ in captures.due(connection, limit=100)]
            chosen = actor.rng.sample(due, min(len(due), actor.rng.randrange(4)))
            chosen += actor.rng.sample(list(actor.world.visits), actor.rng.randrange(3))
            wanted = _wanted(connection, chosen)
        for visit_id in chosen:
            generation = max(1, wanted.get(visit_id, 1) - actor.rng.choice((0, 0, 0, 1)))
            made = pattern(actor.world.visits[visit_id].seed, better=generation > 1)
            try:
                landed = land(actor.engine, interner, visit_id, generation, made.of(visit_id), made.resolved)
            except UnknownCapture:
                actor.journal.note("gone", visit=visit_id)
            else:
                actor.journal.note(landed.outcome, visit=visit_id, generation=generation)


def _wanted(connection: Connection, visit_ids: list[UUID]) -> dict[UUID, int]:
    rows = connection.execute(
        select(capture.c.visit_id, capture.c.wanted).where(capture.c.visit_id.in_(visit_ids))
    )
    return {row.visit_id: row.wanted for row in rows}


def uploader(actor: Actor) -> None:
    """Names nameless functions, a few at a time, and has captures landed again with what it knows now."""
    interner = Interner(actor.engine)
    for _ in actor.again():
        starts = actor.rng.sample(sorted(STARTS), 2)
        rename(actor.engine, interner, LIBRARY.hex(), {start: STARTS[start] for start in starts})
        with actor.engine.begin() as connection:
            landed = select(capture.c.visit_id).where(
                capture.c.landed == capture.c.wanted, capture.c.landed < MOST_GENERATIONS, ~capture.c.expired
            )
            again = sorted(connection.scalars(landed).all())
            captures.want_again(connection, actor.rng.sample(again, min(3, len(again))))


def reader(actor: Actor) -> None:
    """Compares every path to the facts, in one snapshot after the other."""
    answers = Answers(open_engine(actor.url, application="answers"))
    for _ in actor.again():
        with moment(actor.engine) as (connection, name):
            checked = check(connection, actor.world)
            wrong = [*checked.wrong, *answers.wrong(name, checked.landed, actor.rng, QUESTIONS)]
        actor.journal.note("check", landed=len(checked.landed), questions=QUESTIONS, wrong=wrong[:5])
