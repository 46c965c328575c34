import os

from hypothesis import given
from hypothesis import strategies as st

from gateway.ledger import REMEMBERED, Ledger


def visit(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_a_visit_is_known_once_it_was_remembered():
    ledger = Ledger()
    assert visit(0) not in ledger  # memory that was never written is no visit of zeros
    ledger.remember(visit(0))
    assert visit(0) in ledger
    assert visit(1) not in ledger


def test_the_oldest_is_forgotten_for_the_newest():
    ledger = Ledger()
    for number in range(REMEMBERED + 3):
        ledger.remember(visit(number))
    assert [visit(number) in ledger for number in (0, 2, 3, REMEMBERED + 2)] == [False, False, True, True]


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=30), st.binary(min_size=16, max_size=16))
def test_bytes_that_straddle_two_visits_are_none(visits: list[bytes], other: bytes):
    ledger = Ledger()
    for known in visits:
        ledger.remember(known)
    joined = b"".join(visits)
    for at in range(1, len(joined) - 16):
        assert (joined[at : at + 16] in ledger) == (joined[at : at + 16] in visits)
    assert (other in ledger) == (other in visits)


def test_counts_are_kept_apart():
    ledger = Ledger()
    ledger.note_active(2)
    ledger.remember(visit(5))
    ledger.finish()
    assert (ledger.active, ledger.finished, visit(5) in ledger) == (2, 1, True)
    assert ledger.uptime_s >= 0


def test_what_a_forked_server_notes_outlives_it():
    ledger = Ledger()
    child = os.fork()
    if not child:
        ledger.remember(visit(7))
        ledger.finish()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert visit(7) in ledger
    assert ledger.finished == 1
