"""GIVEN a small fleet that counts WHEN each model's route is asked THEN it answers as it did, in JSON, CSV and Arrow alike.

A wanted change: FLEETPROF_WRITE_GOLDEN=1.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import TypeAdapter
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.app import create_app
from storage.query.answers.affinity import AffinityAnswer
from storage.query.answers.composition import CompositionAnswer
from storage.query.answers.cross_check import CrossCheckAnswer
from storage.query.answers.events import EventsAnswer
from storage.query.answers.feature import FeatureAnswer
from storage.query.answers.load_test import LoadTestAnswer
from storage.query.answers.machine_types import MachineTypesAnswer
from storage.query.answers.ratios import RatioAnswer
from storage.query.answers.side_by_side import SideAnswer
from storage.query.answers.stability import StabilityAnswer
from storage.query.query_engine import QueryEngine
from tests.access_records import access_of
from tests.golden_answers import check_golden, close
from tests.hardware_counter_fleet import STEPS, rate, write_counting_fleet

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
TIMES = {"from": "2026-11-17T12:00:00Z", "to": "2026-11-17T14:00:00Z"}
TOKEN = "t" * 24
TYPES = {"old": "Skylake", "new": "Zen 3", "old_price": "1", "new_price": "1.33", "coefficient": "1.4"}
RATES = {
    f"{name}_rates": ",".join(str(rate(place, step)) for step in range(STEPS))
    for name, place in (("old", "west"), ("new", "east"))
}


@dataclass(frozen=True)
class Asked:
    name: str
    route: str
    model: type[Any]
    query: dict[str, str]


ASKED = (
    Asked("ratios", "ratios", RatioAnswer, {"by": "application,platform"}),
    Asked("ratios-by-step", "ratios", RatioAnswer, {"ratio": "llc-mpki", "by": "", "step": "1h"}),
    Asked("ratios-missing", "ratios", RatioAnswer, {"ratio": "branch-misses/instructions", "by": "platform"}),
    Asked("cross-check", "cross-check", CrossCheckAnswer, {"by": "datacenter"}),
    Asked("side-by-side", "side-by-side", SideAnswer, {"first": "Zen 3", "second": "Skylake"}),
    Asked("side-by-side-unknown", "side-by-side", SideAnswer, {"first": "Zen 3", "second": "Z80"}),
    Asked("affinity", "affinity", AffinityAnswer, {"room": "2", "cautious": "false"}),
    Asked("affinity-pinned", "affinity", AffinityAnswer, {"pinned": "web,batch"}),
    Asked("composition", "composition", CompositionAnswer, {"by": "version", "step": "30m"}),
    Asked("feature", "feature", FeatureAnswer, {"functions": "^mem(cpy|move)$", "speedup": "3"}),
    Asked(
        "load-test",
        "load-test",
        LoadTestAnswer,
        {"select": '{application="web"}', "base_select": '{application="batch"}', **{
            f"base_{name}": time for name, time in TIMES.items()
        }},
    ),
    Asked("stability", "stability", StabilityAnswer, {}),
    Asked("machine-types", "machine-types", MachineTypesAnswer, TYPES),
    Asked("machine-types-rates", "machine-types", MachineTypesAnswer, {**TYPES, **RATES, "step": "5m"}),
    Asked("events-few", "events", EventsAnswer, {"target": "web", "least_share": "0.6"}),
)  # fmt: skip


@pytest.fixture(scope="module")
def client(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with module_engine.begin() as connection:
        write_counting_fleet(connection, NOON)
    queries = QueryEngine(module_engine)
    folder: Path = tmp_path_factory.mktemp("state")
    app = create_app(queries, access_of(folder, [f"viewer:{TOKEN}"]), static=folder)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with TestClient(app, base_url="http://127.0.0.1:7070", headers=bearer) as made:
        yield made
    queries.close()


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_answers_are_what_they_were(client: TestClient, asked: Asked) -> None:
    answer = got(client, asked, "application/json").json()
    TypeAdapter(asked.model).validate_python(answer)
    table = pa.ipc.open_stream(got(client, asked, "application/vnd.apache.arrow.stream").content).read_all()
    columns = [[field.name, str(field.type)] for field in table.schema]
    check_golden(f"analysis/{asked.name}", {"answer": answer, "columns": columns})
    _check_rows(answer, table)
    lines = list(csv.reader(io.StringIO(got(client, asked, "text/csv").text)))
    assert lines[0] == table.schema.names
    assert len(lines) - 1 == table.num_rows


def _check_rows(answer: dict[str, Any], table: pa.Table) -> None:
    """The table has the document's rows, and the rest of it as metadata."""
    metadata = json.loads(table.schema.metadata[b"fleetprof"])
    (listed,) = answer.keys() - metadata.keys()
    assert close(metadata, {name: value for name, value in answer.items() if name != listed})
    flat = [
        {name: value for name, value in flattened(row) if name in table.schema.names}
        for row in answer[listed]
    ]
    made = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
    assert close(made, [{name: value for name, value in row.items() if value is not None} for row in flat])


def flattened(row: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Columns of a row: members of members with dots, those of `key` by their own names."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from flattened(value, "" if name == "key" else f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def test_every_route_but_some_has_an_answer_kept(client: TestClient) -> None:
    """Those that are left out have tests of their own against the simulated fleet's truth."""
    routes = {
        path.removeprefix("/api/v1/analysis/")
        for path in client.get("/api/v1/openapi.json").json()["paths"]
        if path.startswith("/api/v1/analysis/")
    }
    others = ("apu", "capacity", "frequency", "interference", "placement")
    assert {asked.route for asked in ASKED} >= {route for route in routes if not route.startswith(others)}


def test_rates_of_one_type_alone_are_refused(client: TestClient) -> None:
    for rates, said in (
        ({"old_rates": "1,2"}, "new_rates"),
        ({**RATES, "new_rates": "1,fast"}, "new_rates"),
        ({**RATES, "old_rates": "1,2"}, "old_rates"),
    ):
        response = client.get(
            "/api/v1/analysis/machine-types", params={**TIMES, **TYPES, **rates, "step": "5m"}
        )
        assert response.status_code == 400
        assert response.json()["parameter"] == said


def got(client: TestClient, asked: Asked, accept: str) -> Any:
    response = client.get(
        f"/api/v1/analysis/{asked.route}", params={**TIMES, **asked.query}, headers={"Accept": accept}
    )
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith(accept)
    return response
