"""GIVEN captures that cost more or less WHEN the next one is planned THEN what was learned bounds its rate, without a jump."""

import pytest

from gateway.capture.capture_resources import CaptureResources
from gateway.capture.host import Access
from gateway.settings import Limits


@pytest.fixture
def resources() -> CaptureResources:
    return CaptureResources(Access.OWN, Limits(), {})


def cost_us(resources: CaptureResources) -> float:
    return resources.capacity().sample_cost_s * 1e6


def test_one_dear_capture_counts_by_half(resources: CaptureResources) -> None:
    before = cost_us(resources)
    resources.note_cost(0.1, 1000)
    assert before < cost_us(resources) < (before + 100 + 15) / 2 + 1


def test_what_lasts_is_learned(resources: CaptureResources) -> None:
    for _ in range(12):
        resources.note_cost(0.1, 1000)
    assert cost_us(resources) == pytest.approx(100 + 15, rel=0.01)


def test_few_samples_teach_nothing(resources: CaptureResources) -> None:
    before = cost_us(resources)
    resources.note_cost(1.0, 10)
    assert cost_us(resources) == before


def test_no_measurement_is_believed_beyond_reason(resources: CaptureResources) -> None:
    for _ in range(20):
        resources.note_cost(60.0, 1000)
    assert cost_us(resources) <= 150 + 15
