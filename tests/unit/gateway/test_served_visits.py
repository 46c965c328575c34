import os

from hypothesis import given
from hypothesis import strategies as st

from gateway.served_visits import MAX_VISITS, ServedVisits


def visit(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_a_visit_is_known_once_it_was_remembered():
    served_visits = ServedVisits()
    assert visit(0) not in served_visits  # memory that was never written is no visit of zeros
    served_visits.remember(visit(0))
    assert visit(0) in served_visits
    assert visit(1) not in served_visits


def test_the_oldest_is_forgotten_for_the_newest():
    served_visits = ServedVisits()
    for number in range(MAX_VISITS + 3):
        served_visits.remember(visit(number))
    assert [visit(number) in served_visits for number in (0, 2, 3, MAX_VISITS + 2)] == [
        False,
        False,
        True,
        True,
    ]


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=30), st.binary(min_size=16, max_size=16))
def test_bytes_that_straddle_two_visits_are_none(visits: list[bytes], other: bytes):
    served_visits = ServedVisits()
    for known in visits:
        served_visits.remember(known)
    joined = b"".join(visits)
    for at in range(1, len(joined) - 16):
        assert (joined[at : at + 16] in served_visits) == (joined[at : at + 16] in visits)
    assert (other in served_visits) == (other in visits)


def test_counts_are_kept_apart():
    served_visits = ServedVisits()
    served_visits.note_active(2)
    served_visits.remember(visit(5))
    served_visits.finish()
    assert (served_visits.active, served_visits.finished, visit(5) in served_visits) == (2, 1, True)
    assert served_visits.uptime_s >= 0


def test_what_a_forked_server_notes_outlives_it():
    served_visits = ServedVisits()
    child = os.fork()
    if not child:
        served_visits.remember(visit(7))
        served_visits.finish()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert visit(7) in served_visits
    assert served_visits.finished == 1
