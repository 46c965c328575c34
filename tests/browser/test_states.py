"""What the page says when there is nothing to show, and whether everybody can read it."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psycopg2
import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import make_url

from tests.browser.ingested import IngestedFleet

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / "webui" / "node_modules" / "axe-core" / "axe.min.js"
LIGHT = "rgb(244, 245, 247)"  # --bg of webui/src/styles/tokens.css
DARK = "rgb(14, 16, 19)"
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("tags => axe.run(document, { runOnly: tags })", WCAG)
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@pytest.fixture
def unreachable_database(postgres_url: str, database_url: str) -> Callable[[], Callable[[], None]]:
    """Shuts the test's database; what it returns opens it again."""
    name = make_url(database_url).database

    def administer(*statements: str) -> None:
        at = make_url(postgres_url)
        connection = psycopg2.connect(
            host=at.query["host"], port=at.query["port"], user=at.username, dbname=at.database
        )
        connection.autocommit = True
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.close()

    def shut() -> Callable[[], None]:
        administer(
            f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false",
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
        )
        return lambda: administer(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")

    return shut


def test_before_the_first_capture_has_ingested_the_page_says_so_and_fills_itself(
    visitor, fleet: IngestedFleet
):
    visit_id = fleet.draw()
    fleet.bring_back(visit_id)
    page = visitor.open("explore")
    expect(page.get_by_text("The first profiles are being processed")).to_be_visible()
    expect(page.get_by_text("1 answered")).to_be_visible()
    expect(page.get_by_text("1 being processed")).to_be_visible()
    fleet.ingest(visit_id)
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_an_empty_result_names_the_filter_and_takes_it_away(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open('explore?select={application="search",team="db"}&focus=parse')
    expect(
        page.get_by_text('The filter team="db" excludes all samples: without it there are 70 samples.')
    ).to_be_visible()
    assert page.get_by_text('The filter application="search"').count() == 0
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_an_unknown_name_has_near_ones(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open('explore?select={application="serch"}')
    expect(page.get_by_text("No application is called serch. Did you mean search?")).to_be_visible()
    page.get_by_role("button", name="search", exact=True).click()
    expect(page.locator(".chip", has_text="application = search")).to_be_visible()
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_a_question_that_takes_too_long_is_not_repeated(visitor, fleet: IngestedFleet):
    fleet.visit()
    asked: list[str] = []

    def too_slow(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(
            status=503,
            content_type="application/problem+json",
            body='{"type": "urn:fleetprof:problem:too-slow", "detail": "The query takes more than 30 seconds."}',
        )

    visitor.page.route("**/api/v1/table?*", too_slow)
    page = visitor.open("explore?view=table&from=now-30d")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The query takes more than 30 seconds.")
    assert len(asked) == 1
    expect(page.get_by_role("group", name="view")).to_be_visible()
    page.unroute("**/api/v1/table?*")
    alert.get_by_role("button", name="Show the last 24 h").click()
    expect(page.get_by_role("grid")).to_contain_text("malloc")
    visitor.complaints.clear()  # of the browser, about the 503


def test_a_slow_question_says_how_long_and_can_be_cancelled(visitor, fleet: IngestedFleet):
    fleet.visit()
    held: list[Route] = []
    visitor.page.route("**/api/v1/table?*", lambda route: held.append(route))  # noqa: PLW0108 - it is looked into
    page = visitor.open("explore?view=table&from=now-2d")
    expect(page.get_by_text(re.compile("Loading the table … [3-9] s"))).to_be_visible()
    expect(page.get_by_role("button", name="Show the last 24 h (faster)")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Loading the table was cancelled.")).to_be_visible()
    page.unroute("**/api/v1/table?*")
    page.get_by_role("button", name="Load it").click()
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_old_samples_are_one_click_away(visitor, fleet: IngestedFleet):
    fleet.visit(ago=timedelta(hours=3))
    page = visitor.open("explore?from=now-1h")
    expect(page.get_by_text("The newest samples are 3 h old.")).to_be_visible()
    page.get_by_role("button", name="Show the hour up to").click()
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_a_stopped_campaign_is_said_loudly_with_the_way_back(visitor, fleet: IngestedFleet):
    fleet.visit()
    fleet.stop("11 of the last 20 visits failed, more than the allowed half")
    page = visitor.open("explore")
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("The campaign “fleet” is stopped.")
    expect(banner).to_contain_text("11 of the last 20 visits failed, more than the allowed half.")
    expect(banner).to_contain_text("fleetprof campaigns resume fleet")
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_an_error_speaks_the_servers_words_and_is_passing(
    new_visitor: Callable, fleet: IngestedFleet, unreachable_database: Callable
):
    fleet.visit()
    visitor = new_visitor()
    reopen = unreachable_database()
    page = visitor.open("explore")
    alert = page.get_by_role("alert").first
    expect(alert).to_contain_text("database")
    expect(alert).to_contain_text("Retry later")
    expect(alert.locator("code")).not_to_be_empty()  # the request's id
    assert violations(page) == []
    reopen()
    page.get_by_role("button", name="Try again").first.click()
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_a_failed_refresh_keeps_the_last_answer(
    new_visitor: Callable, fleet: IngestedFleet, unreachable_database: Callable
):
    fleet.visit()
    visitor = new_visitor()
    visitor.page.clock.install()
    page = visitor.open("explore")
    expect(page.get_by_role("grid")).to_contain_text("malloc")
    reopen = unreachable_database()
    page.clock.run_for(150_000)
    expect(page.get_by_text("Could not refresh").first).to_be_visible()
    expect(page.get_by_role("grid")).to_contain_text("malloc")
    reopen()


def test_a_mistake_in_the_matchers_is_pointed_at(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    page = new_visitor().open('explore?select={application="search" x}')
    expect(page.locator(".pointer").first).to_have_text('{application="search" x}\n' + " " * 22 + "↑")
    assert violations(page) == []
    page.get_by_role("button", name="Remove the filters").first.click()
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_a_filter_that_is_at_fault_alone_is_taken_away(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    page = new_visitor().open('explore?select={application="search"}&focus=(&view=table')
    expect(page.get_by_role("alert")).to_contain_text("The regular expression '(' is not valid")
    expect(page.get_by_label("find a function")).to_be_visible()  # the tools stay
    expect(page.get_by_role("group", name="view")).to_be_visible()
    page.get_by_role("button", name="Remove this filter").click()
    expect(page.get_by_role("grid")).to_contain_text("malloc")
    expect(page.locator(".chip", has_text="application = search")).to_be_visible()


def test_an_unknown_campaign_costs_no_filter(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    page = new_visitor().open('explore?select={application="search"}&campaign=nightly&view=table')
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("There is no campaign 'nightly'.")
    expect(alert.get_by_role("button", name="Remove the filters")).to_have_count(0)
    alert.get_by_role("button", name="Show fleet").click()
    expect(page.get_by_role("grid")).to_contain_text("malloc")
    expect(page.locator(".chip", has_text="application = search")).to_be_visible()


def test_newest_samples_within_the_range_are_not_to_blame(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open("explore?focus=no+such+function")
    expect(page.get_by_text("Keeping stacks containing")).to_be_visible()
    expect(page.get_by_text("The newest samples are")).to_have_count(0)


def test_an_address_without_a_page_says_so(visitor):
    page = visitor.open("symbol")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("link", name="Symbols").click()
    expect(page.get_by_role("heading", name="Symbols")).to_be_visible()


def test_an_old_answer_does_not_pass_for_that_of_a_slow_question(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open("explore?view=table")
    expect(page.get_by_role("grid")).to_contain_text("malloc")
    held: list[Route] = []
    page.route("**/api/v1/table?*", lambda route: held.append(route))  # noqa: PLW0108 - it is looked into
    page.get_by_role("button", name="last 1 day").click()
    page.get_by_role("button", name="6h", exact=True).click()
    expect(page.get_by_text("The page shows the previous selection.")).to_be_visible()
    for route in held:
        route.continue_()
    expect(page.get_by_text("The page shows the previous selection.")).to_have_count(0)


@pytest.mark.parametrize("address", ["explore", "compare", "reports/reliability"])
def test_a_telephone_shows_all_of_the_width(new_visitor: Callable, fleet: IngestedFleet, address: str):
    fleet.visit()
    page = new_visitor().open(address)
    page.set_viewport_size({"width": 360, "height": 780})
    expect(page.locator(".panel").first).to_be_visible()
    expect(page.locator("main")).to_have_attribute("aria-busy", "false")
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) == 0
    page.get_by_role("region", name="selection").get_by_title("time range, filters, unit").click()
    sheet = page.get_by_role("dialog", name="selection")
    sheet.get_by_role("button", name="+ Filter").click()
    picker = page.get_by_role("dialog", name="add a filter")
    expect(picker.get_by_role("option").first).to_be_visible()
    assert page.evaluate(overflow) == 0
    for part in (sheet, picker):
        box = part.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


def test_who_is_not_logged_in_learns_how(new_visitor: Callable):
    visitor = new_visitor(logged_in=False)
    page = visitor.open("explore")
    heading = page.get_by_role("heading", name="Sign in")
    expect(heading).to_be_visible()
    expect(page.get_by_text("fleetprof url --api ")).to_be_visible()
    assert violations(page) == []
    page.goto(visitor.server.login_url())
    expect(page.get_by_text("No machine is in the inventory yet")).to_be_visible()
    expect(heading).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(new_visitor: Callable, fleet: IngestedFleet, scheme: str):
    fleet.visit()
    fleet.stop("too many visits failed")
    visitor = new_visitor(color_scheme=scheme)
    page = visitor.open('explore?select={application=~".*"}')
    expect(page.get_by_role("grid")).to_contain_text("malloc")
    expect(page.locator("section.flame .details")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys and words")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("f")
    expect(page.get_by_role("option").first).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_label("find a function").fill("parse")
    expect(page.locator(".found")).to_be_visible()
    page.get_by_role("grid").get_by_text("parse", exact=True).click()
    expect(page.locator(".drawer .series-plot")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Control+k")
    page.keyboard.type("mallo")
    expect(page.get_by_role("listbox", name="results").get_by_role("option").first).to_contain_text("malloc")
    assert violations(page) == []
    page.goto(f"{visitor.server.url}/explore?focus=no+such+function&view=table")
    expect(page.get_by_text("No samples in this selection.")).to_be_visible()
    expect(page.get_by_text("Keeping stacks containing")).to_be_visible()
    assert violations(page) == []


def test_the_theme_follows_the_system_until_somebody_chooses(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    page = new_visitor(color_scheme="dark").open("explore")
    html = page.locator("html")
    expect(page.get_by_role("grid")).to_contain_text("malloc")
    expect(html).to_have_css("background-color", DARK)
    page.emulate_media(color_scheme="light")
    expect(html).to_have_css("background-color", LIGHT)
    page.locator("body").press("t")
    expect(html).to_have_css("background-color", DARK)
    page.reload()
    expect(html).to_have_css("background-color", DARK)
    page.get_by_role("button", name="use light colours").click()
    page.reload()
    expect(html).to_have_css("background-color", LIGHT)
