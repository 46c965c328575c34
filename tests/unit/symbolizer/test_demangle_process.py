import os
import subprocess
import sys
import threading

import pytest

from symbolizer import demangle_process
from symbolizer.demangle import MAX_MANGLED
from symbolizer.demangle_child import MAX_PLAIN
from symbolizer.demangle_process import DemanglerProcess
from tests.polling import until

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PROGRAM = """
import sys
from symbolizer.demangle import demangle
from symbolizer.worker.memory_limit import limit_memory

limit_memory(512 << 20)
for name in sys.argv[1:]:
    print(demangle(name) == name)
print(demangle("_Z3fooi"))
"""


def doubling(levels: int) -> str:
    """A type that holds the one before it twice, and so on: P<P<P<int, int>, P<int, int>>, …>."""
    name = "_Z1f1PIiiE"
    for level in range(levels):
        name += f"S_IS{DIGITS[level]}_S{DIGITS[level]}_E"
    return name


NESTED = "_Z" + "Z" * (MAX_MANGLED - 2)


def test_names_that_would_take_all_memory_or_all_stack_stay_as_they_are() -> None:
    bomb = doubling(30)
    assert len(bomb) < 320
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, bomb, NESTED, "_R" + "N" * 16000],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, "LLVM's demangler would abort"
    assert done.stdout.split("\n")[:4] == ["True", "True", "True", "foo(int)"]


@pytest.fixture
def demangler():
    made = DemanglerProcess()
    yield made
    made.close()


def test_its_child_is_started_again_when_it_died(demangler: DemanglerProcess) -> None:
    assert demangler.demangle("_Z3fooi") == "foo(int)"
    assert not demangler.demangle(doubling(30))
    assert not demangler.demangle(NESTED)
    assert demangler.demangle("_RNvC3foo3bar") == "foo::bar"
    assert not demangler.demangle("_Zebra")


def test_names_that_threads_ask_for_are_answered_though_its_child_ends_with_a_thread(
    demangler: DemanglerProcess,
) -> None:
    answers: list[str] = []
    for number in range(6):
        thread = threading.Thread(
            target=lambda n=number: answers.append(demangler.demangle(f"_Z{n + 1}{'f' * (n + 1)}i"))
        )
        thread.start()
        thread.join()
        until(lambda: demangler._child is None or demangler._child.poll() is not None, "the child has ended")
    assert answers == [f"{'f' * (n + 1)}(int)" for n in range(6)]


def test_long_answers_come_whole_and_longer_ones_not_at_all(demangler: DemanglerProcess) -> None:
    long = demangler.demangle(doubling(10))
    assert (1 << 14) < len(long) <= MAX_PLAIN
    assert long.count("int") == (1 << 12) - 2
    assert not demangler.demangle(doubling(14))


def test_after_many_failures_nothing_is_asked_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    demangler = DemanglerProcess(clock=lambda: now)
    monkeypatch.setattr(demangle_process, "MOST_FAILURES", 2)
    assert not demangler.demangle(doubling(30))
    assert demangler.demangle("_Z3fooi") == "foo(int)"
    assert not demangler.demangle(doubling(31))
    assert not demangler.demangle("_Z3fooi")
    now += demangle_process.REST_S
    assert demangler.demangle("_Z3fooi") == "foo(int)"
    demangler.close()


def test_a_forked_process_has_a_child_of_its_own(demangler: DemanglerProcess) -> None:
    assert demangler.demangle("_Z3fooi") == "foo(int)"
    forked = os.fork()
    if forked == 0:
        status = 1
        try:
            status = 0 if demangler.demangle("_Z3bari") == "bar(int)" else 2
            demangler.close()
        finally:
            os._exit(status)
    assert os.waitpid(forked, 0) == (forked, 0)
    assert demangler.demangle("_Z3fooi") == "foo(int)"
