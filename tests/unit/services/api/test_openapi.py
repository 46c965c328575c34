"""The description that clients are generated from."""

import json

import pytest

from services.api.openapi import document

MODELS = (
    *("ratios", "cross-check", "affinity", "apu", "side-by-side"),
    *("frequency", "frequency-fit", "frequency-times"),
    *("composition", "feature", "load-test", "stability"),
    *("capacity", "machine-types", "interference", "placement", "events"),
)


@pytest.fixture(scope="module")
def description() -> dict:
    return json.loads(document())


@pytest.mark.slow
def test_it_is_the_same_each_time():
    assert document() == document()


def test_everything_is_described(description: dict):
    assert set(description["paths"]) - {"/login"} == {
        f"/api/v1/{route}"
        for route in (
            *(
                "table",
                "flame",
                "call-graph",
                "series",
                "diff",
                "flame-diff",
                "movers",
                "reliability",
                "labels",
                "search",
                "stacks",
                "status",
            ),
            "functions/{function_id}",
            *("callers", "lines", "disassembly", "shared-code", "shared-code/users"),
            *("symbols", "symbols/{key}", "symbols/{key}/{sha256}", "debug-files", "sources", "source"),
            "source/highlighting",
            *("reprocessings", "data/profiles", "data/captures"),
            *("experiments", "experiments/{name}"),
            *("machines", "machines/{name}", "visits", "campaigns", "campaigns/{name}"),
            *("campaigns/{name}/stop", "campaigns/{name}/resume"),
            *("sign-in", "session", "login-links", "tokens", "tokens/{name}"),
            *("views", "views/{view_id}", "prices", "cost"),
            *("changes", "releases", "regressions", "deploys", "deploys/{deploy_id}"),
            *(f"analysis/{model}" for model in MODELS),
        )
    }
    for path, methods in description["paths"].items():
        for operation in methods.values():
            assert operation["summary"], path
            assert operation["description"], path
            assert operation["operationId"].rpartition("_")[2] in path
            for parameter in operation.get("parameters", ()):
                assert parameter["description"], (path, parameter["name"])
    for name, schema in description["components"]["schemas"].items():
        assert schema["description"], name


def test_problems_are_problem_documents(description: dict):
    responses = description["paths"]["/api/v1/table"]["get"]["responses"]
    for status in ("400", "401", "404", "406", "422", "503"):
        assert list(responses[status]["content"]) == ["application/problem+json"], status
    assert "HTTPValidationError" not in description["components"]["schemas"]


def test_either_a_session_or_a_token_is_enough(description: dict):
    assert description["paths"]["/api/v1/table"]["get"]["security"] == [{"session": []}, {"token": []}]


def test_the_selection_is_the_same_on_every_route(description: dict):
    def shared(route: str) -> dict:
        parameters = description["paths"][f"/api/v1/{route}"]["get"]["parameters"]
        names = {"event", "unit", "from", "to", "select", "campaign", "focus", "ignore"}
        return {p["name"]: p for p in parameters if p["name"] in names}

    for route in ("flame", "call-graph", "series", "labels", "diff", "reliability"):
        assert shared("table") == shared(route), route
    assert len(shared("table")) == 8


_FILES = {"application/x-pprof", "text/x-collapsed-stacks", "application/vnd.speedscope+json"}
_FLAT = {"application/json", "application/vnd.apache.arrow.stream", "text/csv"}


@pytest.mark.parametrize(
    ("route", "more"),
    [
        *(
            (route, set())
            for route in (
                "series",
                "movers",
                "reliability",
                "labels",
                "search",
                "functions/{function_id}",
                "status",
            )
        ),
        ("flame", {"application/vnd.fleetprof.flame"} | _FILES),
        ("stacks", _FILES),
        ("call-graph", {"text/vnd.graphviz"} | _FILES),
        ("table", {"application/vnd.fleetprof.table+json"} | _FILES),
        ("diff", _FILES - {"application/vnd.speedscope+json"}),
        ("flame-diff", _FILES - {"application/vnd.speedscope+json"}),
        ("callers", _FILES),
        ("lines", _FILES),
    ],
)
def test_every_shape_has_its_forms(description: dict, route: str, more: set[str]):
    operation = description["paths"][f"/api/v1/{route}"]["get"]
    assert set(operation["responses"]["200"]["content"]) == _FLAT | more
    assert "406" in operation["responses"]
    assert {"format", "download"} <= {parameter["name"] for parameter in operation["parameters"]}
