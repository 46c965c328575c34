"""Programs sampled by the product and by `perf` at once: the same functions with the same shares."""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from benchmarks.agreement import views
from benchmarks.agreement.names import Function, Namer
from benchmarks.agreement.peer import PerfUnusable
from benchmarks.agreement.product import Product, gateway
from benchmarks.agreement.programs import prepare
from benchmarks.agreement.run import Seen, Window, look
from benchmarks.agreement.shares import allowed, deviation, overlap, top
from gateway.process.identity import read_identity
from services.deployment.preflight import judge, read_facts
from storage.archive import Archive

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]

SECONDS = 6.0
RATE_HZ = 199
# Few samples: below this a program was starved, and nothing is learned from its shares.
ENOUGH = 60


@pytest.fixture
def folder(server_directory: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    made = server_directory / f"agreement-{tmp_path.name[-20:]}"
    made.mkdir()
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def symbols(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built symbols: the tests' programs differ, but not the libraries and whatever else runs here."""
    return tmp_path_factory.mktemp("symbols")


@pytest.fixture
def product(engine: Engine, archive: Archive, folder: Path, symbols: Path) -> Iterator[Product]:
    for program in ("perf", "addr2line", "readelf", "nm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    verdict = judge(read_facts())
    if verdict.problem is not None:
        pytest.skip(verdict.problem)
    unit = read_identity(os.getpid()).unit
    if unit.endswith(".service"):
        pytest.skip(f"all that starts here is the application {unit}")
    with gateway(folder / "gateway.sock", folder / "gateway.log") as address:
        made = Product(engine, archive, symbols, address)
        yield made
        made.close()


def seen_by_both(product: Product, folder: Path, *names: str) -> tuple[Window, dict[str, Seen]]:
    programs, missing = prepare(folder, names)
    if missing:
        pytest.skip("; ".join(missing))
    for seconds in (SECONDS, 2 * SECONDS, 4 * SECONDS):  # what else runs on this machine is not ours to say
        at = folder / f"{seconds:g}"
        at.mkdir()
        try:
            window = look(product, programs, at, seconds, RATE_HZ)
        except PerfUnusable as reason:
            pytest.skip(str(reason))
        seen = {one.program.application: one for one in window.seen}
        fewest = min(seen.values(), key=lambda one: one.dwarf.samples)
        if fewest.dwarf.samples >= ENOUGH:
            return window, seen
    pytest.skip(f"rare: {fewest.program.application} hardly ran: {fewest.dwarf.samples} samples")


def outside(window: Window) -> dict[tuple[str, str, Function, bool], str]:
    limit = allowed(len(window.comparisons))
    return {
        (one.program, one.measure, one.what, one.deviation > 0): str(one)
        for one in window.comparisons
        if abs(one.deviation) > limit
    }


def outside_twice(product: Product, folder: Path, window: Window, *names: str) -> list[str]:
    """What is outside in this window and, in the same direction, in a second one.

    A loop that beats with one side's timer made one share of one window 4 standard errors too large;
    what a defect causes is there again.
    """
    first = outside(window)
    if not first:
        return []
    again = folder / "again"
    again.mkdir()
    second, _ = seen_by_both(product, again, *names)
    return [f"{first[key]}, again {text}" for key, text in outside(second).items() if key in first]


def names(functions: Iterable[Function]) -> set[str]:
    return {function.name for function in functions}


def test_programs_of_several_languages_have_the_same_profile(product: Product, folder: Path) -> None:
    programs = ("python", "gzip", "c", "cplusplus")
    window, seen = seen_by_both(product, folder, *programs)
    assert outside_twice(product, folder, window, *programs) == []
    measures = {one.measure for one in window.comparisons}
    assert measures == {"self", "self (-g)", "total", "samples"}
    for one in seen.values():
        assert one.overlap > 0, one
        assert one.ours.samples >= ENOUGH
    assert "_PyEval_EvalFrameDefault" in names(seen["documents.py"].ours.whole)
    assert {"times", "primes"} <= names(top(seen["fp-c"].ours.own))
    # gzip has no symbols: its rows are starts of functions in the file.
    assert all("+0x" in f.name for f in top(seen["fp-gzip"].ours.own)[:1])


def test_odd_shapes_of_stacks_and_processes(product: Product, folder: Path) -> None:
    programs = ("deep", "threads", "children", "late")
    window, seen = seen_by_both(product, folder, *programs)
    assert outside_twice(product, folder, window, *programs) == []
    deep, threads, children, late = (seen[f"fp-{name}"] for name in ("deep", "threads", "children", "late"))
    # Recursion deeper than what is stored keeps its two ends.
    assert {"_start", "main", "deep", "descend", "at_the_bottom", "work"} <= names(deep.ours.whole)
    assert deep.ours.rooted > 0.95
    # Threads are the process's, whatever name they give themselves, and begin where the C library starts them.
    assert {"start_thread", "thread", "in_a_thread"} <= names(threads.ours.whole)
    assert {"children", "in_a_child"} <= names(children.ours.whole)
    # A program is met that was not there when the window began.
    assert "spectral_norm" in names(late.ours.whole)
    assert {f.binary for f in late.ours.own} >= {"fp-late"}


def test_a_program_of_a_millisecond_is_known_by_its_name(product: Product, folder: Path) -> None:
    _, seen = seen_by_both(product, folder, "short")
    true = seen["fp-true"]
    assert {"_dl_start", "_dl_sysdep_start"} & names(true.ours.whole)
    assert overlap(top(true.dwarf.own), top(true.ours.own)) > 0


def test_a_difference_is_noticed() -> None:
    """The comparison can fail: shares that differ by more than sampling explains are outside."""
    assert abs(deviation(100, 1000, 110, 1000)) < allowed(100)
    assert deviation(100, 1000, 200, 1000) > allowed(100)
    assert deviation(0, 1000, 1000, 1000) > allowed(100)
    assert deviation(1000, 1000, 1000, 1000) == 0


def test_names_of_one_address_are_one_function() -> None:
    namer = Namer({"gzip": "fp-gzip"})
    assert namer.same(Function("gzip+0x10", "gzip")) == Function("fp-gzip+0x10", "fp-gzip")
    assert namer.same(Function("work.constprop.0", "a")) == namer.same(Function("work", "a"))
    assert namer.same(Function("f<a<b> >()", "a")) == namer.same(Function("f<a<b>>()", "a"))
    assert views.of_perf([], namer, ()).samples == 0
