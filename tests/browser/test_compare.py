"""Two selections side by side, and how far a profile can be trusted as a whole."""

import math
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from analysis.convergence import Curve
from tests.browser.conftest import Visitor
from tests.browser.fetch_answers import answer_to
from tests.browser.ingested import IngestedFleet, Seen
from tests.browser.test_results import expect_place, row, rows
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow

OLD = "v1"
NEW = "v2"
VERSIONS = f'select={{version="{NEW}"}}&base_select={{version="{OLD}"}}&base_from=now-24h&base_to=now'
VISITS = 9
"""Of each release."""


@pytest.fixture
def fleet(engine: Engine) -> IngestedFleet:
    """Two releases of `search`; the new one spends twice as much in `malloc`, the less in its caller, and one old visit saw `rare`."""
    fleet = IngestedFleet(engine, 1000)
    for k in range(VISITS):
        ago = timedelta(seconds=60 + 5 * k)
        fleet.visit(f"old-{k}", ago=ago, seen=Seen(malloc=20 + k, version=OLD, rare=2 if k == 0 else 0))
        fleet.visit(f"new-{k}", ago=ago, seen=Seen(malloc=45 + k, version=NEW))
    return fleet


def test_two_versions_are_compared_from_their_row(visitor: Visitor, fleet: IngestedFleet):
    page = visitor.open("explore?by=version&view=table")
    row(page, NEW).click(button="right")
    page.get_by_role("menuitem", name=f"Compare with {OLD}").click()
    sides = page.locator(".sides .side")
    expect(sides.first).to_contain_text(f"version = {NEW}")
    expect(sides.last).to_contain_text(f"version = {OLD}")
    expect_place(page, base_select=f'{{version="{OLD}"}}')
    page.get_by_role("button", name="self", exact=True).click()
    expect_place(page, column="self")
    expect(page.locator("main")).to_have_attribute("aria-busy", "false")

    malloc = row(page, "malloc")
    expect(malloc).to_have_class(re.compile(r"\bmore\b"))
    expect(malloc).to_contain_text("▲")
    expect(malloc.locator(".sr-only").last).to_have_text(
        re.compile(r"\+\d+\.\d\d percentage points, interval \+\d.*; q (=|<) 0\.0\d*: significant")
    )
    rare = row(page, "rare")
    expect(rare).to_have_class(re.compile(r"\bunsure\b"))
    expect(rare).to_contain_text("gone")
    rare.hover()
    expect(page.locator(".row-details")).to_contain_text("not significant")
    expect(page.locator(".verdict")).to_contain_text("rows changed significantly")
    expect(page.locator(".verdict")).to_contain_text("% of the time")
    expect(row(page, "parse")).to_contain_text("▼")

    page.get_by_role("button", name="swap the sides").click()
    expect(row(page, "malloc")).to_have_class(re.compile(r"\bless\b"))
    expect_place(page, select=f'{{version="{OLD}"}}')
    page.go_back()
    expect(row(page, "malloc")).to_have_class(re.compile(r"\bmore\b"))
    page.get_by_role("button", name="total", exact=True).click()
    expect(row(page, "parse")).to_contain_text("not significant")  # with malloc it takes as long as before
    row(page, "malloc").click()
    expect(page.get_by_role("heading", name="malloc", exact=True)).to_be_visible()


def test_rows_are_chosen_and_sorted_in_any_unit(visitor: Visitor, fleet: IngestedFleet):
    page = visitor.open(f"compare?{VERSIONS}&column=self&measure=cores")
    expect(page.get_by_role("columnheader", name="change (cores)")).to_be_visible()
    expect(row(page, "parse")).to_have_class(re.compile(r"\bless\b"))
    page.get_by_role("button", name="More", exact=True).click()
    expect(row(page, "parse")).to_have_count(0)
    expect_place(page, only="slower")
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("columnheader", name="function").get_by_role("button").click()
    expect(rows(page).first).to_contain_text("do_syscall_64")
    expect_place(page, sort="name")


def test_call_paths_of_both_sides_are_one_graph(visitor: Visitor, fleet: IngestedFleet):
    page = visitor.open(f"compare?{VERSIONS}&view=flame")
    expect(page.locator("canvas")).to_be_visible()
    expect(page.get_by_role("list", name="colours")).to_contain_text("or gone")
    page.locator("canvas").focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".details .name")).to_have_text("malloc")
    expect(page.locator(".details")).to_contain_text("×2.")
    page.keyboard.press("Enter")
    expect_place(page, node=re.compile("."))
    page.go_back()
    expect_place(page, node=None)
    page.get_by_role("button", name="Call graph").click()
    expect(page.get_by_role("table", name="functions of the graph")).to_contain_text("malloc")


def test_a_base_without_samples_is_said(visitor: Visitor, fleet: IngestedFleet):
    page = visitor.open("compare?from=now-15m")
    expect(page.get_by_text("There are no samples before.")).to_be_visible()
    page.get_by_role("button", name="Other base…").click()
    picker = page.get_by_role("dialog", name="another base")
    picker.get_by_label("Filters").fill('{application="search"}')
    picker.get_by_role("button", name="In the selection’s time range").click()
    expect(page.locator(".sides .side").first).to_contain_text("all")
    expect(page.locator(".sides .side").last).to_contain_text("application = search")
    expect(rows(page).first).to_be_visible()


def test_nothing_is_judged_without_a_base(visitor: Visitor, fleet: IngestedFleet):
    page = visitor.open('compare?base_select={version="none"}')
    expect(page.get_by_text("There are no samples before.")).to_be_visible()
    expect(page.get_by_text("rows changed significantly")).to_have_count(0)


def test_the_profile_says_how_many_visits_it_needs(visitor: Visitor, fleet: IngestedFleet):
    page = visitor.open("reports/reliability")
    expect(page.locator(".plot")).to_be_visible()
    answer = answer_to(page, "reliability")
    expect(page.locator(".cards")).to_contain_text(f"{answer['entropy']['value']:.2f} nats")
    expect(page.locator(".cards")).to_contain_text(f"{answer['manhattan']['value']:.3f}")
    fit = answer["fit"]
    page.get_by_role("button", name="±2 %").click()
    ingested = answer["totals"]["visits_ingested"]
    assert fit["visits"] == ingested == 2 * VISITS
    more = needed_visits(fit, 0.02) - ingested
    assert more > 0
    expect(page.locator(".convergence figcaption")).to_contain_text(
        f"{more:,} more visits of the campaign for ±2 %"
    )
    expect(page.locator(".plot .point")).to_have_count(len(fit["points"]))


def test_only_visits_that_have_the_selection_say_what_is_known(visitor: Visitor, fleet: IngestedFleet):
    page = visitor.open(f'reports/reliability?select={{version="{NEW}"}}')
    expect(page.locator(".plot")).to_be_visible()
    answer = answer_to(page, "reliability", select=f'{{version="{NEW}"}}')
    fit, ingested = answer["fit"], answer["totals"]["visits_ingested"]
    assert (fit["visits"], ingested) == (VISITS, 2 * VISITS)
    left = Curve(fit["scale"], fit["bend"]).distance(VISITS * fit["samples_per_visit"])
    caption = page.locator(".convergence figcaption")
    expect(caption).to_contain_text(
        f"Now: ±{100 * left:.1f} %, from the 9 of 18 visits with samples of the selection"
    )
    page.get_by_role("button", name="±2 %").click()
    more = 2 * (needed_visits(fit, 0.02) - VISITS)
    if more > 0:
        expect(caption).to_contain_text(f"{more:,} more visits of the campaign for ±2 %")
    page = visitor.open("reports/reliability?focus=rare")
    expect(page.locator(".reliability-body")).to_contain_text(
        "Fewer than 8 of 18 visits have samples of the selection"
    )


def needed_visits(fit: dict[str, Any], distance: float) -> int:
    return math.ceil(Curve(fit["scale"], fit["bend"]).samples(distance) / fit["samples_per_visit"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_comparisons(
    new_visitor: Callable[..., Visitor], fleet: IngestedFleet, scheme: str
):
    page: Page = new_visitor(color_scheme=scheme).open(f"compare?{VERSIONS}&column=self")
    row(page, "rare").hover()
    expect(page.locator(".row-details")).to_contain_text("not significant")
    assert violations(page) == []
    for view in ("Flame graph", "Call graph"):
        page.get_by_role("button", name=view).click()
        expect(page.locator("main")).to_have_attribute("aria-busy", "false")
        assert violations(page) == []
    page.goto(page.url.partition("/compare")[0] + "/reports/reliability")
    expect(page.locator(".plot")).to_be_visible()
    assert violations(page) == []


def test_lines_of_the_changed_function_are_compared(visitor: Visitor, fleet: IngestedFleet):
    page = visitor.open(f"compare?{VERSIONS}&view=lines")
    choice = page.get_by_label("lines of")
    expect(choice).to_contain_text("malloc")
    expect(page.locator(".state")).to_contain_text("has no lines")  # malloc is from a symbol table
    parse = choice.locator("option", has_text="parse").get_attribute("value")
    choice.select_option(value=parse)
    expect_place(page, view="lines", fn=parse)
    table = page.get_by_role("table", name="source lines before and after")
    expect(table.get_by_role("row", name=re.compile("parse.c:30"))).to_contain_text(
        re.compile(r"[+−]\d+\.\d\d")
    )
    page.go_back()
    expect_place(page, fn=None)
