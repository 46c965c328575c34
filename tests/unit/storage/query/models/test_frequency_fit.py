"""GIVEN counts of many applications WHEN some rows are requested THEN only these are fitted, and a fleet without a fit has a reason."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
import pytest

from analysis.dvfs.fleet_fit import from_frequencies
from analysis.weights import Weights
from storage.errors import QuestionDropped
from storage.query.answers.frequency_fit import FrequencyFitAnswer
from storage.query.estimation.sampling_design import Coverage
from storage.query.facts.selection_echo import inputs_of
from storage.query.models import frequency_fit
from storage.query.models.frequency_fit import FitQuestion
from storage.query.models.frequency_fit_inputs import FitInputs
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.snapshots.query_budget import Budget, Limits, Stop

DAY = datetime(2026, 11, 17, tzinfo=UTC)
WHOLE = Selection(DAY, DAY + timedelta(days=1))
MACHINES, APPLICATIONS = 12, 5
COVERAGE = Coverage(random=True, selected_s=86400.0)


def inputs(ghz: tuple[float, ...]) -> FitInputs:
    """A visit to each machine, on which every application ran: 0.8 cycles and 0.1 ns an instruction."""
    number = np.arange(MACHINES)
    hertz = np.resize(np.array(ghz), MACHINES) * 1e9
    ones = np.ones(MACHINES)
    visits = MachineVisits(
        id=np.array([b"%016d" % n for n in number], "S16"),
        seconds=ones,
        window_s=ones,
        hour=number,
        weight=ones,
        group=np.zeros(MACHINES, np.int64),
        weights=cast("Weights", object()),
        coverage=COVERAGE,
        values={"machine": number, "platform": np.zeros(MACHINES, np.int64)},
        names={"machine": tuple(f"m{n}" for n in number), "platform": ("Z80",)},
        among=(),
    )
    at = np.tile(number, APPLICATIONS)
    application = np.repeat(np.arange(APPLICATIONS), MACHINES)
    instructions = np.array(1e9 * (1.0 + application), np.float64)
    seconds = instructions * (0.8 / hertz[at] + 0.1e-9)
    return FitInputs(
        visits=visits,
        load=np.stack([ones / 2, ones], axis=1),
        visit=at,
        application=application,
        names=tuple(f"a{n}" for n in range(APPLICATIONS)),
        seconds=seconds,
        cycles=seconds * hertz[at],
        instructions=instructions,
        inputs=inputs_of(COVERAGE, MACHINES, MACHINES),
        left_out={},
    )


def answer(
    monkeypatch: pytest.MonkeyPatch, limit: int, ghz: tuple[float, ...] = (1.6, 2.0, 2.4)
) -> FrequencyFitAnswer:
    monkeypatch.setattr(frequency_fit, "read_fit_inputs", lambda *_: inputs(ghz))
    return FitQuestion(WHOLE, limit=limit).answer(cast("Any", None))


def test_no_more_rows_are_fitted_than_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []
    fit = from_frequencies

    def counted(weight: Any, *args: Any, **named: Any) -> Any:
        fitted.append(len(weight))
        return fit(weight, *args, **named)

    monkeypatch.setattr(frequency_fit, "from_frequencies", counted)
    found = answer(monkeypatch, 2)
    assert len(fitted) == 2
    assert [row.application for row in found.rows] == ["a4", "a3"]
    assert found.rows_total == APPLICATIONS
    assert found.because is None
    whole = answer(monkeypatch, 100)
    assert whole.rows[:2] == found.rows
    assert len(whole.rows) == whole.rows_total == APPLICATIONS


def test_a_row_that_is_not_requested_is_not_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = Budget(Limits())
    stopped.stop(Stop.DROPPED)
    with stopped.running(), pytest.raises(QuestionDropped):
        answer(monkeypatch, 1)


def test_a_fleet_at_one_frequency_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = answer(monkeypatch, 3, (2.0, 2.05))
    assert found.because is not None
    assert found.because.reason == "constant"
    assert found.because.detail.startswith(
        "None of 3 rows (of 5) has a fit; a4 on Z80: All visits ran between"
    )
    assert [row.because is not None for row in found.rows] == [True] * 3
