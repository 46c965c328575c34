"""GIVEN machines whose samples are known WHEN each view says how many there are THEN all say the same number."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.query.selections.matchers import Matcher, Operator
from storage.query.shapes.call_graph import CallGraphQuestion
from storage.query.shapes.callers import CallersQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.query.subject import Subject
from storage.rollup.apply_queue import RollupWriter
from storage.segments.location import Lake
from tests.access_paths import BY_CELLS, BY_STACKS, BY_VISITS, planned
from tests.sampled_campaign import Campaign
from tests.small_lake import MIDNIGHT, WHOLE, Store, minutes

pytestmark = pytest.mark.integration

VISITS = 3
"""To each machine, all over three days."""


@pytest.fixture
def store(engine: Engine, tmp_path: Path) -> Iterator[Store]:
    made = Store(engine, Lake(str(tmp_path / "lake")))
    yield made
    made.postgres.close()
    made.duckdb.close()


def ingest(store: Store, name: str, machines: int, rare: int) -> None:
    """Of a campaign's machines all but one have samples in `main`, so many of them in `rare`, and one is idle."""
    with store.engine.begin() as connection:
        fleet = Campaign(connection, {"east": machines}, name)
        write = fleet.write
        main, work, other = (write.function(f"{name}-{each}") for each in ("main", "work", "rare"))
        stacks = write.stack([main, work]), write.stack([main, other])
        minute = count(1, WHOLE // (machines * VISITS))
        for _ in range(VISITS):
            for number in range(machines):
                at = MIDNIGHT + timedelta(minutes=next(minute))
                visit = fleet.answer(at, "east", machine=f"{name}-{number}")
                samples = {stacks[0]: 5} | ({stacks[1]: 2} if number < rare else {})
                if number < machines - 1:
                    write.profile(visit, samples, labels={"application": name, "datacenter": "east"})


def told(store: Store, name: str) -> dict[str, tuple[int, int]]:
    """By view, on how many machines a campaign's samples and those of `rare` were seen."""
    selection = minutes(0, WHOLE, campaign=name)
    by_function = TableQuestion(selection, ("function",), Page())
    by_machine = TableQuestion(selection, ("machine",), Page())
    rare = Subject(matchers=(Matcher("function", Operator.EQUAL, f"{name}-rare"),))
    found = {}
    for path, planner in {"cells": BY_CELLS, "stacks": BY_STACKS, "visits": BY_VISITS}.items():
        with planned(store.postgres, planner):
            answers = {path: store.postgres.ask(by_function)}
            if planner is BY_VISITS:
                answers["lake"] = store.duckdb.ask(by_function).answer
            for view, answer in answers.items():
                rows = {row.key["function"]: row.machines for row in answer.rows}
                found[f"table, {view}"] = answer.totals.machines, rows[f"{name}-rare"]
            graph = store.postgres.ask(CallGraphQuestion(selection))
            [node] = [node for node in graph.nodes if node.name == f"{name}-rare"]
            found[f"calls, {path}"] = graph.totals.machines, node.machines
            callers = store.postgres.ask(CallersQuestion(selection, rare))
            found[f"callers, {path}"] = callers.totals.machines, callers.itself.machines
            flame = store.postgres.ask(FlameTreeQuestion(selection, 100))
            assert flame.totals.machines == found[f"calls, {path}"][0]
    every = store.postgres.ask(by_machine).rows_total
    found["rows by machine"] = every, found["table, visits"][1]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("machines", "rare"), [(4, 1), (13, 3), (40, 12)])
def test_every_view_counts_the_machines_with_samples(store: Store, machines: int, rare: int) -> None:
    ingest(store, "fleet", machines, rare)
    ingest(store, "other", 3, 1)
    while RollupWriter(store.engine).rollup().entries:
        pass
    store.export()
    for name, known in {"fleet": (machines - 1, rare), "other": (2, 1)}.items():
        found = told(store, name)
        by_cells = {found.pop(view) for view in list(found) if view.endswith((", cells", ", stacks"))}
        assert found == dict.fromkeys(found, known)
        [about] = by_cells
        assert about == pytest.approx(known, rel=0.1, abs=1), (
            "merged cells count bits of machines, not machines"
        )
