"""GIVEN deadlines WHEN one passes THEN its call is made, unless it was called off."""

import threading

from storage.query.deadlines import Deadlines

PATIENCE_S = 60.0


def test_what_is_due_is_called_once_and_what_was_called_off_is_not():
    deadlines = Deadlines()
    called: list[str] = []
    late, soon = threading.Event(), threading.Event()

    def call(name: str, done: threading.Event) -> None:
        called.append(name)
        done.set()

    with deadlines.after(3600, lambda: call("never", late)):
        with deadlines.after(0.01, lambda: call("off", late)):
            pass
        with deadlines.after(0.05, lambda: call("late", late)):
            with deadlines.after(0.02, lambda: call("soon", soon)):
                assert soon.wait(PATIENCE_S)
            assert late.wait(PATIENCE_S)
    assert sorted(called) == ["late", "soon"]


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
