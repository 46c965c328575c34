"""GIVEN places for streams WHEN they are taken THEN no more than there are, and none for ever."""

import pytest

from services.data_api.errors import TooManyStreams
from services.data_api.places import Places
from storage.data.stopping import Stop


def test_one_too_many_is_refused_until_one_ends():
    places = Places(2)
    with places.taken(Stop()):
        with places.taken(Stop()):
            with pytest.raises(TooManyStreams, match="2 streams"), places.taken(Stop()):
                pass
            assert places.open == 2
        with places.taken(Stop()):
            pass
    assert places.open == 0


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
