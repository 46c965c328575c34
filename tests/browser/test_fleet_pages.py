"""The pages about the fleet: machines, campaigns, status and settings."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from services.api.tokens import Role
from tests.browser.ingested import IngestedFleet
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow

PAGES = ("machines", "machines/web-01", "campaigns?campaign=fleet", "status", "settings")
PHONE = {"width": 390, "height": 844}


def test_machines_are_found_sorted_and_opened_and_back_undoes(visitor, fleet: IngestedFleet):
    fleet.visit()
    fleet.draw("db-07")
    page = visitor.open("machines")
    expect(page.get_by_role("row")).to_have_count(3)
    expect(page.get_by_role("row", name="web-01")).to_contain_text("OK")
    expect(page.get_by_role("row", name="db-07")).to_contain_text("no profile yet")
    page.get_by_role("button", name="no profile yet 1").click()
    expect(page.get_by_role("row")).to_have_count(2)
    assert "state=never_visited" in page.url
    page.go_back()
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("button", name="Machine", exact=True).press("Enter")
    expect(page.get_by_role("rowheader").first).to_have_text("web-01")
    assert "sort=-name" in page.url
    page.get_by_label("find a machine").fill("db-")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_label("find a machine").fill("")
    page.get_by_role("link", name="web-01").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("web-01")
    expect(page.get_by_role("region", name="Hottest functions").first).to_contain_text("malloc")
    expect(page.get_by_role("region", name="profiles of this machine")).to_contain_text("processed")


def test_without_a_collector_a_requested_profile_is_refused_with_the_servers_words(
    new_visitor: Callable, fleet: IngestedFleet
):
    fleet.visit()
    page = new_visitor().open("machines/web-01")
    page.get_by_role("button", name="Profile this machine now").click()
    expect(page.get_by_role("alert")).to_contain_text("fleetprof collector")


def test_an_unknown_machine_is_an_error_with_a_hint(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    page = new_visitor().open("machines/web-1")
    expect(page.get_by_role("alert")).to_contain_text("web-01")


def test_an_operator_stops_resumes_changes_and_creates_campaigns(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open("campaigns")
    panel = page.get_by_role("region", name="campaign fleet", exact=True)
    panel.get_by_role("button", name="Stop …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Stop the campaign fleet?")
    dialog.get_by_label("Reason").fill("A release is under way.")
    dialog.get_by_role("button", name="Stop the campaign").click()
    expect(panel).to_contain_text("paused")
    expect(panel).to_contain_text("A release is under way.")
    panel.get_by_role("button", name="Resume").click()
    expect(panel.get_by_role("button", name="Stop …")).to_be_visible()

    panel.get_by_role("button", name="Change").click()
    field = panel.get_by_label("Profiles per round")
    expect(field).to_have_value("1")
    field.fill("-1")
    panel.get_by_role("button", name="Save changes").click()
    expect(panel.get_by_role("alert").first).to_contain_text("Use a number from 0")
    field.fill("2")
    panel.get_by_role("button", name="Save changes").click()
    expect(panel).to_contain_text("2 profiles every")

    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("form", name="new campaign")
    form.get_by_label("Name").fill("kernels")
    form.get_by_label("Only machines with labels").fill("kernel=6.18.1")
    form.get_by_role("button", name="Create and start").click()
    expect(page.get_by_role("region", name="campaign kernels", exact=True)).to_contain_text("kernel=6.18.1")


def test_a_campaigns_hours_are_also_a_table(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open("campaigns")
    panel = page.get_by_role("region", name="campaign fleet", exact=True)
    panel.get_by_role("button", name="Table").click()
    expect(panel.get_by_role("row")).to_have_count(25)


def test_a_viewer_sees_why_changes_are_not_offered(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    page = new_visitor(role=Role.VIEWER).open("campaigns")
    expect(page.get_by_role("button", name="New campaign")).to_be_disabled()
    expect(page.get_by_text("This needs the role operator; your role is viewer.").first).to_be_visible()
    page.goto(page.url.replace("campaigns", "settings"))
    expect(page.get_by_role("region", name="session")).to_contain_text("viewer")
    expect(page.get_by_role("region", name="API tokens")).to_have_count(0)


def test_status_names_what_does_not_run(visitor, fleet: IngestedFleet):
    fleet.visit()
    fleet.stop("11 of the last 20 visits failed")
    page = visitor.open("status")
    expect(page.get_by_role("list", name="problems")).to_contain_text(
        "The campaign fleet is stopped. 11 of the last 20 visits failed"
    )


def test_an_administrator_manages_tokens_prices_and_views(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open("explore?view=table")
    page.get_by_role("button", name="Export ▾").click()
    page.get_by_role("button", name="Save view …").click()
    page.get_by_label("name of the view").fill("Hot functions")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("View saved.")).to_be_visible()
    page = visitor.open("settings")
    expect(page.get_by_role("link", name="Hot functions")).to_have_attribute("href", "/explore?view=table")
    page.get_by_role("button", name="delete Hot functions").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No view is saved.")).to_be_visible()

    tokens = page.get_by_role("form", name="new token")
    tokens.get_by_label("Name").fill("ci")
    tokens.get_by_role("button", name="Create a token").click()
    expect(tokens.get_by_role("status")).to_contain_text("which is shown only now")
    page.get_by_role("button", name="revoke ci").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("button", name="revoke ci")).to_have_count(0)

    prices = page.get_by_role("form", name="price of a platform")
    prices.get_by_label("Platform").fill("EPYC")
    prices.get_by_label("Price per core-hour").fill("0.04")
    prices.get_by_role("button", name="Set the price").click()
    expect(page.get_by_role("row", name="EPYC")).to_contain_text("0.04")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_the_pages_of_the_fleet(new_visitor: Callable, fleet: IngestedFleet, scheme: str):
    fleet.visit()
    visitor = new_visitor(color_scheme=scheme)
    for path in PAGES:
        page = visitor.open(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("main .bone")).to_have_count(0)
        assert violations(page) == [], path


def test_no_page_of_the_fleet_is_wider_than_a_phone(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    visitor = new_visitor(viewport=PHONE)
    for path in PAGES:
        page = visitor.open(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("main .bone")).to_have_count(0)
        width = page.evaluate("Math.max(...['main', 'html'].map(e => document.querySelector(e).scrollWidth))")
        assert width <= PHONE["width"], path
