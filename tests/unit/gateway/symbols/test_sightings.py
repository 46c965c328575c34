import os

from hypothesis import given
from hypothesis import strategies as st

from gateway.symbols.sightings import LATELY_S, MAX_PATH_BYTES, REMEMBERED, Sighting, Sightings

KEYS = st.text(max_size=12)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_last_place_of_a_build_counts():
    sightings = Sightings()
    sightings.note("aa", 10, "/usr/bin/old")
    sightings.note("aa", 11, "/usr/bin/ne\udcffw")
    assert sightings.find("aa") == Sighting(11, "/usr/bin/ne\udcffw")
    assert sightings.find("ab") is None


def test_what_was_seen_long_ago_is_not_known_any_more():
    clock = Clock()
    sightings = Sightings(clock)
    sightings.note("aa", 10, "/bin/a")
    clock.now += LATELY_S
    assert sightings.find("aa") is not None
    clock.now += 1
    assert sightings.find("aa") is None
    sightings.note("aa", 10, "/bin/a")
    assert sightings.find("aa") is not None


def test_a_path_that_is_too_long_is_left_out_whole():
    sightings = Sightings()
    sightings.note("aa", 10, "/" + "x" * (MAX_PATH_BYTES - 1))
    sightings.note("bb", 10, "/" + "x" * MAX_PATH_BYTES)
    assert sightings.find("aa") == Sighting(10, "/" + "x" * (MAX_PATH_BYTES - 1))
    assert sightings.find("bb") == Sighting(10, "")


def test_the_oldest_give_way():
    sightings = Sightings()
    for number in range(REMEMBERED + 1):
        sightings.note(f"{number:x}", number, "/bin/a")
    assert sightings.find("0") is None
    assert sightings.find("1") == Sighting(1, "/bin/a")
    assert sightings.find(f"{REMEMBERED:x}") == Sighting(REMEMBERED, "/bin/a")


def test_a_forked_server_and_its_successor_share_them():
    sightings = Sightings()
    child = os.fork()
    if not child:
        sightings.note("aa", 7, "/bin/a")
        os._exit(0)
    os.waitpid(child, 0)
    assert sightings.find("aa") == Sighting(7, "/bin/a")


@given(st.lists(st.tuples(KEYS, st.integers(0, 2**22), st.text(max_size=20)), max_size=30))
def test_they_are_a_dictionary(notes):
    sightings = Sightings()
    for key, pid, path in notes:
        sightings.note(key, pid, path.encode("utf-8", "replace").decode())
    for key, (pid, path) in {key: (pid, path) for key, pid, path in notes}.items():
        assert sightings.find(key) == Sighting(pid, path.encode("utf-8", "replace").decode())
