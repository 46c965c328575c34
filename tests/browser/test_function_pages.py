"""The pages about one function: its calls, its source, its call graph and its instructions."""

import io
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, select, update

from services.symbols.symbol_service import SymbolService
from storage.archive import Archive
from storage.schema import binary, function
from tests.browser.ingested import IngestedFleet
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow

APP = "01" * 20
"""Build-id of the program that has most functions of `IngestedFleet`."""
TEXT = "".join(f"\tstatement({number});\n" for number in range(1, 20_001))


def id_of(engine: Engine, name: str) -> int:
    """The function's id, as the API uses it."""
    with engine.connect() as connection:
        query = select(function.c.function_id).where(function.c.name == name)
        return connection.scalars(query).one()


def opened(visitor, path: str) -> Page:
    visitor.page.goto(f"{visitor.server.url}{path}")
    return visitor.page


def test_a_function_has_its_cost_callers_and_callees(visitor, fleet: IngestedFleet, engine: Engine):
    fleet.visit()
    parse = id_of(engine, "parse")
    page = opened(visitor, f"/fn/{parse}")
    expect(page.get_by_role("heading", name="parse", exact=True)).to_be_visible()
    expect(page.locator(".fn-cost")).to_contain_text("total 46.67 %")  # 70 of 150 samples
    expect(page.locator(".fn-cost")).to_contain_text("self 20.00 %")
    callers = page.get_by_role("region", name="Callers", exact=True)
    expect(callers.get_by_role("listitem")).to_have_count(2)
    expect(callers).to_contain_text("Server::handle")
    expect(callers).to_contain_text("itself (recursion)")
    callees = page.get_by_role("region", name="Callees", exact=True)
    expect(callees.get_by_role("listitem").first).to_contain_text("57.1 %")  # 40 of 70
    callees.get_by_role("link", name="malloc").click()
    expect(page.get_by_role("heading", name="malloc", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="parse", exact=True)).to_be_visible()


def test_stacks_with_a_caller_are_kept_and_back_undoes(visitor, fleet: IngestedFleet, engine: Engine):
    fleet.visit()
    page = opened(visitor, f"/fn/{id_of(engine, 'parse')}")
    page.get_by_role("link", name="malloc").click(modifiers=["Shift"])
    expect(page).to_have_url(f"{page.url.partition('?')[0]}?focus=%5Emalloc%24")
    expect(page.locator(".fn-cost")).to_contain_text("total 26.67 %")  # the 40 samples with malloc
    page.go_back()
    expect(page.locator(".fn-cost")).to_contain_text("total 46.67 %")


def test_the_time_series_has_a_table_and_a_range_by_keyboard(visitor, fleet: IngestedFleet, engine: Engine):
    fleet.visit()
    page = opened(visitor, f"/fn/{id_of(engine, 'parse')}?measure=share")
    chart = page.locator(".series-plot")
    expect(chart.locator("canvas")).to_be_visible()
    chart.focus()
    page.keyboard.press("End")
    expect(page.locator(".series-step")).not_to_be_empty()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_url("**from=*&to=*")
    expect(page.locator(".series-plot canvas")).to_be_visible()
    page.get_by_role("group", name="chart or table").get_by_role("button", name="Table").click()
    expect(page.get_by_role("region", name="parse over time")).to_contain_text("46.67 %")


def test_a_function_without_samples_offers_the_time_that_has_some(
    visitor, fleet: IngestedFleet, engine: Engine
):
    fleet.visit()
    page = opened(visitor, f"/fn/{id_of(engine, 'parse')}?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z")
    expect(page.get_by_text("No samples of this function in the selection.")).to_be_visible()
    page.get_by_role("button", name="Show this time").click()
    expect(page.locator(".fn-cost")).to_contain_text("total 46.67 %")


def test_an_unknown_function_is_named(new_visitor, fleet: IngestedFleet):
    visitor = new_visitor()  # the 404 is a complaint of the browser
    page = opened(visitor, "/fn/987654321")
    expect(page.get_by_role("alert")).to_contain_text("987654321")


@pytest.fixture
def known_build(fleet: IngestedFleet, engine: Engine) -> None:
    """A visit whose program has the name that its functions have as their binary."""
    fleet.visit()
    with engine.begin() as connection:
        named = update(binary).where(binary.c.key == APP).values(name="app")
        assert connection.execute(named).rowcount == 1


@pytest.fixture
def stored_source(server, engine: Engine, known_build: None, tmp_path: Path) -> None:
    """The text of `parse.c` of the build."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo("parse.c")
        member.size = len(TEXT)
        tar.addfile(member, io.BytesIO(TEXT.encode()))
    archive = tmp_path / "sources.tar"
    archive.write_bytes(packed.getvalue())
    service = SymbolService(engine, Archive(str(tmp_path / "archive")))
    assert service.add_sources(APP, archive)["files"] == 1


def test_source_has_costs_and_steps_between_hot_lines(visitor, stored_source: None):
    page = opened(visitor, "/source/app?path=parse.c")
    table = page.get_by_role("table", name="source of parse.c")
    expect(table).to_have_attribute("aria-rowcount", "20000")
    assert table.get_by_role("row").count() < 200  # of 20,000 lines
    page.keyboard.press("n")
    expect(page).to_have_url(f"{visitor.server.url}/source/app?path=parse.c&line=30")
    row = table.locator('[aria-current="true"]')
    expect(row).to_contain_text("statement(30);")
    expect(row).to_contain_text("46.67 %")
    page.keyboard.press("n")
    expect(row).to_contain_text("statement(31);")
    expect(row).to_contain_text("6.67 %")  # the 10 samples with recursion
    page.keyboard.press("p")
    expect(row).to_contain_text("statement(30);")
    opened(visitor, "/source/app?path=parse.c&line=15000")
    expect(row).to_contain_text("statement(15000);")
    assert violations(page) == []


def test_a_binary_lists_its_files(visitor, stored_source: None):
    page = opened(visitor, "/source/app")
    page.get_by_role("link", name="parse.c").click()
    expect(page.get_by_role("table", name="source of parse.c")).to_be_visible()


def test_a_missing_source_names_the_upload(new_visitor, known_build: None):
    page = opened(new_visitor(), "/source/app?path=parse.c")
    expect(page.get_by_text("No source text of this file.")).to_be_visible()
    expect(page.get_by_text(f"fleetprof symbols sources upload . --key {APP}")).to_be_visible()
    page.get_by_role("button", name="Hot lines").click()
    expect(page.get_by_role("region", name="lines with samples")).to_contain_text("46.67 %")


def test_the_call_graph_is_drawn_and_focused(visitor, fleet: IngestedFleet, engine: Engine):
    fleet.visit()
    parse = id_of(engine, "parse")
    page = opened(visitor, "/graph")
    node = page.locator(".graph-node", has_text="parse")
    expect(node).to_contain_text("self 20.00 %, total 46.67 %")
    expect(page.locator(".graph-edge")).to_have_count(8)
    node.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{visitor.server.url}/graph?focus_on={parse}")
    expect(node).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".graph-focus")).to_contain_text("total 46.67 %")
    page.go_back()
    expect(node).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="List").click()
    expect(page.get_by_role("region", name="calls of the graph")).to_contain_text("malloc")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_the_pages(new_visitor, fleet: IngestedFleet, engine: Engine, scheme: str):
    fleet.visit()
    parse = id_of(engine, "parse")
    visitor = new_visitor(color_scheme=scheme)
    for path, shown in (
        (f"/fn/{parse}", ".series-plot canvas"),
        (f"/graph?focus_on={parse}", ".graph-node"),
        ("/source/app", ".data-table"),
    ):
        page = opened(visitor, path)
        expect(page.locator(shown).first).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert violations(page) == [], path
