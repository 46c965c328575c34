"""The rows of /table as columns, chosen by Accept or format."""

import pytest
from starlette.testclient import TestClient

from storage.query.answers.answer import adapter
from storage.query.answers.table_columns import TableColumnsAnswer
from tests.integration.api.fetch_answers import DESIGNED, RANGE

pytestmark = pytest.mark.integration

MEDIA_TYPE = "application/vnd.fleetprof.table+json"


@pytest.mark.parametrize("by", ["function", "application,function", "file,binary", "machine"])
def test_columns_say_what_rows_say(client: TestClient, fleet: None, by: str):
    rows = client.get("/api/v1/table", params={**DESIGNED, "by": by, "limit": 5_000}).json()
    response = client.get(
        "/api/v1/table", params={**DESIGNED, "by": by, "limit": 5_000}, headers={"Accept": MEDIA_TYPE}
    )
    assert response.headers["content-type"] == MEDIA_TYPE
    answer = response.json()
    adapter(TableColumnsAnswer).validate_python(answer)
    columns = answer.pop("columns")
    assert answer == {name: value for name, value in rows.items() if name != "rows"}
    for place, row in enumerate(rows["rows"]):
        key = {name: column["texts"][column["index"][place]] for name, column in columns["key"].items()}
        assert key == row["key"]
        for name in ("self", "total", "self_samples", "total_samples", "visits", "machines"):
            assert columns[name][place] == row[name]
        assert (columns["function_id"] or [None] * len(rows["rows"]))[place] == row["function_id"]
        assert (place in columns["low_confidence"]) == row["low_confidence"]
        for side in ("self", "total"):
            share, seconds = columns[f"{side}_share"], columns[f"{side}_core_seconds"]
            assert [share[end][place] for end in ("value", "lo", "hi")] == pytest.approx(
                [row[f"{side}_{end}"] for end in ("share", "lo", "hi")], rel=1e-8
            )
            assert {end: column[place] for end, column in seconds.items()} == pytest.approx(
                row[f"{side}_core_seconds"], rel=1e-8
            )


def test_the_format_is_named_too(client: TestClient, samples: None):
    answer = client.get("/api/v1/table", params={**RANGE, "format": "json-columns"})
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert answer.json()["columns"]["self_core_seconds"] is None, "visits by hand have no estimates"
    assert answer.json()["columns"]["key"]["function"]["texts"] == ["main", "memcpy", "libz.so+0x40"]
    plain = client.get("/api/v1/table", params=RANGE, headers={"Accept": "application/*"})
    assert plain.headers["content-type"] == "application/json"
