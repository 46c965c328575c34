"""GIVEN places for strangers WHEN more come THEN who holds the most gives way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.serving.unverified_clients import UnverifiedClients, address_of
from tests.fake_clock import FakeClock


def test_the_oldest_of_a_crowd_gives_way_to_the_next_of_it():
    strangers: UnverifiedClients[int] = UnverifiedClients(per_address=3, in_all=10, clock=FakeClock())
    assert [strangers.add(number, "crowd") for number in range(6)] == [None, None, None, 0, 1, 2]
    assert strangers.add(9, "other") is None
    assert 9 in strangers
    assert 2 not in strangers


def test_who_comes_too_often_is_refused_for_a_while():
    clock = FakeClock()
    strangers: UnverifiedClients[int] = UnverifiedClients(per_address=2, in_all=10, clock=clock)
    for number in range(2):
        assert strangers.add(number, "often") is None
        strangers.remove(number)
    assert strangers.add(5, "often") == 5
    assert 5 not in strangers
    assert strangers.add(6, "other") is None
    clock.now += 1
    assert strangers.add(7, "often") is None


def test_those_that_may_call_do_not_count():
    strangers: UnverifiedClients[int] = UnverifiedClients(per_address=2, in_all=10, clock=FakeClock())
    for number in range(9):
        assert strangers.add(number, "collector") is None
        strangers.verify(number)
        strangers.remove(number)
    assert len(strangers) == 0


def test_in_all_the_largest_crowd_gives_way():
    strangers: UnverifiedClients[int] = UnverifiedClients(per_address=3, in_all=4, clock=FakeClock())
    for number, address in enumerate(("one", "crowd", "crowd", "other")):
        assert strangers.add(number, address) is None
    assert strangers.add(4, "another") == 1
    assert {number for number in range(5) if number in strangers} == {0, 2, 3, 4}


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["come", "go", "wait", "become"])), max_size=60))
def test_there_are_never_more_than_so_many(steps: list[tuple[int, str]]):
    clock = FakeClock()
    strangers: UnverifiedClients[int] = UnverifiedClients(per_address=3, in_all=7, clock=clock)
    here: dict[int, int] = {}
    for number, (address, step) in enumerate(steps):
        if step == "wait":
            clock.now += 0.4
        elif step == "go" and here:
            strangers.remove(gone := next(iter(here)))
            del here[gone]
        elif step == "become" and here:
            strangers.replace(before := next(iter(here)), number)
            here[number] = here.pop(before)
        else:
            here[number] = address
            displaced = strangers.add(number, str(address))
            if displaced is not None:
                del here[displaced]
        assert {known for known in range(len(steps)) if known in strangers} == set(here)
        assert len(strangers) == len(here) <= 7
        assert all(list(here.values()).count(each) <= 3 for each in range(6))


def test_who_has_left_may_leave_again():
    strangers: UnverifiedClients[int] = UnverifiedClients()
    strangers.add(1, "a")
    strangers.remove(1)
    strangers.remove(1)
    strangers.replace(1, 2)
    assert len(strangers) == 0


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
    ],
)
def test_one_address_is_what_one_host_may_choose_from(host: str, address: str):
    assert address_of(host) == address
