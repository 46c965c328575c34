"""The values of one label without the matchers on it: /labels?except=."""

import pytest
from starlette.testclient import TestClient

from storage.query.answers.answer import adapter
from storage.query.answers.labels import LabelsAnswer
from tests.integration.api.fetch_answers import RANGE, problem

pytestmark = pytest.mark.integration


def values(client: TestClient, **query: str) -> dict[str, float]:
    answer = client.get("/api/v1/labels", params={**RANGE, **query}).json()
    adapter(LabelsAnswer).validate_python(answer)
    return {value["value"]: value["share"] for label in answer["labels"] for value in label["values"]}


def test_matchers_on_the_label_are_left_out(client: TestClient, samples: None):
    chosen = {"select": '{app="prog",platform="Zen 3"}'}
    assert values(client, **chosen, find="pro") == {"prog": 1.0}
    assert values(client, **chosen, **{"except": "app"}) == {"other": 0.5, "prog": 0.5}
    answer = client.get("/api/v1/labels", params={**RANGE, **chosen, "except": "app"}).json()
    assert [label["name"] for label in answer["labels"]] == ["application"]
    assert answer["selection"]["select"] == '{platform="Zen 3"}'


def test_the_other_matchers_still_hold(client: TestClient, samples: None):
    chosen = {"select": '{app="prog",machine="m1"}'}
    assert values(client, **chosen, **{"except": "application"}) == {"prog": 1.0}
    assert values(client, **chosen, **{"except": "machine"}) == {"m1": 1.0}
    assert values(client, select='{machine="m9"}', **{"except": "comm"}) == {}


def test_limit_and_find_apply(client: TestClient, samples: None):
    answer = client.get("/api/v1/labels", params={**RANGE, "except": "application", "limit": 1}).json()
    assert [(len(label["values"]), label["more"]) for label in answer["labels"]] == [(1, 1)]
    assert values(client, find="OTH", **{"except": "application"}) == {"other": 0.5}


def test_what_is_not_one_label_is_refused(client: TestClient, samples: None):
    for wrong in ("aplication", "function", "application,version", '"'):
        found = problem(client.get("/api/v1/labels", params={**RANGE, "except": wrong}), 400)
        assert found["parameter"] == "except"
        assert found["hint"] or wrong == '"'
