"""GIVEN streams WHEN they last, fail or find no place THEN their callers are told, and the place is free."""

import pytest

from services.api.problems import Problem
from services.data_api.stream_service import StreamService
from services.data_api.stream_slots import StreamSlots
from services.data_api.streams import Streams
from storage.data.cancellation import Stop
from storage.errors import ArchiveUnavailable, BadSelection, DatabaseBusy


class Endless(Streams):
    def __init__(self) -> None:
        """Nothing is asked."""


def endless(stop: Stop):
    while True:
        stop.check()
        yield "record"


def test_a_stream_that_lasts_is_ended_and_can_be_gone_on_with():
    service, stop = StreamService(Endless(), longest_s=0.0), Stop()
    with pytest.raises(Problem) as ended:
        list(service.serve(stop, lambda: endless(stop)))
    assert (ended.value.kind, ended.value.status) == ("ended", 503)
    assert service.slots.open == 0


@pytest.mark.parametrize(
    ("error", "status"),
    [(BadSelection("x", at=3, hint="y"), 400), (DatabaseBusy("x"), 503), (ArchiveUnavailable("x"), 503)],
)
def test_what_the_store_says_is_a_problem(error: Exception, status: int):
    def failing():
        yield "record"
        raise error

    service = StreamService(Endless())
    with pytest.raises(Problem) as problem:
        list(service.serve(Stop(), failing))
    assert problem.value.status == status
    assert service.slots.open == 0


def test_no_place_is_a_problem_that_passes():
    service = StreamService(Endless(), StreamSlots(1))
    first = service.serve(Stop(), lambda: iter(["record"]))
    assert next(first) == "record"
    with pytest.raises(Problem) as problem:
        next(service.serve(Stop(), lambda: iter(["record"])))
    assert (problem.value.status, problem.value.headers["Retry-After"]) == (429, "5")
    first.close()
    assert service.slots.open == 0
