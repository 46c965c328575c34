import os

from hypothesis import given
from hypothesis import strategies as st

from gateway.symbols.seen_builds import MAX_AGE_S, MAX_BUILDS, MAX_PATH_BYTES, SeenBuild, SeenBuilds
from tests.fake_clock import FakeClock

KEYS = st.text(max_size=12)


def test_the_last_place_of_a_build_counts():
    seen_builds = SeenBuilds()
    seen_builds.note("aa", 10, "/usr/bin/old")
    seen_builds.note("aa", 11, "/usr/bin/ne\udcffw")
    assert seen_builds.find("aa") == SeenBuild(11, "/usr/bin/ne\udcffw")
    assert seen_builds.find("ab") is None


def test_what_was_seen_long_ago_is_not_known_any_more():
    clock = FakeClock()
    seen_builds = SeenBuilds(clock)
    seen_builds.note("aa", 10, "/bin/a")
    clock.now += MAX_AGE_S
    assert seen_builds.find("aa") is not None
    clock.now += 1
    assert seen_builds.find("aa") is None
    seen_builds.note("aa", 10, "/bin/a")
    assert seen_builds.find("aa") is not None


def test_a_path_that_is_too_long_is_left_out_whole():
    seen_builds = SeenBuilds()
    seen_builds.note("aa", 10, "/" + "x" * (MAX_PATH_BYTES - 1))
    seen_builds.note("bb", 10, "/" + "x" * MAX_PATH_BYTES)
    assert seen_builds.find("aa") == SeenBuild(10, "/" + "x" * (MAX_PATH_BYTES - 1))
    assert seen_builds.find("bb") == SeenBuild(10, "")


def test_the_oldest_give_way():
    seen_builds = SeenBuilds()
    for number in range(MAX_BUILDS + 1):
        seen_builds.note(f"{number:x}", number, "/bin/a")
    assert seen_builds.find("0") is None
    assert seen_builds.find("1") == SeenBuild(1, "/bin/a")
    assert seen_builds.find(f"{MAX_BUILDS:x}") == SeenBuild(MAX_BUILDS, "/bin/a")


def test_a_forked_server_and_its_successor_share_them():
    seen_builds = SeenBuilds()
    child = os.fork()
    if not child:
        seen_builds.note("aa", 7, "/bin/a")
        os._exit(0)
    os.waitpid(child, 0)
    assert seen_builds.find("aa") == SeenBuild(7, "/bin/a")


@given(st.lists(st.tuples(KEYS, st.integers(0, 2**22), st.text(max_size=20)), max_size=30))
def test_they_are_a_dictionary(notes):
    seen_builds = SeenBuilds()
    for key, pid, path in notes:
        seen_builds.note(key, pid, path.encode("utf-8", "replace").decode())
    for key, (pid, path) in {key: (pid, path) for key, pid, path in notes}.items():
        assert seen_builds.find(key) == SeenBuild(pid, path.encode("utf-8", "replace").decode())
