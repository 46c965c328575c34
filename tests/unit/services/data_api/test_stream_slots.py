"""GIVEN slots for streams WHEN they are taken THEN no more than there are, of none too many, and none for ever."""

from contextlib import ExitStack

import pytest

from services.data_api.errors import TooManyStreams
from services.data_api.stream_slots import FOLLOWING, STREAMS, STREAMS_OF_ONE, Holder, StreamSlots
from storage.data.cancellation import Stop


def test_one_too_many_is_refused_until_one_ends():
    slots = StreamSlots(2, of_one=2)
    with slots.acquired(Stop()):
        with slots.acquired(Stop()):
            with pytest.raises(TooManyStreams, match="2 open streams"), slots.acquired(Stop()):
                pass
            assert slots.open == 2
        with slots.acquired(Stop()):
            pass
    assert slots.open == 0


def test_no_caller_takes_more_than_its_share():
    slots = StreamSlots(4, of_one=2)
    mine, theirs = Holder("me"), Holder("they")
    with slots.acquired(Stop(), holder=mine), slots.acquired(Stop(), holder=mine):
        with (
            pytest.raises(TooManyStreams, match="2 open streams") as error,
            slots.acquired(Stop(), holder=mine),
        ):
            pass
        assert error.value.hint == "End one of them, or retry when one has ended."
        with slots.acquired(Stop(), holder=theirs):
            assert slots.open == 3
    with slots.acquired(Stop(), holder=mine):
        assert slots.open == 1


def test_those_that_follow_leave_places_to_others():
    assert STREAMS_OF_ONE < FOLLOWING < STREAMS
    slots = StreamSlots(3, following=2)
    with ExitStack() as opened:
        for caller in ("a", "b"):
            opened.enter_context(slots.acquired(Stop(), holder=Holder(caller, follows=True)))
        with (
            pytest.raises(TooManyStreams, match="2 streams that follow"),
            slots.acquired(Stop(), holder=Holder("c", follows=True)),
        ):
            pass
        opened.enter_context(slots.acquired(Stop(), holder=Holder("c")))
        with (
            pytest.raises(TooManyStreams, match="3 streams are open"),
            slots.acquired(Stop(), holder=Holder("d")),
        ):
            pass


def test_a_stream_that_fails_gives_its_place_back():
    slots = StreamSlots(1)
    with pytest.raises(KeyError), slots.acquired(Stop()):
        raise KeyError
    assert slots.open == 0


def test_those_nobody_reads_are_ended():
    slots = StreamSlots()
    unread, read, working = Stop(), Stop(), Stop()
    with slots.acquired(unread), slots.acquired(read), slots.acquired(working):
        slots.offered(unread)
        slots.offered(read)
        slots.took(read)
        assert slots.end_unread(unread_s=60) == []
        assert slots.end_unread(unread_s=-1) == [unread]
        assert (unread.is_set, read.is_set, working.is_set) == (True, False, False)
        slots.end_all()
        assert (read.is_set, working.is_set) == (True, True)


def test_those_that_are_too_old_are_ended_and_cut_if_they_wait():
    now, cut = 0.0, []
    slots = StreamSlots(clock=lambda: now)
    working, waiting, young = Stop(), Stop(), Stop()
    with (
        slots.acquired(working, lambda: cut.append(working)),
        slots.acquired(waiting, lambda: cut.append(waiting)),
    ):
        slots.offered(waiting)
        now = 50.0
        with slots.acquired(young, lambda: cut.append(young)):
            slots.offered(young)
            now = 105.0
            assert slots.end_old(100.0, overtime_s=200.0) == [working, waiting]
            assert (working.is_set, waiting.is_set, young.is_set, cut) == (True, True, False, [])
            assert slots.end_old(100.0, overtime_s=30.0) == []
            assert cut == [waiting]
