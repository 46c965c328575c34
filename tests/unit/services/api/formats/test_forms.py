"""GIVEN the forms of an answer WHEN requests want one THEN it is sent, or they are told what there is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from services.api.formats import profile_files
from services.api.formats.forms import STACKS_ONLY, Form, Forms, file_name
from services.api.openapi import document
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
        ("", "image/png", 406, "Media types of this route: application/json, text/csv and text/plain."),
        ("", "text/*;q=0, application/json;q=0", 406, "text/plain"),
        ("format=png", "*/*", 422, "Formats of this route: json, csv and plain."),
        ("format=", "text/csv", 422, "Formats of this route: json, csv and plain."),
        (
            "format=pprof",
            "*/*",
            422,
            "Formats of this route: json, csv and plain. Routes with pprof, collapsed and speedscope",
        ),
        (
            "format=speedscope",
            "*/*",
            422,
            "files: /api/v1/stacks, /flame, /table",
        ),
        (
            "",
            "application/x-pprof",
            406,
            "text/plain. Routes with pprof, collapsed and speedscope files",
        ),
        (
            "",
            "text/x-collapsed-stacks;q=0.5",
            406,
            "/call-graph and /lines. Routes with pprof and collapsed files of a comparison",
        ),
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


def test_who_wants_a_picture_is_not_told_of_stacks() -> None:
    for query, accept in (("", "image/png"), ("format=png", "*/*")):
        with pytest.raises(Problem) as caught:
            FORMS.chosen(request(query, accept))
        assert "stacks" not in (caught.value.hint or "")


def test_the_forms_of_stacks_are_those_that_stacks_have() -> None:
    made: Forms[Any] = Forms(tuple(profile_files.forms(lambda asked: asked, lambda asked: asked)))
    assert {form.name: form.media_type for form in made.forms} == STACKS_ONLY


def test_the_page_lists_the_forms_that_every_route_has() -> None:
    """docs/export.md: forms by their names, answers by their routes."""
    page = (Path(__file__).parents[5] / "docs/export.md").read_text()
    tables = [table.splitlines()[2:] for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)]
    named = {row.split("`")[1]: row.split("`")[3] for row in tables[0]}
    listed = {}
    for row in tables[1]:
        answers, forms, _ = (cell.strip() for cell in row.strip("|").split("|", 2))
        for route in re.findall(r"`([^`]+)`", answers) or [answers]:
            listed[route] = forms.split(", ")
    described = {}
    for path, methods in json.loads(document())["paths"].items():
        for operation in methods.values():
            formats = [it for it in operation.get("parameters", ()) if it["name"] == "format"]
            if formats and path.startswith("/api/v1/"):
                described[path] = formats[0]["schema"]["enum"]
                told = set(operation["responses"]["200"]["content"])
                assert told == {named[form] for form in described[path]}, path
    assert described
    for path, forms in described.items():
        assert set(listed.get(path, listed["all others"])) == set(forms), path
    assert set(listed) - set(described) == {"all others"}
