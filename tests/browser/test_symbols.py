"""The page of symbols: what is missing, files that are dropped on it, and what comes of them."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine, update

from storage.schema import capture
from storage.symbols import reprocessing
from tests.browser.ingested import IngestedFleet
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow

LIBZ = "aa" * 20
"""Build-id of the library that `IngestedFleet` has no names for."""


@pytest.fixture(scope="module")
def debug_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debug information of that library."""
    if shutil.which("gcc") is None or shutil.which("objcopy") is None:
        pytest.skip("gcc or binutils is not installed")
    folder = tmp_path_factory.mktemp("libz")
    (folder / "z.c").write_text("int crc(int n) { return n * 31; }\n")
    command = ["gcc", "-g", "-shared", "-fPIC", f"-Wl,--build-id=0x{LIBZ}", "-o", "libz.so", "z.c"]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["objcopy", "--only-keep-debug", "libz.so", "libz.so.debug"], cwd=folder, check=True)
    return folder / "libz.so.debug"


def drop(page: Page, file: Path) -> None:
    """Drag a file from the desktop onto the field."""
    content = list(file.read_bytes())
    transfer = page.evaluate_handle(
        """([name, bytes]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], name));
            return transfer;
        }""",
        [file.name, content],
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": transfer})


def test_a_row_without_a_name_leads_to_what_would_name_it(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open("explore")
    page.get_by_role("link", name="no symbols").click()
    expect(page).to_have_url(f"{visitor.server.url}/symbols?show=all&find=libz.so")
    row = page.get_by_role("row", name="libz.so")
    expect(row).to_contain_text("13.33 %")  # 20 of 150 samples
    expect(row).to_contain_text("nothing stored")
    row.get_by_role("button", name="libz.so").click()
    expect(page.get_by_text("/usr/lib/libz.so", exact=True)).to_be_visible()
    expect(page.get_by_text("fleetprof symbols upload libz.so.debug")).to_be_visible()
    page.reload()
    expect(page.get_by_text("No symbol file of this binary is stored.")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("grid")).to_contain_text("malloc")


def test_a_dropped_file_is_recognised_and_its_consequences_are_followed(
    visitor, fleet: IngestedFleet, engine: Engine, debug_file: Path
):
    fleet.visit("web-01")
    fleet.visit("web-02")
    page = visitor.open("symbols")
    expect(page.get_by_text("1 binary has CPU time")).to_be_visible()
    drop(page, debug_file)
    uploads = page.get_by_role("list", name="uploads")
    expect(uploads).to_contain_text("debug file of aaaaaaaaaaaa…, names and lines")
    expect(uploads).to_contain_text("Its functions are being named")
    with engine.begin() as connection:  # as a worker does
        reprocessing.begin(connection, LIBZ, why="libz.so.debug was uploaded.", nameless=True, renamed=3)
        (visit_id, *_) = reprocessing.feed(connection)
    expect(uploads).to_contain_text("3 functions named immediately, 0 of 2 captures reprocessed")
    with engine.begin() as connection:
        ingested = update(capture).where(capture.c.visit_id == visit_id).values(ingested=capture.c.wanted)
        connection.execute(ingested)
    expect(uploads).to_contain_text("1 of 2 captures reprocessed")
    expect(uploads.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "50")
    expect(page.get_by_role("row", name="libz.so")).to_contain_text("1 of 2 captures reprocessed")
    uploads.get_by_role("button", name="Details").click()
    details = page.get_by_role("table", name="Stored files")
    expect(details).to_contain_text("libz.so.debug")
    expect(details).to_contain_text("upload by admin")
    page.get_by_role("button", name="remove libz.so.debug").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("No symbol file of this binary is stored.")).to_be_visible()


def test_what_is_of_no_use_is_refused_in_words_and_stops_no_other(
    visitor, fleet: IngestedFleet, tmp_path: Path, debug_file: Path
):
    text = tmp_path / "notes.txt"
    text.write_text("no symbols here")
    page = visitor.open("symbols")
    expect(page.get_by_text("Every function that was sampled in the last day has a name.")).to_be_visible()
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="choose files").click()
    chosen.value.set_files([text, debug_file])
    uploads = page.get_by_role("list", name="uploads")
    expect(uploads).to_contain_text("notes.txt: It is not an ELF file.")
    expect(uploads).to_contain_text("names and lines")
    page.goto(f"{visitor.server.url}/symbols?show=all")
    expect(page.get_by_role("row", name="libz.so")).to_contain_text("No capture contains it yet.")
    assert [c for c in visitor.complaints if "422" not in c] == []
    visitor.complaints.clear()  # the browser itself reports every request that was refused


def test_binaries_are_found_and_sorted(visitor, fleet: IngestedFleet):
    fleet.visit()
    page = visitor.open("symbols?show=all")
    rows = page.locator("tr.binary")
    expect(rows.first).to_contain_text("libz.so")
    page.get_by_role("button", name="Binary", exact=True).click()
    expect(page).to_have_url(f"{visitor.server.url}/symbols?show=all&sort=name")
    expect(rows.last).to_contain_text("search")
    page.get_by_role("searchbox").fill("nothing like it")
    expect(page.get_by_text("No binary matches")).to_be_visible()
    page.get_by_role("button", name="Show all binaries").click()
    expect(rows).not_to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_the_page(
    new_visitor: Callable, fleet: IngestedFleet, debug_file: Path, scheme: str
):
    fleet.visit()
    visitor = new_visitor(color_scheme=scheme)
    page = visitor.open(f"symbols?show=all&binary={LIBZ}")
    drop(page, debug_file)
    expect(page.get_by_role("table", name="Stored files")).to_be_visible()
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert violations(page) == []
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow == 0
