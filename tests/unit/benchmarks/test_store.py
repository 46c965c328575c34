"""Windows, dates, checks of answers and the command of the store's benchmark, and what it raises when a process of its fails."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.size import Size
from benchmarks.store import __main__ as store
from benchmarks.store.calendar import latest
from benchmarks.store.draws import Draws, Extent
from benchmarks.store.duckdb_peer import Rows
from benchmarks.store.figures import report
from benchmarks.store.fleet import PERIOD_NS
from benchmarks.store.ingest_phase import _start
from benchmarks.store.peers import DifferentAnswers, _check
from benchmarks.store.phases import OTHERS, PHASES, STORE, wanted
from benchmarks.store.run import Loaded
from benchmarks.store.sizes import SIZES
from storage.query.answers.figures import Interval
from storage.query.answers.table import Remainder, TableAnswer, TableRow
from storage.query.estimation.estimates import Estimate
from tests.filled_answers import filled

POPULAR = np.full(200, 1 / 200)
SHORT, LONG = Extent(1000, 1008), Extent(1000, 1000 + 24 * 30)


def hours(selection: Any) -> tuple[int, int]:
    return tuple(int(at.timestamp()) // 3600 for at in (selection.start, selection.end))


def test_windows_of_a_long_history_are_weeks_and_months() -> None:
    drawn = Draws(POPULAR, LONG, 1)
    for selection, length in ((drawn.week(), 168), (drawn.month(), 672)):
        first, end = hours(selection)
        assert end - first == length
        assert first >= LONG.begin
        assert end <= LONG.end
    assert LONG.says() == "a week is 168 h; a month is 672 h"


def test_windows_of_a_short_history_are_a_part_of_it_and_said() -> None:
    drawn = Draws(POPULAR, SHORT, 1)
    found = {hours(drawn.week()) for _ in range(30)}
    assert found == {(1000, 1007), (1001, 1008)}
    assert SHORT.says() == "a week is 7 h, 7/8 of the 8 h there are; a month is 7 h, 7/8 of the 8 h there are"
    assert hours(drawn.everything()) == (1000, 1008)
    assert {hours(Draws(POPULAR, SHORT, n, until_end=True).week()) for n in range(9)} == {(1001, 1008)}


def test_the_history_lies_where_the_store_has_the_same_shape_on_every_date() -> None:
    for n in range(200):
        now = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=n)
        found = latest(now)
        first, last = ((day - date(1970, 1, 1)).days for day in (found.days[-1], found.last))
        assert found.closed_at <= now
        assert (last + 1) % 16 == 0, "a bucket of 16 days ends"
        assert first // 64 == last // 64, "no bucket of 64 days is whole"
        assert (last + 1) % 64


def test_the_default_history_is_as_dense_as_the_default_campaign() -> None:
    for size in (SIZES[Size.DEFAULT], SIZES[Size.FULL]):
        assert size.facts / size.hours * 24 == pytest.approx(29e6, rel=0.05)
        assert size.bulk > 0.7 * size.facts
    assert replace(SIZES[Size.DEFAULT], days=30).hours == 720


def estimate(value: float) -> Estimate:
    return Estimate(
        Interval(value, value / 2, value * 2), Interval(value, value / 2, value * 2), low_confidence=False
    )


def answer(own: int, value: float, remainder: int = 7) -> TableAnswer:
    found = estimate(value)
    share, seconds = found.share, found.units.scaled(1e-9)
    row = filled(
        TableRow,
        key={"function": "f"},
        function_id=3,
        self=own * PERIOD_NS,
        total=11 * PERIOD_NS,
        self_share=share.value,
        self_lo=share.lo,
        self_hi=share.hi,
        total_share=share.value,
        total_lo=share.lo,
        total_hi=share.hi,
        self_core_seconds=seconds,
        total_core_seconds=seconds,
    )
    return filled(TableAnswer, rows=(row,), remainder=filled(Remainder, self=remainder * PERIOD_NS))


PLAIN = {3: 5, 4: 7}
THEIRS = Rows({3: 5, 4: 7, 9: 0}, {3: 11, 4: 7, 9: 1}, {3: estimate(2.0)}, {3: estimate(2.0)})


def test_answers_that_are_the_same_pass() -> None:
    _check(answer(5, 2.0 + 1e-9), THEIRS, PLAIN, {})


@pytest.mark.parametrize(
    ("ours", "theirs", "plain"),
    [
        (answer(6, 2.0), THEIRS, PLAIN),
        (answer(5, 2.001), THEIRS, PLAIN),
        (answer(5, 2.0, remainder=8), THEIRS, PLAIN),
        (answer(5, 2.0), THEIRS, {3: 5, 4: 6}),
        (answer(5, 2.0), replace(THEIRS, total={3: 12}), PLAIN),
        (answer(5, 2.0), replace(THEIRS, own={4: estimate(2.0)}), PLAIN),
        (answer(5, 2.0), replace(THEIRS, of_total={3: None}), PLAIN),
    ],
)
def test_answers_that_differ_are_refused(ours: TableAnswer, theirs: Rows, plain: dict[int, int]) -> None:
    with pytest.raises(DifferentAnswers):
        _check(ours, theirs, plain, {})


def test_the_report_has_bars_and_says_how_dense_the_history_is() -> None:
    loaded = Loaded(SIZES[Size.DEFAULT], latest(datetime.now(UTC)), {})
    loaded.figures = {"bytes_per_fact": (13.0, ""), "ingest_facts_per_s": (5e5, "")}
    found = report(loaded)
    assert found.name == "store"
    assert found.missed == ["bytes_per_fact"]


@pytest.mark.parametrize(
    ("only", "over", "run"),
    [
        ([], [], list(PHASES)),
        ([], [*STORE, "lake"], [name for name in OTHERS if name != "lake"]),
        (["questions"], [], [*STORE, "questions"]),
        (["questions", "peers"], [*PHASES], ["questions", "peers"]),
        (["load"], [], ["load"]),
        (["ingest", "fold"], ["load"], ["ingest", "fold"]),
        (["load"], ["load"], []),
    ],
)
def test_phases_that_make_the_store_run_once_and_before_others(
    only: list[str], over: list[str], run: list[str]
) -> None:
    assert [name for name in PHASES if wanted(name, only, over=name in over)] == run


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--reuse", "{}"], "has no store"),
        (["--only", "ingestion,questoins"], "no such phase: questoins"),
        (["--days", "31"], "--days is 1 to 30"),
        (["--keep", "{}", "--reuse", "{}"], "not allowed with"),
    ],
)
def test_wrong_options_are_explained(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        store.main([each.format(tmp_path) for each in arguments])
    assert says in capsys.readouterr().err


def test_the_help_names_every_phase(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        store.main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    for phase in PHASES:
        assert any(line.startswith(f"    {phase} ") for line in lines), phase


def test_a_process_that_fails_before_the_start_is_heard() -> None:
    start = threading.Barrier(3)

    def fails() -> None:
        raise OSError("no such store")

    with ThreadPoolExecutor(2) as pool, pytest.raises(OSError, match="no such store"):
        _start(start, [pool.submit(start.wait), pool.submit(fails)])
    start.reset()
    start.abort()
    with pytest.raises(threading.BrokenBarrierError):
        _start(start, [])
