"""GIVEN figures that are kept WHEN others take their place THEN who gave one is told."""

from services.views.calibrations import replaced
from storage.calibrations import Calibration, Kind

GIVEN = Calibration(Kind.SMT, "EPYC", "", 1.4)
MEASURED = Calibration(Kind.SMT, "EPYC", "", 1.3, measured=True)


def test_a_given_figure_that_a_measured_one_replaces_is_told():
    assert replaced([GIVEN], [MEASURED]) == ["The measured smt of EPYC replaces the given value 1.400."]


def test_anything_else_is_replaced_as_asked():
    other = Calibration(Kind.SMT, "EPYC", "search", 1.4)
    assert replaced([other, MEASURED], [MEASURED]) == []
    assert replaced([GIVEN], [GIVEN]) == []
