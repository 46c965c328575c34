"""Table and flame graph over ingested samples: the same numbers, one selection, everything in the URL."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from tests.browser.ingested import IngestedFleet

pytestmark = pytest.mark.slow


def rows(page: Page) -> Locator:
    return page.get_by_role("grid").locator(".line.body")


def row(page: Page, name: str) -> Locator:
    return rows(page).filter(has=page.get_by_text(name, exact=True))


def expect_place(page: Page, **wanted: str | re.Pattern[str] | None) -> None:
    """The address comes to say this of these names, None: nothing; it follows the page's text by a moment."""

    def says(url: str) -> bool:
        place = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        return all(
            re.search(value, place.get(name, "")) is not None
            if isinstance(value, re.Pattern)
            else place.get(name) == value
            for name, value in wanted.items()
        )

    try:
        page.wait_for_url(says, wait_until="commit")
    except PlaywrightTimeoutError as error:
        raise AssertionError(f"{page.url} does not say {wanted}") from error


def said(page: Page) -> Locator:
    """What the flame graph announces about the selected frame."""
    return page.locator("section.flame [aria-live=polite]")


def numbers(page: Page) -> Locator:
    """The line on the data behind the page."""
    return page.locator(".about-numbers")


def drawer(page: Page) -> Locator:
    return page.get_by_role("complementary", name="function")


@pytest.fixture
def page(visitor, fleet: IngestedFleet) -> Page:
    fleet.visit("web-01")
    fleet.visit("web-02")
    opened = visitor.open("explore")
    expect(rows(opened).first).to_be_visible()
    return opened


def test_the_table_is_sorted_and_its_shares_are_those_ingested(page: Page):
    expect(rows(page)).to_have_count(8)
    expect(rows(page).locator(".name .text").first).to_have_text("index.<lambda>")
    expect(row(page, "malloc")).to_contain_text("26.67 %")  # 40 of 150, self and total
    expect(row(page, "parse")).to_contain_text("20.00 %")  # self: 30 of 150
    expect(row(page, "parse")).to_contain_text("46.67 %")  # total: 70 of 150, recursion counted once
    page.get_by_role("button", name="total").click()
    expect(rows(page).locator(".name .text").first).to_have_text("main")
    expect_place(page, sort="-total")
    expect(page.get_by_role("columnheader", name="total")).to_have_attribute("aria-sort", "descending")


def test_functions_without_names_are_marked(page: Page):
    expect(row(page, "libz.so+0x40").locator(".badge").first).to_have_text("no symbols")
    expect(row(page, "malloc")).not_to_contain_text("no symbols")


def test_a_line_says_what_stands_behind_the_numbers(page: Page):
    expect(numbers(page)).to_contain_text(
        "300 samples · 2 profiles · 86.6 % named"
    )  # 130 of 150, rounded down
    expect(numbers(page)).to_contain_text("not enough profiles yet")
    numbers(page).get_by_role("button").click()
    about = page.get_by_role("dialog", name="about these numbers")
    expect(about).to_contain_text("3.03 s in 300 samples")
    expect(about).to_contain_text("100 % complete")
    expect(about).to_contain_text("2 profiles planned, 2 received")
    expect(about).to_contain_text("Sampling: on")


def test_a_row_opens_its_function_beside_the_results(page: Page):
    row(page, "parse").click()
    expect_place(page, fn=re.compile("^[1-9]"))
    panel = drawer(page)
    expect(panel.get_by_role("heading", name="parse", exact=True)).to_be_visible()
    expect(panel.locator(".amounts")).to_contain_text("46.67 %")
    expect(panel.get_by_role("button", name="malloc", exact=True)).to_be_visible()  # a callee
    expect(panel.locator(".series-plot")).to_be_visible()
    expect(panel.locator("table.plain")).to_contain_text("46.67 %")  # by version
    expect(page.locator(".found")).to_have_count(0)  # nothing is highlighted
    panel.get_by_role("button", name="malloc", exact=True).click()
    expect(panel.get_by_role("heading", name="malloc", exact=True)).to_be_visible()
    page.go_back()
    expect(panel.get_by_role("heading", name="parse", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect_place(page, fn=None)


def test_the_functions_panel_filters_and_leads_on(page: Page):
    row(page, "malloc").click()
    assert "/fn/" in (drawer(page).get_by_role("link", name="Open page").get_attribute("href") or "")
    assert "/compare?" in (drawer(page).get_by_role("link", name="Compare").get_attribute("href") or "")
    drawer(page).get_by_role("button", name="Drop stacks containing it").click()
    expect_place(page, ignore="^malloc$", fn=None)
    expect(row(page, "malloc")).to_have_count(0)


def test_a_function_is_highlighted_on_request(page: Page):
    row(page, "parse").click()
    drawer(page).get_by_role("button", name="Show in flame graph").click()
    expect(page.locator(".found")).to_contain_text("46.67 %")
    expect(page.locator(".found")).to_contain_text("2 frames")
    expect(said(page)).to_contain_text("parse: total 46.67 %")
    expect_place(page, mark=re.compile("^function:"))
    expect(row(page, "parse")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(drawer(page)).to_have_count(0)
    expect(page.locator(".found")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".found")).to_have_count(0)


def test_intervals_are_columns_on_request_and_stay(page: Page):
    expect(page.get_by_role("columnheader", name="95 %")).to_have_count(0)
    page.get_by_role("button", name="Intervals").click()
    expect(page.get_by_role("columnheader", name="95 %")).to_have_count(2)
    page.reload()
    expect(page.get_by_role("columnheader", name="95 %")).to_have_count(2)


def test_the_splitter_moves_by_keys_and_stays(page: Page):
    splitter = page.get_by_role("separator", name="width of the table")
    before = page.locator(".panel.table").bounding_box()["width"]
    splitter.focus()
    for _ in range(5):
        splitter.press("ArrowRight")
    expect(splitter).to_have_attribute("aria-valuenow", "52")
    wider = page.locator(".panel.table").bounding_box()["width"]
    assert wider > before + 50
    page.reload()
    expect(splitter).to_have_attribute("aria-valuenow", "52")


def test_search_and_order_need_no_request_once_the_table_is_read(page: Page):
    page.get_by_label("find a function").focus()
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if "/api/v1/table" in r.url else None)
    page.get_by_label("find a function").fill("mal")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("find a function").press("Escape")
    expect(rows(page)).to_have_count(8)
    page.get_by_role("columnheader", name="total").get_by_role("button").click()
    expect(rows(page).locator(".name .text").first).to_have_text("main")
    assert asked == []


def test_rows_have_several_keys(page: Page):
    page.get_by_role("button", name="add a key").click()
    page.get_by_role("dialog", name="add a key").get_by_role("button", name="application", exact=True).click()
    expect_place(page, by="function,application")
    expect(page.get_by_role("columnheader", name="application")).to_be_visible()
    expect(rows(page).filter(has_text="indexer")).not_to_have_count(0)
    page.get_by_role("button", name="key application", exact=True).click()
    page.get_by_role("button", name="← Move left").click()
    expect_place(page, by="application,function")
    page.get_by_role("button", name="remove the key function").click()
    expect_place(page, by="application")
    expect(row(page, "indexer")).to_have_count(1)
    page.go_back()
    expect_place(page, by="application,function")


def test_everything_is_searched_from_the_keyboard(page: Page):
    page.keyboard.press("Control+k")
    page.keyboard.type("mallo")
    options = page.get_by_role("listbox", name="results").get_by_role("option")
    expect(options.first).to_contain_text("malloc")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="search everything")).to_have_count(0)
    page.keyboard.press("Control+k")  # the text is still there
    expect(page.get_by_role("combobox", name="search functions")).to_have_value("mallo")
    page.keyboard.type("web-0")
    expect(options).to_have_count(2)
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/machines/web-0[12]"))


def test_zoom_is_a_step_of_the_history(page: Page):
    canvas = page.locator("canvas")
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        canvas.press(key)
    expect(said(page)).to_contain_text("net::Server")
    expect(page).to_have_url(re.compile("node=[0-9a-f]{16}"))
    link = page.url
    page.go_back()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_disabled()
    page.goto(link)  # another person opens the link
    expect(page.get_by_role("button", name="Reset zoom")).to_be_enabled()
    expect(said(page)).to_contain_text("net::Server")
    canvas.press("Backspace")
    expect(said(page)).to_contain_text("main")
    canvas.press("Escape")
    expect(page.get_by_role("button", name="Reset zoom")).to_be_disabled()


def test_a_click_zooms_and_the_tooltip_tells_all(page: Page):
    box = page.locator("canvas").bounding_box()
    x, y = box["x"] + 0.2 * box["width"], box["y"] + 2.5 * 19  # depth 2: the heaviest callee of main
    page.mouse.move(x, y)
    tooltip = page.locator(".tooltip")
    expect(tooltip).to_contain_text("net::Server<net::Tcp, 4>::handle(net::Request const&)")
    expect(tooltip).to_contain_text("66.67 %")
    page.mouse.click(x, y)
    expect(page.locator("section.flame .details .name")).to_have_text(
        "net::Server<net::Tcp, 4>::handle(net::Request const&)"
    )
    expect_place(page, node=re.compile("^[0-9a-f]{16}$"))


def test_rows_beyond_the_edge_are_hinted_at_and_a_finger_brings_them_into_sight(page: Page):
    box = page.locator(".canvas")
    expect(box).not_to_have_attribute("data-more-below", re.compile("row"))
    # Three of the five rows.
    box.evaluate("box => Object.assign(box.style, { flex: 'none', minHeight: 0, height: '57px' })")
    expect(box).to_have_attribute("data-more-below", re.compile("row"))
    expect(box).not_to_have_attribute("data-more-above", re.compile("row"))
    assert touched(page, 200, 100)
    expect(box).to_have_attribute("data-more-above", re.compile("row"))
    expect(box).not_to_have_attribute("data-more-below", re.compile("row"))
    assert not touched(page, 200, 100)  # at the edge the page scrolls on
    assert touched(page, 100, 200)
    expect(box).to_have_attribute("data-more-below", re.compile("row"))


def touched(page: Page, start: int, end: int) -> bool:
    """Move a finger over the flame graph from one height to another; whether the graph scrolls, not the page."""
    return page.locator("canvas").evaluate(
        """(canvas, heights) => heights.map((clientY, n) => {
            const touches = [new Touch({ identifier: 1, target: canvas, clientX: 9, clientY })];
            const type = n === 0 ? 'touchstart' : 'touchmove';
            return !canvas.dispatchEvent(new TouchEvent(type, { touches, cancelable: true }));
        })[1]""",
        [start, end],
    )


def test_a_zoom_away_from_the_matches_keeps_its_colours_and_says_so(page: Page):
    row(page, "malloc").click()
    drawer(page).get_by_role("button", name="Show in flame graph").click()
    page.keyboard.press("Escape")
    expect(page.locator(".found")).to_contain_text("26.67 %")
    canvas = page.locator("canvas")
    canvas.focus()
    for key in ("Home", "ArrowDown", "ArrowDown", "ArrowRight"):
        canvas.press(key)
    expect(said(page)).to_contain_text("build")
    away = page.get_by_text("No match below this frame.")
    expect(away).to_have_count(0)
    canvas.press("Enter")
    expect(away).to_be_visible()
    assert colours(page) > 2  # more than the dimmed frames and the paper
    canvas.press("Backspace")
    expect(away).to_have_count(0)


def colours(page: Page) -> int:
    """How many colours stand at the right end of the flame graph's rows."""
    return page.evaluate(
        """(() => {
            const canvas = document.querySelector('canvas');
            const copy = new OffscreenCanvas(1, canvas.height);
            const context = copy.getContext('2d', { willReadFrequently: true });
            context.drawImage(canvas, 9 - canvas.width, 0);
            const pixels = new Uint32Array(context.getImageData(0, 0, 1, canvas.height).data.buffer);
            return new Set(pixels.filter((_, y) => y % 19 === 9)).size;
        })()"""
    )


def test_search_narrows_the_table_and_sums_the_union(page: Page):
    page.keyboard.press("/")
    page.keyboard.type("PARS")
    expect(rows(page)).to_have_count(1)
    expect(page.locator(".found")).to_contain_text("46.67 % in 2 frames of 1 function")
    page.get_by_role("button", name="regular expression").click()
    page.get_by_label("find a function").fill("^(malloc|parse)$")
    expect(rows(page)).to_have_count(2)
    expect(page.locator(".found")).to_contain_text("46.67 % in 3 frames of 2 functions")
    page.get_by_label("find a function").press("Enter")
    expect(said(page)).to_contain_text("parse")
    expect_place(page, find="^(malloc|parse)$")
    page.get_by_label("find a function").fill("(")
    expect(page.get_by_text("This is not a valid regular expression.")).to_be_visible()
    page.get_by_label("find a function").press("Escape")
    expect(rows(page)).to_have_count(8)


def test_stepping_to_a_match_leaves_the_zoom(page: Page):
    canvas = page.locator("canvas")
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        canvas.press(key)
    expect(said(page)).to_contain_text("build")
    expect(page.get_by_role("button", name="Reset zoom")).to_be_enabled()
    page.get_by_label("find a function").fill("malloc")
    expect(page.locator(".found")).to_contain_text("26.67 %")
    page.get_by_label("find a function").press("Enter")
    expect(said(page)).to_contain_text("malloc")
    expect(page.get_by_role("button", name="Reset zoom")).to_be_disabled()
    expect(said(page)).to_contain_text("malloc")


def test_filters_are_chips_and_back_takes_them_away(page: Page):
    page.keyboard.press("f")
    picker = page.get_by_role("dialog", name="add a filter")
    page.keyboard.type("index")  # the search has the focus
    expect(picker.get_by_role("option").first).to_contain_text("indexer")
    page.keyboard.press("Enter")
    expect(page.locator(".chip", has_text="application = indexer")).to_be_visible()
    expect(rows(page)).to_have_count(3)
    expect(numbers(page)).to_contain_text("100 samples")
    expect_place(page, select='{application="indexer"}')
    page.get_by_role("button", name="remove the filter application = indexer").click()
    expect(rows(page)).to_have_count(8)
    page.go_back()
    expect(rows(page)).to_have_count(3)


def test_frames_are_taken_out_of_stacks(page: Page):
    page.keyboard.press("f")
    picker = page.get_by_role("dialog", name="add a filter")
    picker.get_by_label("function, file or binary, as a regular expression").fill("^malloc$")
    picker.get_by_label("use of the expression").select_option("Hide frames")
    picker.get_by_role("button", name="Apply").first.click()
    expect(page.locator(".chip", has_text="Hide frames malloc")).to_be_visible()
    expect(rows(page)).to_have_count(7)
    expect_place(page, hide="^malloc$")
    row(page, "parse").click(button="right")
    page.get_by_role("menuitem", name="Hide its frames").click()
    expect(rows(page)).to_have_count(6)
    expect_place(page, hide="^malloc$|^parse$")
    page.get_by_role("button", name="remove the filter Hide frames malloc").click()  # each has a chip
    expect_place(page, hide="^parse$")
    expect(rows(page)).to_have_count(7)
    page.get_by_role("button", name="remove the filter Hide frames parse").click()
    expect(rows(page)).to_have_count(8)
    row(page, "parse").click(button="right")
    page.get_by_role("menuitem", name="Start stacks at it").click()
    expect(rows(page)).to_have_count(2)
    expect(row(page, "parse")).to_contain_text("46.67 %")  # 70 of 150, as in whole stacks


def test_a_mistake_in_the_matchers_is_seen_while_it_is_typed(page: Page):
    page.keyboard.press("f")
    matchers = page.get_by_role("dialog", name="add a filter").get_by_label("filters as text")
    matchers.fill('{function="malloc"')
    expect(page.get_by_role("status")).to_contain_text(["Expected a closing brace at character 19"])
    matchers.fill('{self.function="malloc"}')
    matchers.press("Enter")
    expect(page.locator(".chip", has_text="self.function = malloc")).to_be_visible()
    expect_place(page, select='{self.function="malloc"}')


def test_the_row_menu_keeps_only_stacks_with_a_function(page: Page):
    row(page, "malloc").click(button="right")
    page.get_by_role("menuitem", name="Keep stacks containing it").click()
    expect(rows(page)).to_have_count(4)
    expect(numbers(page)).to_contain_text("80 samples")
    expect_place(page, focus="^malloc$")
    page.get_by_role("grid").focus()
    page.keyboard.press(".")
    page.get_by_role("menuitem", name="Drop stacks containing it").press("Enter")
    expect(page.get_by_text("No samples in this selection.")).to_be_visible()


def test_other_groupings_filter_on_click(page: Page):
    page.get_by_role("button", name="key function").click()
    page.get_by_role("dialog", name="key function").get_by_role("button", name="machine", exact=True).click()
    expect(rows(page)).to_have_count(2)
    row(page, "web-02").click()
    expect(page.locator(".chip", has_text="machine = web-02")).to_be_visible()
    expect(numbers(page)).to_contain_text("1 profile")
    expect_place(page, by=None)


def test_the_table_works_without_a_mouse(page: Page):
    page.get_by_role("grid").focus()
    for key in ("j", "ArrowDown", "k", "Enter"):
        page.keyboard.press(key)
    expect(rows(page).nth(1)).to_have_attribute("aria-selected", "true")
    expect_place(page, fn=re.compile("^[1-9]"))
    expect(drawer(page)).to_be_visible()


def test_a_copied_link_has_fixed_times(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    visitor = new_visitor(permissions=["clipboard-read", "clipboard-write"])
    page = visitor.open("explore?find=malloc")
    expect(rows(page)).to_have_count(1)
    page.locator("body").press("y")
    expect(page.get_by_text("Link copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    query = parse_qs(urlsplit(link).query)
    assert query["find"] == ["malloc"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", query["from"][0])
    page.goto(link)
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_title("The page shows profiles up to this time")).to_have_count(0)  # not live


def test_a_live_page_shows_what_ingests_and_never_goes_blank(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    visitor = new_visitor()
    visitor.page.clock.install()
    page = visitor.open("explore?from=now-15m")
    expect(numbers(page)).to_contain_text("150 samples")
    expect(page.locator("canvas")).to_be_visible()  # the flame graph comes by a request of its own
    expect(rows(page).first).to_be_visible()
    page.evaluate(
        """() => { window.blanks = 0;
        new MutationObserver(() => { if (!document.querySelector('.line.body') || !document.querySelector('canvas')) window.blanks++; })
            .observe(document.body, { childList: true, subtree: true }); }"""
    )
    canvas = page.locator("canvas")
    canvas.press("ArrowDown")
    canvas.press("ArrowDown")
    fleet.visit("web-02")
    page.clock.fast_forward(130_000)
    expect(numbers(page)).to_contain_text("300 samples")
    expect(said(page)).to_contain_text("net::Server")  # still the selected frame
    assert page.evaluate("window.blanks") == 0


def test_labels_are_sharp_on_dense_screens(new_visitor: Callable, fleet: IngestedFleet):
    fleet.visit()
    page = new_visitor(device_scale_factor=2).open("explore?view=flame")
    expect(page.locator("canvas")).to_be_visible()
    expect(said(page)).to_contain_text("all: total 100.00 %")
    drawn, shown = page.evaluate("(c => [c.width, c.clientWidth])(document.querySelector('canvas'))")
    assert drawn == pytest.approx(2 * shown, abs=1)


def test_the_flame_graph_can_stand_on_its_root(page: Page):
    page.get_by_role("button", name="Flame", exact=True).click()
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] - 5)
    expect(page.locator(".tooltip .name")).to_have_text("all")
    expect_place(page, direction="up")
