"""GIVEN places for streams WHEN they are taken THEN no more than there are, of none too many, and none for ever."""

from contextlib import ExitStack

import pytest

from services.data_api.errors import TooManyStreams
from services.data_api.places import FOLLOWING, STREAMS, STREAMS_OF_ONE, Holder, Places
from storage.data.stopping import Stop


def test_one_too_many_is_refused_until_one_ends():
    places = Places(2, of_one=2)
    with places.taken(Stop()):
        with places.taken(Stop()):
            with pytest.raises(TooManyStreams, match="2 streams"), places.taken(Stop()):
                pass
            assert places.open == 2
        with places.taken(Stop()):
            pass
    assert places.open == 0


def test_no_caller_takes_more_than_its_share():
    places = Places(4, of_one=2)
    mine, theirs = Holder("me"), Holder("they")
    with places.taken(Stop(), holder=mine), places.taken(Stop(), holder=mine):
        with (
            pytest.raises(TooManyStreams, match="2 streams of yours") as error,
            places.taken(Stop(), holder=mine),
        ):
            pass
        assert error.value.hint == "End one of them, or come again when one has ended."
        with places.taken(Stop(), holder=theirs):
            assert places.open == 3
    with places.taken(Stop(), holder=mine):
        assert places.open == 1


def test_those_that_follow_leave_places_to_others():
    assert STREAMS_OF_ONE < FOLLOWING < STREAMS
    places = Places(3, following=2)
    with ExitStack() as opened:
        for caller in ("a", "b"):
            opened.enter_context(places.taken(Stop(), holder=Holder(caller, follows=True)))
        with (
            pytest.raises(TooManyStreams, match="2 streams follow"),
            places.taken(Stop(), holder=Holder("c", follows=True)),
        ):
            pass
        opened.enter_context(places.taken(Stop(), holder=Holder("c")))
        with (
            pytest.raises(TooManyStreams, match="3 streams are open"),
            places.taken(Stop(), holder=Holder("d")),
        ):
            pass


def test_a_stream_that_fails_gives_its_place_back():
    places = Places(1)
    with pytest.raises(KeyError), places.taken(Stop()):
        raise KeyError
    assert places.open == 0


def test_those_nobody_reads_are_ended():
    places = Places()
    unread, read, working = Stop(), Stop(), Stop()
    with places.taken(unread), places.taken(read), places.taken(working):
        places.offered(unread)
        places.offered(read)
        places.took(read)
        assert places.end_unread(unread_s=60) == []
        assert places.end_unread(unread_s=-1) == [unread]
        assert (unread.is_set, read.is_set, working.is_set) == (True, False, False)
        places.end_all()
        assert (read.is_set, working.is_set) == (True, True)


def test_those_that_are_too_old_are_ended_and_cut_if_they_wait():
    now, cut = 0.0, []
    places = Places(clock=lambda: now)
    working, waiting, young = Stop(), Stop(), Stop()
    with (
        places.taken(working, lambda: cut.append(working)),
        places.taken(waiting, lambda: cut.append(waiting)),
    ):
        places.offered(waiting)
        now = 50.0
        with places.taken(young, lambda: cut.append(young)):
            places.offered(young)
            now = 105.0
            assert places.end_old(100.0, overtime_s=200.0) == [working, waiting]
            assert (working.is_set, waiting.is_set, young.is_set, cut) == (True, True, False, [])
            assert places.end_old(100.0, overtime_s=30.0) == []
            assert cut == [waiting]
