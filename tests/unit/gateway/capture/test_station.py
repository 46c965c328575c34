"""GIVEN captures that cost more or less WHEN the next one is planned THEN what was learned bounds its rate, without a jump."""

import pytest

from gateway.capture.host import Access
from gateway.capture.station import Station
from gateway.settings import Limits


@pytest.fixture
def station() -> Station:
    return Station(Access.OWN, Limits(), {})


def cost_us(station: Station) -> float:
    return station.capacity().sample_cost_s * 1e6


def test_one_dear_capture_counts_by_half(station: Station) -> None:
    before = cost_us(station)
    station.note_cost(0.1, 1000)
    assert before < cost_us(station) < (before + 100 + 15) / 2 + 1


def test_what_lasts_is_learned(station: Station) -> None:
    for _ in range(12):
        station.note_cost(0.1, 1000)
    assert cost_us(station) == pytest.approx(100 + 15, rel=0.01)


def test_few_samples_teach_nothing(station: Station) -> None:
    before = cost_us(station)
    station.note_cost(1.0, 10)
    assert cost_us(station) == before


def test_no_measurement_is_believed_beyond_reason(station: Station) -> None:
    for _ in range(20):
        station.note_cost(60.0, 1000)
    assert cost_us(station) <= 150 + 15
