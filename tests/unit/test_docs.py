"""GIVEN the program WHEN something of it has no documentation THEN a test says what is missing."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for package in (
        "gateway",
        "collector",
        "symbolizer",
        "storage",
        "analysis",
        "services",
        "proto",
        "tests",
        "benchmarks",
    )
    for path in sorted((ROOT / package).rglob("*"))
    if path.suffix in {".py", ".proto"} and not path.name.endswith(("_pb2.py", "_pb2_grpc.py"))
]


DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(path for room in ("storage", "symbolizer") for path in sorted((ROOT / room).rglob("README.md"))),
]
INDEX = "docs/index.md"


def test_every_page_of_the_web_ui_is_documented():
    pages = re.findall(r"page\('(/[^']*)'", (ROOT / "webui/src/app/pages.ts").read_text())
    text = (ROOT / "docs/web-ui.md").read_text()
    assert len(pages) > 10
    assert [path for path in pages if f"`{path}`" not in text] == []


def test_every_setting_is_documented_with_its_meaning():
    from services.configuration.settings import Settings

    text = (ROOT / "docs/settings.md").read_text()
    rows = dict(re.findall(r"^\| `FLEETPROF_(\w+)` \|[^|]*\| (.+) \|$", text, re.MULTILINE))
    assert set(rows) == {name.upper() for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        assert field.description is not None
        assert rows[name.upper()].startswith(field.description), name


def test_the_reference_of_commands_is_what_the_program_says():
    from services.command_line.cli_reference import cli_reference

    assert (ROOT / "docs/cli.md").read_text() == cli_reference(), (
        "run: python -m services.command_line.cli_reference > docs/cli.md"
    )


@pytest.mark.slow
def test_every_route_is_documented():
    from services.api.openapi import document

    text = (ROOT / "docs/api.md").read_text()
    assert [path for path in json.loads(document())["paths"] if path not in text] == []


def test_every_table_is_documented():
    from storage.schema import metadata

    text = (ROOT / "docs/tables.md").read_text()
    assert [table for table in metadata.tables if f"`{table}`" not in text] == []


def test_every_cited_row_of_a_paper_is_explained():
    explained = set(re.findall(r"^\| ([GADMI]\d+) \|", (ROOT / "docs/papers.md").read_text(), re.MULTILINE))
    cited = {
        row
        for path in SOURCES
        for group in re.findall(r"DIGEST ((?:[GADMI]\d+[,–\- ]*(?:and )?)+)", path.read_text())
        for row in rows_of(group)
    }
    assert cited - explained == set()


def rows_of(text):
    """Rows named in a citation such as "G1, G2" or "G12-G14"."""
    for first, last in re.findall(r"([GADMI]\d+)(?:[-–]([GADMI]\d+))?", text):
        yield first
        if last:
            yield from (f"{first[0]}{number}" for number in range(int(first[1:]), int(last[1:]) + 1))


@pytest.mark.parametrize("text", ["G1, G2", "G12-G14"])
def test_citations_are_read(text):
    assert next(rows_of(text)) == text.split(",")[0].split("-")[0]


def test_links_between_documents_lead_somewhere():
    broken = []
    for path in DOCUMENTS:
        targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
        broken += [f"{path.name}: {target}" for target in targets if not (path.parent / target).exists()]
    assert broken == []


def test_every_document_is_in_the_index():
    text = (ROOT / INDEX).read_text()
    listed = {(ROOT / "docs" / target).resolve() for target in re.findall(r"\]\(([^)#]+)\)", text)}
    assert {path for path in DOCUMENTS if path.parent != ROOT} - listed == {ROOT / INDEX}


@pytest.mark.parametrize(("name", "most"), [("README.md", 80), ("docs/architecture.md", 150)])
def test_the_documents_a_newcomer_reads_first_are_short(name, most):
    assert len((ROOT / name).read_text().splitlines()) <= most
