"""GIVEN two accounts of CPU time WHEN they are compared THEN the row and its description say by how much they may differ."""

import pytest

from analysis.cross_check import TOLERANCE, CrossCheck, Verdict
from analysis.measured import Measured
from storage.query.answers.answer import adapter
from storage.query.answers.cross_check import CrossCheckRow
from storage.query.answers.figures import Figure
from storage.query.models.cross_check import _row


def test_the_description_has_the_tolerance() -> None:
    described = adapter(CrossCheckRow).json_schema()["properties"]["verdict"]["description"]
    assert f"within {TOLERANCE:.0%} of 1;" in described


def test_the_discrepancy_is_the_excess_of_samples() -> None:
    row = _row("ams", CrossCheck(80.0, 100.0, Measured(0.8, 0.75, float("inf")), 12, Verdict.DIFFER))
    assert row.ratio == Figure(0.8, 0.75, None)
    assert row.discrepancy == pytest.approx(-0.2)
    assert (row.value, row.verdict, row.visits) == ("ams", "differ", 12)
    unknown = _row("", CrossCheck(0.0, 0.0, Measured(float("nan"), 0.0, 0.0), 1, Verdict.UNCLEAR))
    assert unknown.ratio is None
    assert unknown.discrepancy is None
