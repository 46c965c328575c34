"""What every page of webui/src/app/pages.ts has in common: it fits its window, everybody can read it, and its URL is
its state."""

import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import Visitor
from tests.browser.fetch_answers import answer_to
from tests.browser.ingested import IngestedFleet, Seen
from tests.browser.test_results import expect_place, rows
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow

PAGES = Path(__file__).parents[2] / "webui" / "src" / "app" / "pages.ts"
PATHS = re.findall(r"\bpage\('([^']+)'", PAGES.read_text())
PHONE = {"width": 390, "height": 844}
LAPTOP = {"width": 1366, "height": 768}
PARTS = {":app": "search", ":binary": "search", ":kind": "capacity", ":name": "new-0"}
"""Of paths; functions have numbers, which the database gives."""


@pytest.fixture
def fleet(engine: Engine) -> IngestedFleet:
    """Two versions of `search` and enough functions for a full screen of rows."""
    fleet = IngestedFleet(engine, 1000)
    for k in range(4):
        ago = timedelta(seconds=60 + 5 * k)
        fleet.visit(f"old-{k}", ago=ago, seen=Seen(malloc=20 + k, version="v1"))
        fleet.visit(f"new-{k}", ago=ago, seen=Seen(malloc=45 + k, version="v2"))
    return fleet


def opened(visitor: Visitor, path: str, query: str = "") -> Page:
    """The page of this pattern, when it has loaded."""
    page, aside = visitor.page, visitor.page.context.new_page()
    aside.goto(f"{visitor.server.url}/healthz")  # the API is asked from the server's origin
    row = answer_to(aside, "table", find="malloc")["rows"][0]
    aside.close()
    for name, value in {**PARTS, ":id": row["function_id"], ":fn": row["function_id"]}.items():
        path = path.replace(name, quote(str(value)))
    page.goto(f"{visitor.server.url}{path}{query}")
    expect(page.locator("main:not(.page-loading)")).to_be_visible()
    expect(page.locator("main")).not_to_have_attribute("aria-busy", "true")
    return page


def overflowing(page: Page) -> list[str]:
    """The elements that make the page wider than its window, or scroll sideways in the shell."""
    found: list[str] = page.evaluate(
        """() => {
          const wide = document.documentElement.scrollWidth > innerWidth ? ['the page'] : [];
          const shell = [...document.querySelectorAll('.nav, .selection-bar, main')];
          const scrolls = shell.filter((e) => e.scrollWidth > e.clientWidth + 1);
          return [...wide, ...scrolls.map((e) => e.className)];
        }"""
    )
    return found


def test_the_list_of_pages_is_read():
    assert {"/", "/explore", "/machines/:name", "/settings"} <= set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_no_page_scrolls_sideways(new_visitor, fleet: IngestedFleet, path: str):
    page = opened(new_visitor(viewport=PHONE), path)
    assert overflowing(page) == []
    page.set_viewport_size(LAPTOP)
    assert overflowing(page) == []


@pytest.mark.parametrize("path", PATHS)
def test_every_page_is_accessible_in_both_themes(new_visitor, fleet: IngestedFleet, path: str):
    page = opened(new_visitor(color_scheme="light"), path)
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []


STATES = {
    "/": ("charts=table", "cores busy over time: chart or table", "Table"),
    "/service/:app": ("charts=table", "CPU time over time, by version: chart or table", "Table"),
    "/fn/:id": ("charts=table", "malloc over time: chart or table", "Table"),
    "/campaigns": ("charts=table", "profiles of fleet in the last 24 hours: chart or table", "Table"),
    "/graph": ("as=list", "show", "List"),
    "/explore": ("view=flame", "view", "Flame graph"),
    "/compare": ("only=slower", "rows", "More"),
    "/reports/reliability": ("precision=5", "wanted precision", "±5 %"),
    "/machines": ("state=failing", "state", "failing"),
}
"""A choice on each page: the parameter in its URL, the group of buttons, and the button."""
QUERIES = {"/compare": '?select={version="v2"}&base_select={version="v1"}'}
"""Of pages that have the choice only with a query: all profiles are of the last day, so the day before has no rows."""


def chosen(page: Page, group: str, name: str) -> Locator:
    return page.get_by_role("group", name=group, exact=True).get_by_role("button", name=name).first


@pytest.mark.parametrize("path", STATES)
def test_a_choice_is_in_the_url_and_back_undoes_it(visitor: Visitor, fleet: IngestedFleet, path: str):
    parameter, group, name = STATES[path]
    key, value = parameter.split("=")
    page = opened(visitor, path, QUERIES.get(path, ""))
    button = chosen(page, group, name)
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect_place(page, **{key: value})
    expect(button).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.go_back()
    expect_place(page, **{key: None})
    expect(button).to_have_attribute("aria-pressed", "false")


def test_the_colours_of_the_flame_graph_are_in_the_url(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/explore", "?view=flame")
    colours = page.get_by_label("colour by")
    legend = page.get_by_role("list", name="colours")
    for value, word in (("application", "indexer"), ("kind", "library"), ("self", "100 % self")):
        colours.select_option(value)
        expect_place(page, colour=value)
        expect(legend).to_contain_text(word)
    page.reload()
    expect(colours).to_have_value("self")
    for _ in range(3):
        page.go_back()
    expect(colours).to_have_value("package")
    expect(legend).to_contain_text("kernel")


def test_the_users_of_shared_code_are_in_the_url(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/explore")
    malloc = answer_to(page, "table", find="malloc")["rows"][0]["function_id"]
    opened(visitor, "/shared-code", f"?users={malloc}")
    users = page.get_by_role("region", name=re.compile("^users of")).first
    expect(users).to_contain_text("search")
    users.get_by_role("button", name="Close").click()
    expect_place(page, users=None)
    page.go_back()
    expect(users).to_contain_text("search")


def test_a_phone_chooses_the_selection_in_a_sheet(new_visitor, fleet: IngestedFleet):
    page = opened(new_visitor(viewport=PHONE), "/explore", '?select={application="search"}')
    table = page.get_by_role("grid").bounding_box()
    assert table is not None
    assert table["y"] < PHONE["height"] / 2  # results are on the first screen
    summary = page.get_by_role("button", name="last 1 day · search")
    summary.click()
    sheet = page.get_by_role("dialog", name="selection")
    sheet.get_by_label("unit").select_option("cores")
    expect_place(page, measure="cores")
    sheet.get_by_role("button", name="remove the filter application = search").click()
    expect_place(page, select=None)
    sheet.get_by_role("button", name="+ Filter").click()
    page.get_by_label("find a value of any label").fill("indexer")
    page.get_by_role("option", name="indexer").first.click()
    expect_place(page, select=re.compile("indexer"))
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_a_phone_has_all_pages_in_one_menu(new_visitor, fleet: IngestedFleet):
    page = opened(new_visitor(viewport=PHONE), "/explore")
    page.get_by_role("button", name="Explore ▾").click()
    page.get_by_role("dialog", name="all pages").get_by_role("link", name="Machines").click()
    expect(page.get_by_role("heading", name="Machines", exact=True)).to_be_visible()


def test_a_laptop_shows_eighteen_rows(new_visitor, fleet: IngestedFleet):
    """As far as there are rows: the room of the table is measured."""
    page = opened(new_visitor(viewport=LAPTOP), "/explore", "?view=table")
    height = rows(page).first.bounding_box()
    room = page.get_by_role("grid").evaluate(
        "grid => grid.clientHeight - grid.firstElementChild.offsetHeight"
    )
    assert height is not None
    assert room // height["height"] >= 18


def test_the_last_column_of_the_releases_is_in_sight(new_visitor, fleet: IngestedFleet):
    page = opened(new_visitor(viewport=LAPTOP), "/releases")
    link = page.get_by_role("row").filter(has_text="search").get_by_role("link", name="Compare")
    box = link.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= LAPTOP["width"]


def test_settings_have_the_colours(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/settings")
    scheme = "document.documentElement.style.colorScheme"
    chosen(page, "colours", "Dark").click()
    assert page.evaluate(scheme) == "dark"
    page.reload()
    expect(chosen(page, "colours", "Dark")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(scheme) == "dark"
    chosen(page, "colours", "As the system").click()
    assert page.evaluate(scheme) == "light"


def test_a_saved_view_is_listed_with_its_page_and_on_it(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/explore", "?sort=-total")
    page.get_by_role("button", name="Export ▾").click()
    page.get_by_role("button", name="Save view …").click()
    page.get_by_label("name of the view").fill("hot callers")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("View saved.")).to_be_visible()
    opened(visitor, "/settings")
    row = page.get_by_role("row").filter(has_text="hot callers")
    expect(row).to_contain_text("Explore")
    expect(row).to_contain_text("/v/")
    opened(visitor, "/explore")
    page.get_by_role("button", name="Export ▾").click()
    page.get_by_role("link", name="hot callers").click()
    expect_place(page, sort="-total")


def test_the_status_has_the_versions(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/status")
    versions = page.get_by_role("region", name="versions")
    status = answer_to(page, "status")["versions"]
    expect(versions).to_contain_text(status["api"])
    expect(versions).to_contain_text(status["schema"])
    expect(versions).to_contain_text("Gateways")


def test_a_campaign_is_changed_with_several_events(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/campaigns")
    page.get_by_role("button", name="Change", exact=True).click()
    form = page.get_by_role("form", name="change fleet")
    form.get_by_role("button", name="Add an event").click()
    second = form.get_by_role("group", name="Event 2")
    second.get_by_role("textbox", name="Event").first.fill("page-faults")
    expect(second.get_by_label("Samples per second and CPU")).to_have_value("0")
    second.get_by_label("Turn").fill("1")
    form.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("Campaign changed.")).to_be_visible()
    events = answer_to(page, "campaigns")["campaigns"][0]["events"]
    assert [(event["event"], event["turn"]) for event in events] == [("cpu", 0), ("page-faults", 1)]
