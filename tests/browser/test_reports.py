"""The reports: one page for all models, whose parameters are in the URL, and the code that applications share."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.ingested import IngestedFleet
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow


def opened(visitor, path: str) -> Page:
    visitor.page.goto(f"{visitor.server.url}{path}")
    return visitor.page


def test_the_index_leads_to_every_report_and_keeps_the_selection(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = opened(visitor, "/reports?from=now-2d")
    links = page.locator(".report-groups a")
    expect(links).to_have_count(19)  # 17 models, shared code and the reliability
    page.get_by_role("link", name="What would faster hardware for some functions save?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "What would faster hardware for some functions save?"
    )
    assert page.url.endswith("/reports/feature?from=now-2d")


def test_a_report_answers_in_a_sentence_and_its_fields_are_in_the_url(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = opened(visitor, "/reports/feature?functions=%5Emalloc%24")
    sentence = page.locator(".report-sentence")
    expect(sentence).to_contain_text("use 26.67 %")  # 40 of 150 samples
    expect(sentence).to_contain_text("made 2 times as fast, they save 13.33 %")
    expect(page.get_by_role("img", name="Share of CPU time: malloc")).to_be_visible()
    speedup = page.get_by_label("Speedup")
    speedup.fill("4")
    speedup.press("Enter")
    expect(sentence).to_contain_text("they save 20.00 %")
    assert "speedup=4" in page.url
    assert "functions=^malloc$" in page.url.replace("%5E", "^").replace("%24", "$")
    page.go_back()
    expect(sentence).to_contain_text("they save 13.33 %")
    expect(speedup).to_have_value("2")


def test_a_chart_has_a_table_of_the_same_numbers(visitor, fleet: IngestedFleet):
    page = opened(visitor, "/reports/frequency-times")  # reads no profiles
    expect(page.locator(".report-sentence")).to_contain_text("down to 2,111 MHz (2,063–2,150)")
    expect(page.locator(".report-naive")).to_contain_text("1/f")
    page.get_by_role("button", name="Table").click()
    table = page.get_by_role("region", name="Slowdown by frequency: table")
    expect(table.get_by_role("row")).to_have_count(7)  # a heading and 6 frequencies
    expect(table.get_by_role("row").nth(1)).to_contain_text("MHz")


def test_without_an_answer_the_report_gives_the_reason_and_the_command(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = opened(visitor, "/reports/frequency")
    expect(page.locator(".report-none")).to_contain_text("There is no answer yet.")
    expect(page.locator(".report-none code").first).to_have_text(
        "fleetprof campaigns set fleet --event cpu --event llc-misses"
    )
    expect(page.locator(".chart")).to_have_count(0)
    page.get_by_role("link", name="slowdowns fitted to machines at several frequencies").click()
    expect(page).to_have_url(f"{visitor.server.url}/reports/frequency-fit")


def test_an_unknown_kind_is_no_page(visitor, fleet: IngestedFleet):
    page = opened(visitor, "/reports/weather")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".report-form")).to_have_count(0)


def test_shared_code_computes_a_saving_without_a_request(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = opened(visitor, "/shared-code?saving=50")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    slider = page.get_by_role("slider")
    expect(slider).to_have_value("50")
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if "/shared-code" in r.url else None)
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("Saving: 51 % of this code")).to_be_visible()
    assert "saving=51" in page.url
    assert asked == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_reports_are_accessible(new_visitor, fleet: IngestedFleet, scheme: str):
    fleet.visit()
    visitor = new_visitor(color_scheme=scheme)
    for path, ready in (
        ("/reports", ".report-groups a"),
        ("/reports/feature?functions=%5Emalloc%24", ".chart-plot"),
        ("/reports/frequency-times", ".chart-plot"),
        ("/reports/composition", ".chart-plot"),
        ("/reports/frequency", ".report-none"),
        ("/shared-code", ".shared-sum"),
    ):
        page = opened(visitor, path)
        expect(page.locator(ready).first).to_be_visible()
        assert violations(page) == [], path
