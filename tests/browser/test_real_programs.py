"""The pages over real profiles: `fleetprof up` on this machine, C++ with debug data, Go, Node.js and CPython under load."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from services.deployment.preflight import judge, read_facts
from tests.browser.real_stack import Stack, programs_under_load, running_stack
from tests.browser.test_states import violations

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SLOW_MS = 60_000
ENOUGH = 150
"""Samples of each program."""


@pytest.fixture(scope="module")
def applications(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    verdict = judge(read_facts())
    if verdict.problem is not None:
        pytest.skip(verdict.problem)
    with programs_under_load(tmp_path_factory.mktemp("programs")) as names:
        yield names


@pytest.fixture(scope="module")
def stack(applications: list[str], built_pages: None) -> Iterator[Stack]:
    with running_stack() as running:
        deadline = time.monotonic() + 300
        while min(counts := [samples_of(running, name) for name in applications]) < ENOUGH:
            assert time.monotonic() < deadline, dict(zip(applications, counts, strict=True))
            time.sleep(5)
        yield running


def samples_of(stack: Stack, application: str) -> int:
    return stack.answer("/api/v1/table", select=f'{{application="{application}"}}')["totals"]["samples"]


def function_of(stack: Stack, name: str, binary: str) -> int:
    """Id of the hottest function that contains the name."""
    select = f'{{binary="{binary}"}}'
    rows = stack.answer("/api/v1/table", by="function,binary", find=name, select=select, limit=50)["rows"]
    return next(row["function_id"] for row in rows if row["key"]["binary"] == binary)


@pytest.fixture(scope="module")
def page(stack: Stack, chromium: Browser) -> Iterator[Page]:
    """Signed in by a link; each test uses the same tab."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(SLOW_MS)
    expect.set_options(timeout=SLOW_MS)
    page = context.new_page()
    page.goto(stack.login_url())
    expect(page.get_by_role("heading", name="Fleet", exact=True)).to_be_visible()
    yield page
    context.close()


def region(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True).first


def settled(page: Page) -> None:
    """Every panel has its answer."""
    page.wait_for_load_state("networkidle", timeout=SLOW_MS)
    expect(page.locator("[aria-busy=true], .skeleton")).to_have_count(0)


def test_three_clicks_lead_from_the_fleet_to_the_hottest_line_of_a_cpp_program(page: Page, stack: Stack):
    page.goto(f"{stack.url}/?from=now-15m")
    region(page, "Services").get_by_role("link", name="All").wait_for()
    clicked = 0
    for place, name in (
        ("Services", "catalog-search"),
        ("Hottest functions", "edit_distance"),
        ("hot lines", re.compile(r"index\.cpp:\d+")),
    ):
        region(page, place).get_by_role("link", name=name).first.click()
        clicked += 1
    assert clicked <= 3
    expect(page).to_have_url(re.compile(r"/source/catalog-search\?.*line=\d+"))
    expect(page.get_by_role("heading", name=re.compile("index.cpp"))).to_be_visible()


def test_a_missing_source_is_shown_after_the_command_that_the_page_prints(page: Page, stack: Stack):
    page.goto(f"{stack.url}/source/catalog-search")
    page.get_by_role("link", name=re.compile("index.cpp")).click()
    expect(page.get_by_text("No source text of this file.")).to_be_visible()
    command = page.locator(".state code").inner_text()
    done = subprocess.run(
        command, shell=True, env=stack.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    page.reload()
    table = page.get_by_role("table", name=re.compile("source of"))
    expect(table.locator(".syntax-keyword").first).to_be_visible()
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(r"line=\d+"))
    expect(table.locator('[aria-current="true"]')).to_contain_text("%")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    page.emulate_media(color_scheme=None)


@pytest.mark.parametrize(
    ("function", "binary", "file"),
    [
        ("edit_distance", "catalog-search", "index.cpp"),
        ("flate.(*compressor).", "orders-export", "deflate.go"),
    ],
)
def test_instructions_are_below_their_source_lines(
    page: Page, stack: Stack, function: str, binary: str, file: str
):
    page.goto(f"{stack.url}/asm/{binary}/{function_of(stack, function, binary)}")
    table = page.get_by_role("table", name="instructions of the function")
    expect(table.locator(".asm-row.line", has_text=f"{file}:").first).to_be_visible()
    page.keyboard.press("n")
    chosen = table.locator('[aria-current="true"]')
    expect(chosen).to_contain_text("%")
    jump = table.locator(".instruction", has=page.locator(".link")).first
    expect(jump).to_contain_text(re.compile(r"^j\w+\s+0x[0-9a-f]+ [↑↓]"))
    target = jump.locator(".link").inner_text()
    jump.locator(".link").click()
    expect(chosen.locator(".address")).to_have_text(target)
    page.go_back()
    expect(chosen).not_to_contain_text(target)


def pages_of(stack: Stack) -> dict[str, str]:
    """Paths and headings of the pages."""
    machine = stack.answer("/api/v1/machines")["machines"][0]["name"]
    edit_distance = function_of(stack, "edit_distance", "catalog-search")
    return {
        "/": "",
        "/explore": "",
        "/explore?view=table&by=application": "",
        "/explore?view=sandwich&fn=" + str(edit_distance): "",
        "/service/catalog-search": "catalog-search",
        "/service/shop.mjs": "shop.mjs",
        f"/fn/{edit_distance}": "edit_distance",
        "/source/catalog-search": "catalog-search",
        "/graph": "",
        f"/graph?focus_on={edit_distance}": "",
        "/compare": "",
        "/compare?base=previous": "",
        "/releases": "Releases",
        "/changes": "Changes",
        "/shared-code": "",
        "/reports": "Reports",
        "/machines": "Machines",
        f"/machines/{machine}": machine,
        "/campaigns": "Campaigns",
        "/symbols": "Symbols",
        "/status": "",
        "/settings": "Settings",
    }


def test_every_page_is_what_its_address_says(page: Page, stack: Stack):
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if m.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    before = ""
    for path, heading in pages_of(stack).items():
        page.goto(f"{stack.url}{path}")
        settled(page)
        if heading:
            expect(page.get_by_role("heading", level=1, name=re.compile(re.escape(heading)))).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        address, title = page.url, page.title()
        page.reload()
        settled(page)
        assert (page.url, page.title()) == (address, title), path
        if before:
            page.go_back()
            expect(page).to_have_url(before)
            page.go_forward()
            expect(page).to_have_url(address)
        before = address
        assert complaints == [], path


def test_the_question_of_a_page_works_in_a_shell(page: Page, stack: Stack, tmp_path: Path):
    (tmp_path / "home").mkdir()
    for path, copies in (
        ("/explore?view=table", ("Copy as curl", "Copy as Python", "Copy as fleetprof command")),
        ("/source/catalog-search", ("Copy as curl", "Copy as fleetprof command")),
        ("/reports/reliability", ("Copy as fleetprof command",)),
    ):
        page.goto(f"{stack.url}{path}")
        settled(page)
        for name in copies:
            page.get_by_role("button", name="Export").click()
            page.get_by_role("button", name=name).click()
            expect(page.get_by_text("copied.")).to_be_visible()
            copied = page.evaluate("navigator.clipboard.readText()")
            shell = ["python3", "-c", copied] if "Python" in name else ["bash", "-c", copied]
            done = subprocess.run(
                shell, env=stack.environment, capture_output=True, text=True, cwd=tmp_path, check=False
            )
            assert done.returncode == 0, f"{copied}\n{done.stdout}{done.stderr}"
            if "fleetprof" not in name:
                assert json.loads(done.stdout)["rows"]


def test_every_download_has_content(page: Page, stack: Stack):
    for path in ("/explore", "/source/catalog-search", "/releases"):
        page.goto(f"{stack.url}{path}")
        settled(page)
        page.get_by_role("button", name="Export").click()
        items = page.locator(".menu-title ~ span button")
        formats = items.all_inner_texts()
        page.keyboard.press("Escape")
        for form in formats:
            page.get_by_role("button", name="Export").click()
            with page.expect_download(timeout=120_000) as download:
                items.get_by_text(form, exact=True).click()
            assert download.value.path().stat().st_size > 0, (path, form)
    page.goto(f"{stack.url}/graph")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download DOT").click()
    assert download.value.path().read_text().startswith("digraph")


def test_this_machine_is_profiled_on_request(page: Page, stack: Stack):
    page.goto(f"{stack.url}/machines/{stack.answer('/api/v1/machines')['machines'][0]['name']}")
    page.get_by_role("button", name="Profile this machine now").click()
    page.get_by_role("link", name="Show it").click(timeout=180_000)
    expect(page).to_have_url(re.compile(r"/explore\?"))
    expect(page.get_by_role("grid", name="table by function")).to_be_visible()


def test_pages_work_with_the_keyboard_alone(page: Page, stack: Stack):
    page.goto(f"{stack.url}/")
    settled(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("edit_distance")
    expect(page.get_by_role("option", name=re.compile("edit_distance")).first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name=re.compile("edit_distance"))).to_be_visible()
    hot = region(page, "hot lines").get_by_role("link").first
    for _ in range(120):
        if hot.evaluate("link => link === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/source/catalog-search\?.*line=\d+"))
    page.keyboard.press("p")
    expect(page.locator('[aria-current="true"].source-row')).to_be_visible()


def test_dragging_over_a_chart_zooms_in_and_back_undoes_it(page: Page, stack: Stack):
    page.goto(f"{stack.url}/fn/{function_of(stack, 'edit_distance', 'catalog-search')}")
    canvas = page.locator(".series-plot canvas")
    expect(canvas).to_be_visible()
    box = page.locator(".series-plot .u-over").bounding_box()
    assert box is not None
    address = page.url
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.99 * box["width"], box["y"] + 40, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("from=.*to="))
    page.go_back()
    expect(page).to_have_url(address)
