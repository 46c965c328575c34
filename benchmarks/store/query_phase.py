"""Questions to a query engine in this process: idle, during ingestion, and while visits wait for the rollup process."""

from __future__ import annotations

import pickle
import random
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from benchmarks.store import questions
from benchmarks.store.bulk import Loader
from benchmarks.store.draws import Draws, Extent
from benchmarks.store.ingest_phase import ingestion_on
from benchmarks.store.load_phase import WAITING, rollup
from benchmarks.store.questions import UNDECODED, Answered, QueryRunner
from benchmarks.store.sizes import FACTS_AN_HOUR

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from benchmarks.store.bulk import BulkVisit
    from benchmarks.store.run import Run

_SEED: Final = 11
_SHORT: Final = {
    "app_week_flame": "flame", "app_week_table": "table", "fleet_month_table": "fleet_table",
    "fleet_month_applications": "applications", "raw_filter": "raw_filter", "callers": "callers", "series_week": "series",
}  # fmt: skip
"""Names of kinds after the name of a state."""


def extent(run: Run) -> Extent:
    """Hours of the history."""
    return Extent(run.begin_hour, run.loaded.calendar.end_hour)


def draws(run: Run, seed: int, over: Extent | None = None) -> Draws:
    """Draws from the history, or windows that end with `over`."""
    if run.loaded.popularity is None:
        raise RuntimeError("nothing is loaded")
    return Draws(run.loaded.popularity, over or extent(run), _SEED + seed, until_end=over is not None)


def ask_idle(run: Run) -> None:
    """Run the questions while nothing else runs."""
    run.say(f"questions: {run.size.questions} of each kind; {extent(run).says()}")
    with QueryRunner(run.url, run.folder) as runner:
        drawn = draws(run, 0)
        chosen = questions.kinds(drawn, runner.hot(drawn))
        for kind in ("app_week_flame", "fleet_month_table"):
            chosen[kind + UNDECODED] = chosen[kind]
        answered = runner.ask(chosen, run.size.questions, run.size.slow_questions)
    run.add(
        "questions_are_about", extent(run).says(), "with intervals; none is answered out of an earlier answer"
    )
    for kind in chosen:
        run.add(f"p95_ms_{kind}", answered.p95(kind), answered.says(kind))


def ask_while_ingestion(run: Run) -> None:
    """Run the questions while captures are ingested and merged."""
    if "ingestion" in run.loaded.done:
        run.say("ingestion: the captures for it have ingested already; they are ingested once in a store")
        return
    over = Extent(run.begin_hour, run.loaded.calendar.end_hour + 1)
    answered = _ask(run, over, ingestion_on(run))
    for kind, short in _SHORT.items():
        run.add(f"p95_ms_ingestion_{short}", answered.p95(kind), answered.says(kind))


def ask_while_waiting(run: Run) -> None:
    """Run the questions while the last visits wait for the rollup process; they are merged afterwards."""
    visits = _waiting(run)
    facts = sum(len(visit.stacks) for visit in visits)
    loader = Loader(run.url, run.ids)
    loader.load(visits)
    loader.close()
    run.loaded.turns += 1
    run.save()  # their ids must not recur if this is interrupted
    answered = _ask(run, Extent(run.begin_hour, visits[-1].hour + 1), nullcontext())
    for kind, short in _SHORT.items():
        run.add(
            f"p95_ms_waiting_{short}",
            answered.p95(kind),
            f"{answered.says(kind)}; {len(visits)} visits wait, {facts:,} facts",
        )
    rollup(run.url)


def _ask(run: Run, over: Extent, beside: AbstractContextManager[None]) -> Answered:
    """Run questions with windows that end with the last hour, fewer of each kind, inside a context."""
    some = [max(2, each // 2) for each in (run.size.questions, run.size.slow_questions)]
    with QueryRunner(run.url, run.folder) as runner:
        chosen = questions.kinds(draws(run, 1, over), runner.hot(draws(run, 0)))
        with beside:
            return runner.ask(chosen, *some)


def _waiting(run: Run) -> list[BulkVisit]:
    """Visits of the day after the history, with new ids for each turn."""
    visits: list[BulkVisit] = pickle.loads((run.folder / WAITING).read_bytes())  # written by this program
    rng = random.Random(f"waiting {run.loaded.turns}")
    found, facts = [], 0
    for visit in visits:
        visit_id = UUID(int=rng.getrandbits(128))
        hour = run.loaded.calendar.end_hour + 1 + facts // FACTS_AN_HOUR
        found.append(
            replace(visit, visit_id=visit_id, campaign_id=run.ids.places.campaign(visit_id), hour=hour)
        )
        facts += len(visit.stacks)
    return found
