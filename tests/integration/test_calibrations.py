"""GIVEN figures of platforms WHEN they are kept, replaced and forgotten THEN each model finds the right one."""

import math

import pytest
from sqlalchemy import Engine

from storage import calibrations
from storage.calibrations import Calibration, Kind

pytestmark = pytest.mark.integration

EPYC, XEON = "AMD EPYC 7763", "Intel Xeon 8480+"


def test_a_workloads_own_figure_goes_before_that_of_any(engine: Engine):
    with engine.begin() as connection:
        calibrations.record(
            connection, Calibration(Kind.SMT, EPYC, "", 1.3, 1.2, 1.4, measured=True, repetitions=5)
        )
        calibrations.record(connection, Calibration(Kind.SMT, EPYC, "search", 2.198))
        calibrations.record(connection, Calibration(Kind.MEMORY_LATENCY, EPYC, "", 91.0))
    with engine.connect() as connection:
        found = calibrations.read(connection, Kind.SMT)
    of = calibrations.of_platform
    assert [each.value for each in found] == [1.3, 2.198]
    search, other = of(found, EPYC, "search"), of(found, EPYC, "ads")
    assert search is not None
    assert search.known.exact
    assert other is not None
    assert (other.known.lo, other.known.hi, other.measured) == (1.2, 1.4, True)
    assert of(found, XEON, "search") is None


def test_a_new_figure_takes_the_place_of_the_old_one(engine: Engine):
    with engine.begin() as connection:
        calibrations.record(connection, Calibration(Kind.SMT, EPYC, "", 1.3, 1.2, 1.4, measured=True))
        calibrations.record(connection, Calibration(Kind.SMT, EPYC, "", 1.5))
        (found,) = calibrations.read(connection)
        assert found == Calibration(Kind.SMT, EPYC, "", 1.5)
        assert calibrations.forget(connection, Kind.SMT, EPYC)
        assert not calibrations.forget(connection, Kind.SMT, EPYC)
        assert calibrations.read(connection) == ()


@pytest.mark.parametrize(
    ("kind", "value", "lo", "hi"),
    [
        (Kind.SMT, 0.9, None, None),
        (Kind.SMT, math.nan, None, None),
        (Kind.MEMORY_LATENCY, 0.0, None, None),
        (Kind.MEMORY_LATENCY, -1.0, None, None),
        (Kind.MEMORY_BANDWIDTH, math.inf, None, None),
        (Kind.SMT, 10.1, None, None),
        (Kind.MEMORY_LATENCY, 0.9, None, None),
        (Kind.MEMORY_LATENCY, 10_001.0, None, None),
        (Kind.MEMORY_BANDWIDTH, 1.1e13, None, None),
        (Kind.SMT, 1.5, 1.6, 1.7),
        (Kind.SMT, 1.5, 1.4, None),
        (Kind.SMT, 1.5, 1.4, math.inf),
    ],
)
def test_what_cannot_be_is_refused(kind: Kind, value: float, lo: float | None, hi: float | None):
    with pytest.raises(ValueError, match=r"must be|interval"):
        Calibration(kind, EPYC, "", value, lo, hi)
