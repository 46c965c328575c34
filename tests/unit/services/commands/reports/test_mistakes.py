"""GIVEN reports WHEN what is typed means nothing THEN it is said, and nobody is asked."""

from collections.abc import Callable

import pytest
from click.testing import Result
from typer.testing import CliRunner

from services.cli import app

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a report with a database that is not there."""
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", "postgresql://unused@127.0.0.1:1/none")
    monkeypatch.delenv("FLEETPROF_PROMETHEUS_URL", raising=False)
    runner = CliRunner(env={"COLUMNS": "300", "TERM": "dumb"})
    return lambda *words: runner.invoke(app, ["report", *words])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("cpi", "{platform="), 1, "SELECT:"),
        (("cpi", "--by", '"application'), 1, "--by:"),
        (("cpi", "--step", "soon"), 1, "--step 1h or --step 1d."),
        (("frequency", "--mhz", "fast"), 1, "not a list of frequencies"),
        (("frequency-fit", "--mhz", "fast"), 1, "not a list of frequencies"),
        (("frequency-fit", "--memory-target-mhz", "4800"), 1, "memory frequency of the measurement"),
        (("frequency-times",), 2, "Give either"),
        (("frequency-times", "a.csv", "--run", "1200:3"), 2, "Give either"),
        (("frequency-times", "/there/is/none.csv"), 1, "Cannot read"),
        (("frequency-times", "--run", "1200:3", "--run", "2400;2"), 1, "not a frequency and a time"),
        (("frequency-times", "--run", "1200:3", "--run", "1200:3"), 3, "No result (constant)"),
        (("load-test", "{}", "{cluster="), 1, "PRODUCTION:"),
        (("load-test", "{}", "{}", "--production-from", "once"), 1, "--production-from:"),
        (("capacity",), 2, "Give either"),
        (("capacity", "--rates", "a.csv", "--prometheus", "up"), 2, "Give either"),
        (("capacity", "--prometheus", "up"), 2, "FLEETPROF_PROMETHEUS_URL"),
        (("capacity", "--rates", "/there/is/none.csv"), 1, "Cannot read"),
        (("machine-types", "a", "b", "--old-rates", "a.csv"), 2, "--new-rates, --new-prometheus"),
        (("machine-types", "a", "b", "--new-prometheus", "up"), 2, "--old-rates, --old-prometheus"),
        (("machine-types", "a", "b", "--step", "soon"), 1, "--step 1h"),
        (("apu", "--coefficient", "0.5"), 2, "--coefficient"),
        (("feature", "memcpy", "--speedup", "0"), 2, "--speedup"),
        (("interference", "checkout", "--beside", "feed:many"), 1, "'many' is not a number"),
        (("interference", "checkout", "--cores", "2"), 2, "add --beside"),
        (("interference", "checkout", "{cluster="), 1, "SELECT:"),
        (("placement", "checkout:little", "--machines", "2"), 1, "'little' is not a number"),
        (("placement", "checkout"), 2, "--machines"),
        (("events", "checkout", "--least-share", "0.2"), 2, "--least-share"),
    ],
)
def test_a_mistake_is_told(run: Run, words: tuple[str, ...], code: int, said: str):
    result = run(*words)
    assert result.exit_code == code, result.output
    assert said in result.output
