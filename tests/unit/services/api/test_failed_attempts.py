"""GIVEN wrong tokens of an address WHEN they are many THEN the address waits, and no other one."""

from services.api.failed_attempts import MOST, WINDOW_S, FailedAttempts


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_after_ten_wrong_tokens_an_address_waits():
    clock = Clock()
    failed = FailedAttempts(clock)
    for _ in range(MOST):
        assert failed.wait_s("10.0.0.1") == 0
        failed.note("10.0.0.1")
        clock.now += 1
    assert failed.wait_s("10.0.0.1") == WINDOW_S - MOST
    assert failed.wait_s("10.0.0.2") == 0
    clock.now += WINDOW_S - MOST
    assert failed.wait_s("10.0.0.1") == 0, "the oldest counts no longer"
    failed.note("10.0.0.1")
    assert failed.wait_s("10.0.0.1") == 1


def test_no_more_addresses_are_remembered_than_there_is_room_for():
    failed = FailedAttempts(Clock())
    for _ in range(MOST):
        failed.note("victim")
    for number in range(10_000):
        failed.note(f"10.{number}")
    assert failed.wait_s("victim") == 0
    assert failed.wait_s("10.9999") == 0
