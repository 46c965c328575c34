"""GIVEN two machine types at equal load WHEN both measures of load are known, or one THEN the answer says when a test must decide."""

from dataclasses import replace

import pytest

from analysis.measured import Measured
from analysis.smt.machine_choice import Advice
from analysis.smt.served_work import ServedWork
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Unavailable
from storage.query.models.compared_types import compared_loads, compared_work

NEW = ServedWork(
    ratio=Measured(2.0, 1.8, 2.2),
    price_ratio=1.5,
    old_price=Measured(0.02, 0.019, 0.021),
    new_price=Measured(0.015, 0.014, 0.016),
    advice=Advice.NEW,
    curved=False,
)
OLD, UNCLEAR = replace(NEW, advice=Advice.OLD), replace(NEW, advice=Advice.UNCLEAR)
BENT = replace(NEW, curved=True)
NONE = Unavailable("too_little", "Too few steps.")


@pytest.mark.parametrize(
    ("by_utilisation", "by_apu", "stress_test"),
    [
        (NEW, NEW, False),
        (NONE, NEW, False),
        (OLD, NEW, True),
        (UNCLEAR, UNCLEAR, True),
        (NONE, UNCLEAR, True),
        (BENT, NEW, True),
        (NEW, BENT, True),
        (NEW, NONE, True),
        (NONE, NONE, None),
    ],
)
def test_a_stress_test_decides_what_rates_do_not(
    by_utilisation: ServedWork | Unavailable, by_apu: ServedWork | Unavailable, stress_test: bool | None
) -> None:
    assert compared_work(by_utilisation, by_apu)["stress_test"] is stress_test


def test_each_measure_has_its_figures_or_its_reason() -> None:
    assert compared_work(NONE, NEW) == {
        "price_ratio": 1.5,
        "utilisation_ratio": None,
        "apu_ratio": Figure(2.0, 1.8, 2.2),
        "by_utilisation": None,
        "by_apu": "new",
        "stress_test": False,
        "utilisation_because": NONE,
        "apu_because": None,
    }
    assert compared_work(NONE, NONE)["price_ratio"] is None


def test_without_a_comparison_nothing_is_given() -> None:
    assert set(compared_loads(None).values()) == {None}
