"""One function by its id: /functions/{id}."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, insert, update
from starlette.testclient import TestClient

from storage.query.answers.answer import adapter
from storage.query.answers.function import FunctionAnswer
from storage.schema import binary, function
from tests.fact_writer import FactWriter
from tests.integration.api.fetch_answers import NOON, RANGE, problem

pytestmark = pytest.mark.integration


def fetch(client: TestClient, id_: int) -> dict:
    answer = client.get(f"/api/v1/functions/{id_}").json()
    adapter(FunctionAnswer).validate_python(answer)
    return answer


def test_what_is_known_of_a_function(client: TestClient, samples: None, engine: Engine):
    row = client.get("/api/v1/table", params={**RANGE, "find": "memcpy"}).json()["rows"][0]
    id_ = row["function_id"]
    with engine.begin() as connection:
        connection.execute(
            update(function)
            .where(function.c.function_id == id_)
            .values(file="string/memcpy.c", start_line=31, raw_name="memcpy@@GLIBC_2.14")
        )
        connection.execute(
            insert(binary),
            [
                {"key": key, "name": name, "path": f"/lib/{name}", "kind": "file", "first_seen": seen}
                for key, name, seen in (
                    ("aa", "libc.so.6", NOON),
                    ("bb", "libc.so.6", NOON + timedelta(days=1)),
                    ("cc", "libz.so", NOON),
                )
            ],
        )
        write = FactWriter(connection)
        other = write.function("memcpy", binary="prog", status=3)
        write.alias(write.function("memcpy", binary="prog", status=1, start=("dd", 8)), other)
    answer = fetch(client, id_)
    assert {name: answer[name] for name in ("name", "binary", "status", "kind")} == {
        "name": "memcpy",
        "binary": "libc.so.6",
        "status": "symtab",
        "kind": "user",
    }
    assert (answer["id"], answer["file"], answer["line"]) == (id_, "string/memcpy.c", 31)
    assert answer["raw_name"] == "memcpy@@GLIBC_2.14"
    assert [(build["key"], build["first_seen"]) for build in answer["builds"]] == [
        ("bb", "2026-11-22T12:00:00Z"),
        ("aa", "2026-11-21T12:00:00Z"),
    ]
    assert answer["builds"][0]["path"] == "/lib/libc.so.6"
    assert [(each["id"], each["binary"]) for each in answer["others"]] == [(other, "prog")]
    assert (answer["builds_total"], answer["others_total"]) == (2, 1)


def test_a_function_that_was_named_later_is_that_function(client: TestClient, samples: None, engine: Engine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        nameless = write.function("prog+0x7", binary="prog", status=1, start=("abc", 7))
        named = write.function("work", binary="prog")
        write.alias(nameless, named)
    answer = fetch(client, nameless)
    assert (answer["id"], answer["name"], answer["raw_name"], answer["line"]) == (named, "work", "work", None)
    assert answer == fetch(client, named)


def test_an_unknown_id_is_not_found(client: TestClient, samples: None):
    found = problem(client.get("/api/v1/functions/2000000000"), 404)
    assert found["detail"].startswith("There is no function with the id 2000000000.")
    assert found["type"] == "urn:fleetprof:problem:unknown"
    for wrong in ("0", "-1", str(1 << 31), "main"):
        assert problem(client.get(f"/api/v1/functions/{wrong}"), 422)["parameter"] == "function_id"
