"""GIVEN a broker that may be away WHEN captures are sent THEN none twice too soon, and none forgotten."""

from dataclasses import replace
from uuid import uuid4

import pytest

from collector.dispatch import Dispatch
from storage.captures import Due


class Broker:
    """Keeps what it is sent, while it is up."""

    def __init__(self):
        self.queue = []
        self.up = True

    def __call__(self, due):
        if not self.up:
            raise ConnectionError("refused")
        self.queue.append(due)


def a_due(generation=1):
    return Due(uuid4(), generation, 0, again=generation > 1)


@pytest.fixture
def broker():
    return Broker()


def test_a_capture_is_sent_again_only_after_a_while(broker):
    now = [0.0]
    dispatch = Dispatch(broker, resend_s=60, clock=lambda: now[0])
    one, other = a_due(), a_due()
    assert dispatch([one]) == 1
    now[0] = 59
    assert dispatch([one, other]) == 1
    now[0] = 61
    assert dispatch([one, other]) == 1
    assert broker.queue == [one, other, one]


def test_a_newer_generation_is_sent_at_once(broker):
    dispatch = Dispatch(broker, resend_s=60, clock=lambda: 0.0)
    first = a_due()
    better = replace(first, generation=2, again=True)
    assert dispatch([first]) == dispatch([first, better]) == 1
    assert broker.queue == [first, better]


def test_while_the_broker_is_away_it_is_tried_now_and_then(broker):
    now, tries = [0.0], []
    dispatch = Dispatch(lambda due: (tries.append(due), broker(due)), clock=lambda: now[0])
    broker.up = False
    captures = [a_due() for _ in range(5)]
    assert dispatch(captures) == 0
    assert dispatch(captures) == 0
    assert len(tries) == 1, "the first failure ends the attempt, and the next rests"
    broker.up = True
    now[0] = 100.0
    assert dispatch(captures) == 5
    assert broker.queue == captures
