"""GIVEN deadlines WHEN one passes THEN its call is made, unless it was called off."""

import threading

import pytest

from storage.snapshots.deadlines import Deadlines

PATIENCE_S = 60.0


class Clock:
    """Seconds that pass when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def finished() -> None:
    """Return when no call is under way."""
    for thread in threading.enumerate():
        if thread.name == "deadline":
            thread.join(PATIENCE_S)


def test_what_is_due_is_called_once_and_what_was_called_off_is_not():
    clock = Clock()
    deadlines = Deadlines(clock)
    called: list[str] = []
    late, first = threading.Event(), threading.Event()

    def call(name: str, done: threading.Event) -> None:
        called.append(name)
        done.set()

    with deadlines.after(9000, lambda: call("never", late)):
        with deadlines.after(3600, lambda: call("off", late)):
            pass
        with deadlines.after(7200, lambda: call("late", late)):
            clock.now += 8000
            # Earlier than all others, so it wakes the thread, which finds these due after it.
            with deadlines.after(-8000, lambda: call("first", first)):
                assert first.wait(PATIENCE_S)
            assert late.wait(PATIENCE_S)
    finished()
    assert sorted(called) == ["first", "late"]


def test_a_moment_passes_by_itself():
    passed = threading.Event()
    with Deadlines().after(0.02, passed.set):
        assert passed.wait(PATIENCE_S)


def test_where_no_thread_is_to_be_had_calls_are_made_all_the_same(monkeypatch: pytest.MonkeyPatch):
    deadlines = Deadlines()
    begun, told = threading.Thread.start, []
    told_all, second, third = threading.Event(), threading.Event(), threading.Event()

    def start(thread: threading.Thread) -> None:
        if thread.name == "deadline":
            raise RuntimeError("can't start new thread")
        begun(thread)

    def fail() -> None:
        raise ZeroDivisionError

    def tell(args: threading.ExceptHookArgs) -> None:
        told.append(args.exc_type)
        told_all.set()

    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(threading, "excepthook", tell)
    with deadlines.after(0.0, fail):
        assert told_all.wait(PATIENCE_S)
    with deadlines.after(0.0, second.set):
        assert second.wait(PATIENCE_S)
    monkeypatch.setattr(threading.Thread, "start", begun)
    with deadlines.after(0.0, third.set):
        assert third.wait(PATIENCE_S)
    assert told == [ZeroDivisionError]


def test_where_none_is_to_be_had_to_wait_in_the_call_is_off(monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    deadlines = Deadlines(clock)
    called: list[str] = []
    later = threading.Event()

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError), deadlines.after(10, lambda: called.append("not begun")):
            called.append("inside")
    clock.now += 20
    with deadlines.after(0, later.set):
        assert later.wait(PATIENCE_S), "the next one tries again"
    finished()
    assert called == []


def test_a_call_that_takes_long_keeps_no_other_waiting():
    deadlines = Deadlines()
    first, second = threading.Event(), threading.Event()
    with deadlines.after(0.0, lambda: first.wait(PATIENCE_S) or None), deadlines.after(0.0, second.set):
        assert second.wait(PATIENCE_S), "the other is under way still"
    first.set()


def test_one_thread_waits_for_all():
    deadlines = Deadlines()
    before = threading.active_count()
    for _ in range(50):
        with deadlines.after(3600, lambda: None):
            assert threading.active_count() <= before + 1
