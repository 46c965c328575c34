"""GIVEN a kernel with few counters WHEN groups are counted THEN each counter has one answer, and none is an invented 0."""

import errno
import os
import struct
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from gateway.perf.attributes import EventType
from gateway.perf.counters import WHOLE_MACHINE, Counters, CounterScope, Reading
from gateway.perf.events import COUNT, EVENTS, NANOSECONDS, Event, probe, support_of
from gateway.perf.window_counters import STANDING, TASK_CLOCK, WindowCounters
from tests.fake_perf import FakeKernel

OK, NOT_COUNTED = capture_pb2.SUPPORT_OK, capture_pb2.SUPPORT_NOT_COUNTED


def event(number: int, **fields: object) -> Event:
    return Event(f"event-{number}", f"cpu/event={number}/", EventType.RAW, number, COUNT, **fields)


def read(counters: Counters) -> tuple[list[capture_pb2.CounterGroup], list[str]]:
    strings = [""]

    def text(value: str) -> int:
        if value not in strings:
            strings.append(value)
        return strings.index(value)

    return counters.read(text), strings


def verdicts(counters: Counters) -> dict[tuple[str, int], tuple[int, int, int]]:
    """(name, cpu) → support, errno, value."""
    groups, strings = read(counters)
    found = [((strings[c.name], g.cpu), (c.support, c.errno, c.value)) for g in groups for c in g.counters]
    assert len(dict(found)) == len(found), "a counter has two answers"
    return dict(found)


def test_a_group_is_read_together_on_each_cpu_and_given_back():
    kernel = FakeKernel()
    with Counters(kernel) as counters:
        counters.count_cpus([event(1), event(2)], [0, 3])
        groups, strings = read(counters)
        assert [(g.cpu, g.time_enabled_ns, g.time_running_ns) for g in groups] == [
            (0, 1000, 1000),
            (3, 1000, 1000),
        ]
        assert [[(strings[c.name], c.value) for c in g.counters] for g in groups] == [
            [("event-1", 1000), ("event-2", 2000)]
        ] * 2
        assert strings[groups[0].counters[0].source] == "cpu/event=1/"
    assert not kernel.open_now


def test_a_group_that_does_not_fit_is_split_where_the_kernel_says_so():
    kernel = FakeKernel(counters=2)
    with Counters(kernel) as counters:
        counters.count_cpus([event(n) for n in (1, 2, 3, 4)], [0])
        assert verdicts(counters) == {(f"event-{n}", 0): (OK, 0, 1000 * n) for n in (1, 2, 3, 4)}
        assert len(read(counters)[0]) == 3


def test_a_group_that_never_gets_its_turn_is_split_once():
    kernel = FakeKernel(counters=3, held=1)
    with Counters(kernel) as counters:
        counters.count_cpus([event(n) for n in (1, 2, 3)], [0, 1])
        assert {v[0] for v in verdicts(counters).values()} == {NOT_COUNTED}
        assert counters.split_idle() == 2
        assert {v[0] for v in verdicts(counters).values()} == {OK}
        assert counters.split_idle() == 0
        assert len(kernel.open_now) == 6
    assert not kernel.open_now


def test_what_a_split_group_missed_stays_in_the_time_that_its_events_are_scaled_to():
    """Beside groups that ran from the start they would read a tenth low in a window of 5 s."""
    kernel = FakeKernel(counters=3, held=1)
    with Counters(kernel) as counters:
        counters.count_cpus([event(n) for n in (1, 2, 3)], [0])
        counters.count_cpus([event(4)], [0])
        counters.split_idle()
        times = {strings[g.counters[0].name]: (g.time_enabled_ns, g.time_running_ns)
                 for groups, strings in [read(counters)] for g in groups}  # fmt: skip
    # The made kernel says 1000 ns of any group whenever it is read: the split ones were enabled in both.
    assert times == {
        "event-1": (2000, 1000),
        "event-2": (2000, 1000),
        "event-3": (2000, 1000),
        "event-4": (1000, 1000),
    }


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENODEV, errno.EACCES])
def test_a_counter_that_fails_on_a_later_cpu_has_no_reading_of_the_earlier_ones(code: int):
    """ENODEV: the CPU went offline meanwhile."""
    kernel = FakeKernel()
    kernel.failing = {(2, 3): code}
    with Counters(kernel) as counters:
        counters.count_cpus([event(1), event(2)], [0, 1, 3])
        assert verdicts(counters) == {("event-1", cpu): (OK, 0, 1000) for cpu in (0, 1, 3)} | {
            ("event-2", WHOLE_MACHINE): (support_of(code), code, 0)
        }
    assert not kernel.open_now


def test_a_counter_that_fails_in_a_control_group_is_still_the_machines(tmp_path: Path):
    kernel = FakeKernel()
    with Counters(kernel) as counters:
        counters.count_cpus([event(1)], [0, 1])
        kernel.failing = {(1, 1): errno.EMFILE}
        counters.count_cgroup([event(1)], [0, 1], "/pods/a", os.open(tmp_path, os.O_RDONLY))
        groups, strings = read(counters)
        answers = [(strings[g.cgroup], g.cpu, c.support) for g in groups for c in g.counters]
    denied = support_of(errno.EMFILE)
    assert answers == [("", 0, OK), ("", 1, OK), ("/pods/a", WHOLE_MACHINE, denied)]


@given(st.integers(0, 40), st.lists(st.integers(1, 4), max_size=6), st.integers(1, 6))
def test_counters_take_no_more_descriptors_than_they_may_and_none_is_counted_in_part(
    most: int, groups: list[int], cpus: int
):
    kernel = FakeKernel(counters=8)
    numbered = iter(range(1, 100))
    with Counters(kernel, most) as counters:
        for size in groups:
            counters.count_cpus([event(next(numbered)) for _ in range(size)], range(cpus))
        assert len(kernel.open_now) == counters.held <= most
        found = verdicts(counters)
    for name in {name for name, _ in found}:
        of_cpus = {cpu: answer[:2] for (each, cpu), answer in found.items() if each == name}
        refused = {WHOLE_MACHINE: (support_of(errno.EMFILE), errno.EMFILE)}
        assert of_cpus in (dict.fromkeys(range(cpus), (OK, 0)), refused)
    assert len({name for name, _ in found}) == sum(groups)


def test_what_opens_and_never_runs_is_not_counted_and_has_no_value():
    with Counters(FakeKernel(counters=1, held=1)) as counters:
        counters.count_cpus([event(7)], [0])
        assert counters.split_idle() == 0, "one alone cannot be split"
        assert verdicts(counters) == {("event-7", 0): (NOT_COUNTED, 0, 0)}


@given(
    st.integers(1, 6),
    st.integers(0, 3),
    st.dictionaries(
        st.integers(1, 12), st.sampled_from([errno.ENOENT, errno.EACCES, errno.EINVAL, errno.EOPNOTSUPP])
    ),
    st.sets(st.tuples(st.integers(1, 12), st.integers(0, 3))),
    st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=5, unique=True), min_size=1, max_size=4),
)
def test_whatever_the_hardware_each_counter_has_one_answer(counters, held, missing, busy, groups):
    kernel = FakeKernel(counters, held, missing)
    kernel.busy = busy
    numbered = iter(range(1, 100))
    with Counters(kernel) as opened:
        expected = set()
        for group in groups:
            # The same event in two groups has two names here, as two counters have.
            events = [Event(f"e{next(numbered)}-{n}", "x", EventType.RAW, n, COUNT) for n in group]
            expected |= {one.name for one in events}
            opened.count_cpus(events, range(4))
        opened.split_idle()
        found = verdicts(opened)
        for name in expected:
            number = int(name.rpartition("-")[2])
            answers = {cpu: answer for (found_name, cpu), answer in found.items() if found_name == name}
            if number in missing:
                assert answers == {WHOLE_MACHINE: (support_of(missing[number]), missing[number], 0)}
                continue
            assert answers.keys() == set(range(4))
            for cpu, (support, code, value) in answers.items():
                if (number, cpu) in busy:
                    assert (support, code, value) == (capture_pb2.SUPPORT_BUSY, errno.EBUSY, 0)
                elif support == OK:
                    assert value == number * 1000
                else:
                    assert (support, value, held >= counters) == (NOT_COUNTED, 0, True)
    assert not kernel.open_now


def test_the_parts_of_a_control_group_are_added_up_without_the_cpus_it_never_ran_on(tmp_path: Path):
    kernel = FakeKernel()
    kernel.idle_cpus = {2}
    with Counters(kernel) as counters:
        directory = os.open(tmp_path, os.O_RDONLY)
        counters.count_cgroup([event(1), event(2)], [0, 1, 2], "/pods/a", directory)
        assert {(o.pid, o.in_cgroup) for o in kernel.open_now.values()} == {(directory, True)}
        ((place, _, reading),) = counters.readings()
        assert place == CounterScope(cgroup="/pods/a")
        assert reading == Reading(2000, 2000, (2000, 4000))
        (message,), strings = read(counters)
        assert (message.cpu, strings[message.cgroup], message.package) == (WHOLE_MACHINE, "/pods/a", 0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(directory)


def test_times_that_count_from_boot_are_brought_back_to_when_the_group_was_opened(tmp_path: Path):
    boot_ns = 44_305 * 10**9

    class FromBoot(FakeKernel):
        def read(self, descriptor: int, size: int) -> bytes:
            count, enabled, running, *values = struct.unpack(f"<{size // 8}Q", super().read(descriptor, size))
            return struct.pack(f"<{size // 8}Q", count, enabled + boot_ns, running + boot_ns, *values)

    with Counters(FromBoot()) as counters:
        counters.count_cgroup([event(1)], [0], "/pods/a", os.open(tmp_path, os.O_RDONLY))
        ((_, _, reading),) = counters.readings()
    assert reading.running == reading.enabled < boot_ns, "a ratio of 1 stays one"


def test_a_control_group_that_never_ran_is_not_counted_rather_than_zero(tmp_path: Path):
    kernel = FakeKernel()
    kernel.idle_cpus = {0, 1}
    with Counters(kernel) as counters:
        counters.count_cgroup([event(1)], [0, 1], "/a", os.open(tmp_path, os.O_RDONLY))
        ((_, _, reading),) = counters.readings()
        assert reading == Reading(0, 0, (0,))
        assert read(counters)[0][0].counters[0].support == NOT_COUNTED


def test_parts_that_took_turns_are_given_each_for_itself():
    """Their shares of the time differ, so their raw readings must not be added."""
    kernel = FakeKernel(turns=4)
    with Counters(kernel) as counters:
        counters.count_packages([event(5, cpus=(0, 8))], {0: 0, 8: 0}.__getitem__)
        groups, _ = read(counters)
        assert [(g.package, g.time_enabled_ns, g.time_running_ns) for g in groups] == [(1, 1000, 250)] * 2


def test_the_boxes_of_a_socket_are_added_up_and_sockets_are_not():
    with Counters(FakeKernel()) as counters:
        for _ in range(3):
            counters.count_packages([event(5, cpus=(0, 8), scale=64.0)], {0: 0, 8: 1}.__getitem__)
        groups, _ = read(counters)
        assert [(g.cpu, g.package, g.counters[0].value, g.counters[0].scale) for g in groups] == [
            (-1, 1, 15000, 64.0), (-1, 2, 15000, 64.0),
        ]  # fmt: skip


def test_what_was_not_even_tried_is_a_refusal_too():
    with Counters(FakeKernel()) as counters:
        counters.refuse("cycles-any", errno.ENOENT)
        assert verdicts(counters) == {
            ("cycles-any", WHOLE_MACHINE): (capture_pb2.SUPPORT_UNSUPPORTED, errno.ENOENT, 0)
        }


# The kernel that runs here


@pytest.fixture
def _permitted() -> None:
    if code := probe(EVENTS["page-faults"], own=False, sampling=False):
        pytest.skip(f"perf events are not permitted here: {os.strerror(code)}")


@pytest.mark.usefixtures("_permitted")
def test_software_events_count_what_happened_here():
    cpus = sorted(os.sched_getaffinity(0))
    with WindowCounters(cpus, ["tsc", "raw:0xffffffffffffffff"]) as counters:
        began = time.monotonic_ns()
        for _ in range(1000):
            bytearray(1 << 16)
        for _ in range(20):
            time.sleep(1e-5)  # a switch each; a yield is none where nobody else wants the CPU
        strings = [""]

        def text(value: str) -> int:
            strings.append(value)
            return len(strings) - 1

        groups = counters.read(text)
        lasted = time.monotonic_ns() - began
    answers = {(strings[c.name], g.cpu): (c, g) for g in groups for c in g.counters}
    for cpu in cpus:
        for name in ("page-faults", "context-switches", "cpu-migrations"):
            counter, group = answers[name, cpu]
            assert counter.support == OK
            assert group.time_enabled_ns == group.time_running_ns >= lasted
    assert sum(answers["context-switches", cpu][0].value for cpu in cpus) > 0
    for names in STANDING:
        for name in names:
            assert (name, cpus[0]) in answers or answers[name, WHOLE_MACHINE][0].support != OK
    assert answers["raw:0xffffffffffffffff", WHOLE_MACHINE][0].support != OK


@pytest.mark.usefixtures("_permitted")
def test_the_counted_time_of_a_thread_is_its_cpu_time():
    """TASK_CLOCK is what stands in for cycles where there is no PMU."""
    assert (TASK_CLOCK.unit, TASK_CLOCK.config) == (NANOSECONDS, 1)
    assert probe(TASK_CLOCK, own=True, sampling=False) == 0
