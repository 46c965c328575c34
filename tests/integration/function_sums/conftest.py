"""Cells are read, however few visits they save."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from storage.query.engine import QueryEngine


@pytest.fixture(autouse=True)
def cells_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.query.cells.worth.VISITS_A_CELL", 0)


@pytest.fixture
def queries(engine: Engine) -> Iterator[QueryEngine]:
    made = QueryEngine(engine)
    yield made
    made.close()
