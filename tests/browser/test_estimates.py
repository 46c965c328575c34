"""What the pages say of how sure the numbers are: as the API has it, seen, heard and in every measure."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import PRICE, Visitor
from tests.browser.fetch_answers import answer_to
from tests.browser.ingested import IngestedFleet, Seen
from tests.browser.test_results import expect_place, row
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow

POPULATION = 1000
VISITS = 14


@pytest.fixture
def fleet(engine: Engine) -> IngestedFleet:
    """A thousand machines, 14 of which were visited; each saw `malloc` differently, one of them `rare`."""
    fleet = IngestedFleet(engine, POPULATION)
    for k in range(VISITS):  # all of them before the last whole minute, which is `now` of a page
        seen = Seen(malloc=30 + 3 * (k % 7), rare=5 if k == 0 else 0)
        fleet.visit(f"web-{k:02}", ago=timedelta(seconds=60 + 5 * k), seen=seen)
    return fleet


@pytest.fixture
def page(visitor: Visitor, fleet: IngestedFleet) -> Page:
    # Not `now`, which moves on while a test runs.
    end = datetime.now(UTC)
    start, to = (f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in (end - timedelta(hours=1), end))
    opened = visitor.open(f"explore?from={start}&to={to}")
    expect(row(opened, "malloc")).to_be_visible()
    return opened


def answer(page: Page, function: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of this function and the totals, as the API gives them to this page's visitor for the page's minute."""
    asked = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    shown = next(url for url in reversed(asked) if urlsplit(url).path == "/api/v1/table")
    times = {name: parse_qs(urlsplit(shown).query)[name][0] for name in ("from", "to")}
    document = answer_to(page, "table", find=function, **times)
    return document["rows"][0], document["totals"]


def self_cell(page: Page, function: str) -> Locator:
    return row(page, function).locator(".amount").first


def headline(page: Page) -> Locator:
    return page.locator(".about-numbers")


def test_shares_stand_with_their_intervals_for_eyes_and_ears(page: Page):
    malloc, _ = answer(page, "malloc")
    assert malloc["self_lo"] < malloc["self_share"] < malloc["self_hi"]
    share, lo, hi = (f"{100 * malloc[name]:.2f}" for name in ("self_share", "self_lo", "self_hi"))
    cell = self_cell(page, "malloc")
    expect(cell).to_contain_text(f"{share} %")
    expect(cell.locator(".sr-only")).to_have_text(f"self {share} %, 95 % interval {lo} to {hi} %")
    whisker = cell.locator(".range").bounding_box()
    bar = cell.locator(".bar").bounding_box()
    assert whisker is not None
    assert bar is not None
    assert whisker["x"] < bar["x"] + bar["width"] < whisker["x"] + whisker["width"]
    row(page, "malloc").hover()
    details = page.locator(".row-details")
    expect(details).to_contain_text(f"{share} % ({lo}–{hi})")
    expect(details).to_contain_text(f"seen in {VISITS} profiles, {VISITS} machines")
    page.get_by_role("button", name="Intervals").click()
    expect(row(page, "malloc").locator(".interval").first).to_have_text(f"{lo}–{hi}")


def test_the_headline_says_what_stands_behind_the_numbers(page: Page):
    _, totals = answer(page, "malloc")
    cores = round(totals["cores"]["value"])
    expect(headline(page)).to_contain_text(f"≈ {cores:,} cores")
    # The campaign drew visits in the running hour only, so the covered part of the range depends on the minute.
    covered = totals["covered_seconds"] / totals["selected_seconds"]
    expect(headline(page).locator(".warn")).to_have_count(1 if covered < 0.9 else 0)
    headline(page).get_by_role("button").click()
    about = page.get_by_role("dialog", name="about these numbers")
    expect(about).to_contain_text("over 1 h on 1,000 machines")
    expect(about).to_contain_text(f"{VISITS} profiles planned, {VISITS} received")
    expect(about).to_contain_text(re.compile("no data for [0-9]+ % of this range|data for the whole range"))


def test_rows_that_few_visits_decide_are_marked_and_explained(page: Page):
    rare = row(page, "rare")
    expect(rare.locator(".badge.low_confidence")).to_be_visible()
    expect(self_cell(page, "rare").locator(".sr-only")).to_contain_text(
        "One or two profiles contribute most of this row"
    )
    expect(row(page, "malloc").locator(".badge.low_confidence")).to_have_count(0)
    rare.hover()
    expect(page.locator(".row-details .warn")).to_contain_text("One or two profiles")


def test_the_measure_is_one_switch_and_in_the_address(page: Page):
    malloc, totals = answer(page, "malloc")
    measure = page.get_by_role("combobox", name="unit")
    measure.select_option("machines")
    expect_place(page, measure="machines")
    expect(self_cell(page, "malloc")).to_contain_text(f"{round(POPULATION * malloc['self_share'])}")
    page.reload()
    expect(self_cell(page, "malloc").locator(".sr-only")).to_have_text(
        re.compile(r"self \d+ machines \(equivalent\), 95 % interval \d+ to \d+")
    )
    expect(measure.get_by_role("option", name="cost")).to_be_attached()  # from then on the key reaches it
    page.locator("body").press("u")
    expect(measure).to_have_value("money")
    costs = malloc["self_core_seconds"]["value"] / 3600 * PRICE
    expect(self_cell(page, "malloc").locator(".sr-only")).to_contain_text("a cost of")
    # Seconds have gone by between the two answers, and the covered time grows with them.
    assert float(self_cell(page, "malloc").locator("b").inner_text()) == pytest.approx(costs, rel=0.5)
    page.locator("body").press("u")
    expect_place(page, measure=None)
    expect(self_cell(page, "malloc")).to_contain_text("%")
    assert totals["population"] == POPULATION


def test_frames_have_the_design_effect_of_their_function(page: Page):
    box = page.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 1.5 * 19)  # `main`, below the root
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 3.5 * 19)  # `parse`
    tooltip = page.locator(".tooltip")
    expect(tooltip).to_contain_text(re.compile(r"total\d+\.\d\d % \(\d+\.\d\d–\d+\.\d\d\)"))
    expect(page.locator("section.flame .bar-bottom")).to_contain_text("of the range with data")
    page.locator("canvas").press("ArrowDown")
    page.locator("canvas").press("ArrowDown")
    expect(page.locator("section.flame .details")).to_contain_text("design effect of the function")
    expect(page.locator("section.flame [aria-live=polite]")).to_contain_text("95 % interval")


def test_visits_by_hand_claim_nothing_for_the_fleet(visitor: Visitor, fleet: IngestedFleet):
    fleet.visit("web-01", by_hand=True)
    page = visitor.open("explore?campaign=by-hand")
    expect(headline(page)).to_contain_text("1 profile requested by hand, not drawn at random")
    expect(row(page, "malloc").locator(".range")).to_have_count(0)
    expect(self_cell(page, "malloc")).to_contain_text("self 26.67 %")


def test_two_profiles_have_no_interval_anywhere(visitor: Visitor, engine: Engine):
    fleet = IngestedFleet(engine, POPULATION)
    fleet.visit("web-01")
    fleet.visit("web-02")
    page = visitor.open("explore")
    expect(headline(page)).to_contain_text("not enough profiles yet")
    expect(headline(page)).not_to_contain_text("cores")
    expect(row(page, "malloc")).to_contain_text("26.67 %")
    expect(row(page, "malloc").locator(".range")).to_have_count(0)
    expect(page.locator("section.flame .details")).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("95 % interval")
    page.get_by_role("button", name="Intervals").click()
    expect(row(page, "malloc").locator(".interval").first).not_to_contain_text("–")
    fleet.visit("web-03")
    page.get_by_title("The page shows profiles up to this time").click()
    expect(row(page, "malloc").locator(".range").first).to_be_attached()


def test_values_beyond_those_sent_are_found(visitor: Visitor, fleet: IngestedFleet):
    for k in range(40):  # more than the 50 that are sent, with the 14
        fleet.visit(f"db-{k:02}")
    page = visitor.open("explore")
    expect(row(page, "malloc")).to_be_visible()
    page.keyboard.press("f")
    picker = page.get_by_role("dialog", name="add a filter")
    picker.get_by_role("button", name="machine", exact=True).click()
    expect(picker).to_contain_text("more; type to find them")
    picker.get_by_label("find machine").fill("db-39")
    values = picker.get_by_role("listbox", name="values").get_by_role("option")
    expect(values).to_have_count(1)
    values.click()
    expect(page.locator(".chip", has_text="machine = db-39")).to_be_visible()
    expect(row(page, "malloc")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_how_sure_it_is(
    new_visitor: Callable[..., Visitor], fleet: IngestedFleet, scheme: str
):
    page = new_visitor(color_scheme=scheme).open("explore?measure=cores&sort=-total")
    expect(row(page, "malloc")).to_be_visible()
    row(page, "rare").hover()
    expect(page.locator(".row-details .warn")).to_be_visible()
    assert violations(page) == []
