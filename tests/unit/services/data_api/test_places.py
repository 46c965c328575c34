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
