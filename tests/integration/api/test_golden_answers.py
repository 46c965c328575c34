"""What the API answers is what it answered before."""

from collections.abc import Iterator

import pytest
from pydantic import TypeAdapter
from sqlalchemy import Engine
from starlette.testclient import TestClient

from storage.query.answers.call_graph import CallGraphAnswer
from storage.query.answers.callers import CallersAnswer
from storage.query.answers.diff import DiffAnswer
from storage.query.answers.flame import FlameAnswer
from storage.query.answers.flame_diff import FlameDiffAnswer
from storage.query.answers.labels import LabelsAnswer
from storage.query.answers.lines import LinesAnswer
from storage.query.answers.movers import MoversAnswer
from storage.query.answers.reliability import ReliabilityAnswer
from storage.query.answers.series_columns import SeriesAnswer
from storage.query.answers.shared_code import SharedCodeAnswer, UsersAnswer
from storage.query.answers.table import TableAnswer
from tests.golden_answers import check_golden
from tests.integration.api.fetch_answers import DESIGNED
from tests.integration.api.served import calling, of_a_stranger, write_fleet

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def shared(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One app for all tests here: they only read."""
    write_fleet(module_engine)
    with calling(module_engine, tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
def anyone(shared: TestClient) -> TestClient:
    return of_a_stranger(shared)


MODELS = {
    "table": TableAnswer,
    "flame": FlameAnswer,
    "call-graph": CallGraphAnswer,
    "series": SeriesAnswer,
    "labels": LabelsAnswer,
    "diff": DiffAnswer,
    "flame-diff": FlameDiffAnswer,
    "movers": MoversAnswer,
    "reliability": ReliabilityAnswer,
    "callers": CallersAnswer,
    "lines": LinesAnswer,
    "shared-code": SharedCodeAnswer,
    "shared-code/users": UsersAnswer,
}


@pytest.mark.parametrize(
    ("name", "route", "query"),
    [
        ("table", "table", {}),
        ("table-by-application", "table", {"by": "application"}),
        ("table-focus", "table", {"focus": "work", "limit": "1"}),
        ("flame", "flame", {}),
        ("flame-inverted", "flame", {"invert": "true", "by": "application", "min_share": "0.3"}),
        ("call-graph", "call-graph", {}),
        ("series", "series", {"by": "function", "step": "30m", "limit": "1"}),
        ("labels", "labels", {"limit": "2"}),
        ("diff", "diff", {"base_from": "2026-11-18T12:00:00Z", "base_to": "2026-11-18T12:30:00Z"}),
        (
            "flame-diff",
            "flame-diff",
            {"base_from": "2026-11-18T12:00:00Z", "base_to": "2026-11-18T12:30:00Z"},
        ),
        ("movers", "movers", {"base_from": "2026-11-18T12:00:00Z", "base_to": "2026-11-18T12:30:00Z"}),
        ("reliability", "reliability", {}),
        ("table-by-line", "table", {"by": "function,line"}),
        ("callers", "callers", {"function": "main", "focus": "work"}),
        ("lines", "lines", {"file": "m.c"}),
        ("shared-code", "shared-code", {"applications": "1", "cold": "1", "saving": "0.5"}),
        ("shared-code-users", "shared-code/users", {"function": '{binary="prog",function!="main"}'}),
    ],
)
def test_answers_are_what_they_were(client: TestClient, name: str, route: str, query: dict):
    """Inputs are `write_fleet`; figures may differ in the last digits. A wanted change: FLEETPROF_WRITE_GOLDEN=1."""
    answer = client.get(f"/api/v1/{route}", params={**DESIGNED, **query}).json()
    TypeAdapter(MODELS[route]).validate_python(answer)
    check_golden(name, answer)
