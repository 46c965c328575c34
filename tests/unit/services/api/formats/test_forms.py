"""GIVEN the forms of an answer WHEN requests want one THEN it is sent, or they are told what there is."""

import json

import pytest
from starlette.requests import Request

from services.api.formats.forms import Form, Forms, file_name
from services.api.problems import Problem

FORMS = Forms(
    (
        Form("json", "application/json", "json", lambda asked: json.dumps(asked).encode()),
        Form("csv", "text/csv", "csv", str.encode, parameters="; charset=utf-8"),
        Form("plain", "text/plain", "txt", str.encode),
    )
)


def request(query: str = "", *accept: str) -> Request:
    headers = [(b"accept", value.encode()) for value in accept]
    return Request({"type": "http", "query_string": query.encode(), "headers": headers})


@pytest.mark.parametrize(
    ("query", "accept", "chosen"),
    [
        ("", [], "json"),
        ("", [""], "json"),
        ("", ["*/*"], "json"),
        ("", ["text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"], "json"),
        ("", ["text/csv"], "csv"),
        ("", ["text/*"], "csv"),
        ("", ["text/*, text/csv;q=0.5"], "plain"),
        ("", ["application/json;q=0.5, text/csv"], "csv"),
        ("", ["application/json, text/csv"], "json"),
        ("", ["application/json;q=0.1", "text/plain;q=0.2"], "plain"),
        ("format=csv", ["application/json"], "csv"),
        ("format=csv", ["image/png"], "csv"),
    ],
)
def test_the_form_most_wanted_is_chosen(query: str, accept: list[str], chosen: str) -> None:
    assert FORMS.chosen(request(query, *accept)).name == chosen


@pytest.mark.parametrize(
    ("query", "accept", "status", "hint"),
    [
        ("", "image/png", 406, "There is application/json, text/csv and text/plain."),
        ("", "text/*;q=0, application/json;q=0", 406, "text/plain"),
        ("format=png", "*/*", 422, "There is json, csv and plain."),
        ("format=", "text/csv", 422, "There is json, csv and plain."),
    ],
)
def test_what_there_is_not_is_a_problem_that_says_what_there_is(
    query: str, accept: str, status: int, hint: str
) -> None:
    with pytest.raises(Problem) as caught:
        FORMS.chosen(request(query, accept))
    assert caught.value.status == status
    assert hint in caught.value.hint


def test_a_download_has_a_name() -> None:
    form = FORMS.forms[1]
    assert file_name(request("download=1"), form) == "fleetprof-answer.csv"
    assert file_name(request("download=false"), form) is None
    assert file_name(request(), form) is None
    with pytest.raises(Problem):
        file_name(request("download=maybe"), form)
