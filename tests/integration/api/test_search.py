"""The search for names: /search."""

import csv
from datetime import timedelta
from random import Random

import pytest
from sqlalchemy import Engine, update
from starlette.testclient import TestClient

from storage.query.answers.answer import adapter
from storage.query.answers.search import SearchAnswer
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.search import VISITS, SearchQuestion
from storage.query.shapes.table import TableQuestion
from storage.schema import machine
from tests.fact_writer import FactWriter
from tests.integration.api.fetch_answers import DESIGNED, NOON, RANGE, problem
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration


def hits(client: TestClient, q: str, **query: str) -> list[dict]:
    answer = client.get("/api/v1/search", params={**RANGE, "q": q, **query}).json()
    adapter(SearchAnswer).validate_python(answer)
    assert answer["q"] == q.strip()
    return answer["hits"]


def test_names_of_every_kind_are_found(client: TestClient, samples: None, engine: Engine):
    with engine.begin() as connection:
        FactWriter(connection).visit("mighty", NOON - timedelta(days=3))
    found = hits(client, " M ")
    assert [(hit["kind"], hit["text"], hit["share"]) for hit in found] == [
        ("function", "main", pytest.approx(0.75)),
        ("function", "memcpy", pytest.approx(0.15)),
        ("file", "m.c", pytest.approx(0.75)),
        ("machine", "m1", None),
        ("machine", "m2", None),
        ("machine", "mighty", None),
    ]
    main, memcpy, file, *machines = found
    assert (main["binary"], main["file"], main["label"]) == ("prog", "m.c", None)
    row = client.get("/api/v1/table", params={**RANGE, "find": "memcpy"}).json()["rows"][0]
    assert memcpy["function_id"] == row["function_id"]
    assert (file["file"], file["function_id"]) == ("m.c", None)
    assert {hit["label"] for hit in machines} == {"machine"}
    of_prog = hits(client, "pro")
    assert [(hit["kind"], hit["binary"], hit["label"], hit["share"]) for hit in of_prog] == [
        ("binary", "prog", None, pytest.approx(0.75)),
        ("application", None, "application", pytest.approx(0.5)),
    ]


def test_names_without_samples_in_the_selection_have_no_share(
    client: TestClient, samples: None, engine: Engine
):
    with engine.begin() as connection:
        write = FactWriter(connection)
        write.function("mempool", file="pool.c", binary="prog")
        write.function("[mem: no frames]", kind=2)
        write.alias(write.function("mem+0x7", status=1, start=("abc", 7)), write.function("memfree"))
    found = [(hit["text"], hit["share"]) for hit in hits(client, "mem", select='{app="prog"}')]
    assert found == [("memcpy", pytest.approx(0.3)), ("memfree", None), ("mempool", None)]
    assert [(hit["kind"], hit["share"]) for hit in hits(client, "pool.c")] == [("file", None)]
    nowhere = hits(client, "memcpy", **{"from": "2026-11-01T00:00:00Z", "to": "2026-11-01T01:00:00Z"})
    assert [(hit["text"], hit["share"]) for hit in nowhere] == [("memcpy", None)]
    assert [hit["share"] for hit in hits(client, "prog", select='{app="other"}')] == [1.0, None]


def test_at_most_so_many_of_each_kind(client: TestClient, samples: None):
    assert [(hit["kind"], hit["text"]) for hit in hits(client, "m", limit="1")] == [
        ("function", "main"),
        ("file", "m.c"),
        ("machine", "m1"),
    ]


def test_texts_are_not_patterns(client: TestClient, samples: None):
    assert hits(client, "%") == hits(client, "m_i") == hits(client, "m.*") == []
    assert [hit["text"] for hit in hits(client, "IBZ.SO+0x")] == ["libz.so+0x40"]


def test_removed_machines_are_not_found(client: TestClient, samples: None, engine: Engine):
    with engine.begin() as connection:
        connection.execute(update(machine).where(machine.c.name == "m1").values(removed_at=NOON))
    assert [hit["text"] for hit in hits(client, "m") if hit["kind"] == "machine"] == ["m2"]


def test_shares_are_those_of_the_table_if_all_visits_are_read(client: TestClient, fleet: None):
    found = {hit["text"]: hit["share"] for hit in hits(client, "o", **DESIGNED) if hit["kind"] == "function"}
    rows = client.get("/api/v1/table", params={**DESIGNED, "find": "work"}).json()["rows"]
    assert found == {"work": pytest.approx(rows[0]["self_share"])}
    rows = csv.DictReader(
        client.get("/api/v1/search", params={**DESIGNED, "q": "wo", "format": "csv"}).text.splitlines()
    )
    assert [row["text"] for row in rows] == ["work"]


def test_an_empty_text_is_refused(client: TestClient, samples: None):
    for query in ({}, {"q": ""}, {"q": "  "}, {"q": "x" * 201}):
        assert problem(client.get("/api/v1/search", params={**RANGE, **query}), 422)["parameter"] == "q"
    assert problem(client.get("/api/v1/search", params={**RANGE, "q": "\0"}), 400)["parameter"] == "q"


@pytest.mark.slow
def test_a_part_of_many_visits_represents_all(queries: QueryEngine, engine: Engine):
    visits = 5 * VISITS
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 1000}, random=Random(1))
        write = campaign.write
        stacks = [write.stack([write.function(name, binary="prog")]) for name in ("often", "rare")]
        for number in range(visits):
            visit = campaign.answer(NOON + timedelta(seconds=number), "east", machine=f"m{number % 9}")
            write.profile(visit, dict(zip(stacks, (80, 20), strict=True)), labels={"application": "prog"})
    selection = Selection(NOON, NOON + timedelta(hours=1))
    found = queries.ask(SearchQuestion(selection, "e"))
    assert 0.7 * VISITS < found.visits_read < 1.3 * VISITS
    exact = {row.key["function"]: row.self_share for row in queries.ask(TableQuestion(selection)).rows}
    shares = {hit.text: hit.share for hit in found.hits if hit.kind == "function"}
    assert shares == {name: pytest.approx(share) for name, share in exact.items()}
