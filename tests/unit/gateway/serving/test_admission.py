import time

import pytest

from fleetpb import gateway_pb2
from gateway.errors import PlanRefused
from gateway.served_visits import ServedVisits
from gateway.serving.admission import Admission
from gateway.settings import Limits
from tests.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def admission(clock: FakeClock) -> Admission:
    return Admission(ServedVisits(), Limits(max_concurrent=2, ttl_ms=3000), clock)


def plan(number: int, **fields: int) -> gateway_pb2.Plan:
    return gateway_pb2.Plan(visit_id=number.to_bytes(16, "big"), **fields)


def refusal(admission: Admission, wanted: gateway_pb2.Plan, *, arrived: float = 100.0) -> int:
    with pytest.raises(PlanRefused) as refused, admission.admit(wanted, arrived=arrived):
        pass
    return refused.value.reason


def test_a_place_is_held_while_a_capture_is_taken(admission: Admission):
    with admission.admit(plan(1), arrived=100.0):
        assert admission.active == 1
    assert admission.active == 0


def test_a_place_is_given_back_when_a_capture_breaks(admission: Admission):
    with pytest.raises(OSError, match="broke"), admission.admit(plan(1), arrived=100.0):
        raise OSError("broke")
    assert admission.active == 0


def test_a_visit_is_admitted_once_even_if_it_broke(admission: Admission):
    with admission.admit(plan(1), arrived=100.0):
        pass
    assert refusal(admission, plan(1)) == gateway_pb2.Refusal.REPEATED


def test_one_more_than_allowed_is_refused_and_may_come_again(admission: Admission):
    with admission.admit(plan(1), arrived=100.0), admission.admit(plan(2), arrived=100.0):
        assert refusal(admission, plan(3)) == gateway_pb2.Refusal.TOO_MANY
    with admission.admit(plan(3), arrived=100.0):
        assert admission.active == 1


@pytest.mark.parametrize(("ttl_ms", "lives_ms"), [(0, 3000), (500, 500)])
def test_a_plan_lives_as_long_as_it_says_or_as_the_gateway_does(
    admission: Admission, clock: FakeClock, ttl_ms: int, lives_ms: int
):
    clock.now = 100.0 + (lives_ms - 1) / 1000
    with admission.admit(plan(1, ttl_ms=ttl_ms), arrived=100.0):
        pass
    clock.now = 100.0 + (lives_ms + 1) / 1000
    assert refusal(admission, plan(2, ttl_ms=ttl_ms)) == gateway_pb2.Refusal.EXPIRED
    # an expired visit was not served: with a fresh plan it may come again
    with admission.admit(plan(2, ttl_ms=ttl_ms), arrived=clock.now):
        pass


def test_the_ledger_knows_what_is_being_taken():
    served_visits = ServedVisits()
    served_visits.note_active(1)  # what a killed server left
    admission = Admission(served_visits, Limits())
    assert served_visits.active == 0
    with admission.admit(plan(1), arrived=time.monotonic()):
        assert served_visits.active == 1
    assert served_visits.active == 0
