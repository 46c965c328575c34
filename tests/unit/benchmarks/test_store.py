"""What the store's benchmark says of its figures, and what it raises when a process of its fails."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from rich.console import Console

from benchmarks.store import __main__ as store
from benchmarks.store.asked import Answered
from benchmarks.store.landers import Landing, Rolling
from benchmarks.store.peers import Compared
from benchmarks.store.run import DEFAULT, Found, _start

SHOWN = "shown every stack met"


def test_figures_of_processes_that_were_shown_everything_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    answered = Answered({kind: [1.0] for kind in store._QUESTIONS}, dict.fromkeys(store._QUESTIONS, 0))
    found = Found(
        facts=100, bulk_facts=90, bulk_s=1, row_facts=10, rows_s=1, stacks=7, fold_s=1,
        landings=[Landing(0, 2, 10, transactions=1, captures=1, cpu_s=3, cold_facts=5, cold_cpu_s=4)],
        rolling=Rolling(10, 1, drained=4, cpu_s=1, longest_wait=1), sizes={"stack": 1, "stack_block": 1},
        idle=answered, landing=answered, compared=[Compared("kind", 1, 2, 3)],
    )  # fmt: skip
    store.report(found, DEFAULT).show(Console(width=400))
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    for figure in ("land_facts_per_s", "land_facts_per_cpu_s", "land_cpu_us_per_fact"):
        assert SHOWN in lines[figure]
    assert "remembered no stack" in lines["land_cpu_us_per_fact_cold"]
    assert lines["land_facts_per_s"].split()[1] == "2.5"
    assert lines["land_cpu_us_per_fact_cold"].split()[1] == "800000.0"


def test_the_help_says_what_was_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["store", "--help"])
    with pytest.raises(SystemExit, match="0"):
        store.main()
    told = " ".join(capsys.readouterr().out.split())
    assert SHOWN in told
    assert "`land_cpu_us_per_fact_cold` is what the same two took for their first captures" in told


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
