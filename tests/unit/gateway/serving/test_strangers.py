"""GIVEN places for strangers WHEN more come THEN who holds the most gives way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.serving.strangers import Strangers, address_of


def test_the_oldest_of_a_crowd_gives_way_to_the_next_of_it():
    strangers: Strangers[int] = Strangers(per_address=2, in_all=10)
    assert [strangers.add(number, "crowd") for number in range(5)] == [None, None, 0, 1, 2]
    assert strangers.add(9, "other") is None
    assert 9 in strangers
    assert 2 not in strangers


def test_in_all_the_largest_crowd_gives_way():
    strangers: Strangers[int] = Strangers(per_address=3, in_all=4)
    for number, address in enumerate(("one", "crowd", "crowd", "other")):
        assert strangers.add(number, address) is None
    assert strangers.add(4, "another") == 1
    assert {number for number in range(5) if number in strangers} == {0, 2, 3, 4}


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=60))
def test_there_are_never_more_than_so_many(steps: list[tuple[int, bool]]):
    strangers: Strangers[int] = Strangers(per_address=3, in_all=7)
    here: dict[int, int] = {}
    for number, (address, leaves) in enumerate(steps):
        if leaves and here:
            strangers.forget(gone := next(iter(here)))
            del here[gone]
        here[number] = address
        displaced = strangers.add(number, str(address))
        if displaced is not None:
            assert displaced != number
            del here[displaced]
        assert {known for known in range(len(steps)) if known in strangers} == set(here)
        assert len(strangers) == len(here) <= 7
        assert all(list(here.values()).count(each) <= 3 for each in range(6))


def test_who_is_forgotten_may_be_forgotten_again():
    strangers: Strangers[int] = Strangers()
    strangers.add(1, "a")
    strangers.forget(1)
    strangers.forget(1)
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
