"""What a drain hands out, on rings that are files, and what is asked of the kernel."""

import mmap
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from gateway.errors import EventUnavailable
from gateway.perf.attributes import Flag, SampleType
from gateway.perf.events import EVENTS, Event
from gateway.perf.records import Record, Sample
from gateway.perf.ring import Ring
from gateway.perf.sampler import RING_BYTES, SMALL_RING_BYTES, Sampler, Sampling, Totals, max_ring_bytes

CPU = EVENTS["cpu"]
DATA_BYTES = mmap.PAGESIZE
RECORD = 40


class FileSampler(Sampler):
    """A sampler without the kernel; `write` puts a flat sample into a ring."""

    def __init__(self, folder: Path, rings: int) -> None:
        super().__init__(Sampling(CPU, 10_000_000, stacks=False), range(rings))
        self._memories = []
        for number in range(rings):
            path = folder / f"ring{number}"
            path.write_bytes(bytes(mmap.PAGESIZE + DATA_BYTES))
            with path.open("r+b") as file:
                self._memories.append(mmap.mmap(file.fileno(), 0))
                self._rings.append(Ring(file.fileno(), DATA_BYTES))

    def descriptors(self) -> Iterable[int]:
        return []

    def totals(self) -> Totals:
        return Totals()

    def write(self, ring: int, stamp: int, ip: int) -> None:
        memory = self._memories[ring]
        (head,) = struct.unpack_from("<Q", memory, 1024)
        struct.pack_into("<IHHQQIIQ", memory, mmap.PAGESIZE + head, 9, 2, RECORD, 77, ip, 1, 1, stamp)
        struct.pack_into("<Q", memory, 1024, head + RECORD)

    def write_output(self, ring: int, *, stamp: int, data: bytes) -> None:
        """A record of a BPF program's event 88."""
        memory = self._memories[ring]
        (head,) = struct.unpack_from("<Q", memory, 1024)
        body = struct.pack("<QQIIQI", 88, 0, 1, 1, stamp, len(data)) + data
        body += bytes(-len(body) % 8)
        at = mmap.PAGESIZE + head
        memory[at : at + 8 + len(body)] = struct.pack("<IHH", 9, 2, 8 + len(body)) + body
        struct.pack_into("<Q", memory, 1024, head + 8 + len(body))

    def tail(self, ring: int) -> int:
        (tail,) = struct.unpack_from("<Q", self._memories[ring], 1032)
        return tail


@pytest.fixture
def sampler(tmp_path: Path) -> Iterator[FileSampler]:
    with FileSampler(tmp_path, 2) as made:
        yield made


def collect(into: list[int]) -> Callable[[Record], None]:
    def consume(record: Record) -> None:
        assert isinstance(record, Sample)
        into.append(record.ip)

    return consume


def test_records_of_all_cpus_come_in_order_of_time(sampler: FileSampler):
    for ring, stamp in [(0, 10), (0, 30), (0, 50), (1, 20), (1, 40)]:
        sampler.write(ring, stamp, ip=stamp)
    seen: list[int] = []
    sampler.drain(collect(seen))
    assert seen == [10, 20, 30, 40, 50]
    assert sampler.bytes_read == 5 * RECORD


def test_what_is_younger_than_the_drain_waits_for_the_next_one(sampler: FileSampler):
    later = time.monotonic_ns() + 3_600_000_000_000
    sampler.write(0, 1, ip=1)
    sampler.write(1, later, ip=2)
    seen: list[int] = []
    sampler.drain(collect(seen))
    assert seen == [1]
    sampler.drain(collect(seen), everything=True)
    assert seen == [1, 2]


def test_space_is_given_back_behind_each_record_and_in_the_rings_order(sampler: FileSampler):
    """An interrupt's record (30) may lie before the one that it interrupted (20)."""
    for stamp in (10, 30, 20, 40):
        sampler.write(0, stamp, ip=stamp)
    tails: list[int] = []
    seen: list[int] = []

    def consume(record: Record) -> None:
        assert isinstance(record, Sample)
        seen.append(record.ip)
        tails.append(sampler.tail(0))

    sampler.drain(consume)
    assert sorted(seen) == [10, 20, 30, 40]
    assert tails == sorted(tails)
    assert all(tail <= RECORD * number for number, tail in enumerate(tails)), "given back before it was read"
    assert sampler.tail(0) == 4 * RECORD


def test_a_record_is_not_handed_out_twice(sampler: FileSampler):
    sampler.write(0, 1, ip=1)
    seen: list[int] = []
    sampler.drain(collect(seen))
    sampler.drain(collect(seen))
    assert seen == [1]


def test_what_is_asked_of_the_kernel():
    asked = Sampling(CPU, 10_101_010).attributes()
    assert asked.sample_period == 10_101_010
    assert asked.sample_stack_user == 16384
    assert asked.clockid == time.CLOCK_MONOTONIC
    flags = Flag(asked.flags)
    assert Flag.DISABLED | Flag.EXCLUDE_IDLE | Flag.SAMPLE_ID_ALL | Flag.MMAP2 | Flag.TASK in flags
    # With PERF_SAMPLE_PERIOD (1 << 8) the kernel takes every software event, whatever the period.
    assert not asked.sample_type & 1 << 8
    # attr.freq (1 << 10) reaches a quarter of the wished rate on software events.
    assert not asked.flags & 1 << 10


def test_an_event_source_that_leaves_nothing_out_is_not_asked_to():
    """Kernel: PERF_PMU_CAP_NO_EXCLUDE answers EINVAL to any of them."""
    flags = Flag(Sampling(Event("pmu:x:y", "x/y/", 40, 1, "count"), 97).attributes().flags)
    assert not flags & (Flag.EXCLUDE_HV | Flag.EXCLUDE_IDLE | Flag.EXCLUDE_KERNEL)


totals = st.integers(0, 1 << 60)


@given(st.lists(st.tuples(totals, totals), max_size=8), totals, totals, totals, totals)
def test_totals_of_segments_add_up_to_those_of_the_event(lost, enabled, running, more_enabled, more_running):
    first = Totals(tuple(before for before, _ in lost), enabled, running)
    last = Totals(
        tuple(before + more for before, more in lost), enabled + more_enabled, running + more_running
    )
    assert last.since(Totals()) == last
    passed = last.since(first)
    assert passed.lost == tuple(more for _, more in lost)
    assert (passed.enabled_ns, passed.running_ns) == (more_enabled, more_running)


def test_without_stacks_nothing_of_the_stack_is_copied():
    asked = Sampling(CPU, 10_101_010, stacks=False, follow=False).attributes()
    assert SampleType(asked.sample_type) == (
        SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME
    )
    assert asked.sample_stack_user == asked.sample_regs_user == 0
    assert not Flag(asked.flags) & (Flag.MMAP2 | Flag.TASK | Flag.COMM)


@pytest.mark.parametrize("rate", [99, 499, 999])
def test_a_ring_is_read_before_a_busy_cpu_has_filled_half_of_it(rate: int):
    sampling = Sampling(CPU, round(1e9 / rate))
    wait = sampling.wait(RING_BYTES, None)
    assert 0 < wait <= 0.5
    assert wait * rate * 16384 <= RING_BYTES / 2


@pytest.mark.parametrize("rate", [99, 199, 499])
def test_a_reader_that_comes_half_a_second_late_loses_nothing_of_two_busy_cpus(rate: int):
    """It was seen to come 0.4 s late on a machine with more to run than CPUs."""
    sampling = Sampling(CPU, round(1e9 / rate))
    ring_bytes = sampling.ring_bytes(2)
    holds_s = ring_bytes / (rate * (16384 + 600))
    assert holds_s > 0.98
    assert holds_s - sampling.wait(ring_bytes, None) > 0.7


@given(st.floats(0, 1e10), st.integers(0, 10).map(lambda n: RING_BYTES << n))
def test_an_event_of_unknown_rate_is_read_as_often_as_it_was_seen_to_need(pace: float, ring_bytes: int):
    wait = Sampling(EVENTS["page-faults"], 97).wait(ring_bytes, pace)
    assert 0.01 <= wait <= 0.125
    assert wait == 0.01 or wait * pace <= ring_bytes / 2 * (1 + 1e-9)


def test_a_burst_of_an_event_of_unknown_rate_shortens_the_next_wait(sampler: FileSampler):
    counting = FileSampler.__new__(FileSampler)
    counting.__dict__.update(sampler.__dict__)
    counting.sampling = Sampling(EVENTS["page-faults"], 97)  # type: ignore[misc]  # the fixture's is of cpu
    assert counting.wait_s == 0.02
    counting.drain(collect([]))
    for stamp in range(1, 100):
        counting.write(0, stamp, ip=stamp)
    counting.drain(collect([]))
    assert counting.wait_s == 0.01, "99 records of 32 bytes in no time fill a ring of 4096"


@given(st.floats(1, 5000), st.integers(1, 512), st.sampled_from([8192, 16384, 32768]))
def test_a_ring_holds_a_second_unless_that_is_too_much(rate: float, cpus: int, stack_bytes: int):
    ring_bytes = Sampling(EVENTS["cpu"], round(1e9 / rate), stack_bytes=stack_bytes).ring_bytes(cpus)
    assert ring_bytes >= RING_BYTES
    assert ring_bytes & (ring_bytes - 1) == 0
    assert ring_bytes * cpus <= max_ring_bytes(cpus)
    second = rate * stack_bytes
    assert ring_bytes >= second or ring_bytes * 2 > min(8 << 20, (64 << 20) // cpus)


@given(
    st.sampled_from(["cpu", "page-faults"]),
    st.booleans(),
    st.integers(1, 512),
    st.integers(2, 32),
    st.floats(1, 5000),
)
def test_events_together_share_what_all_rings_may_have(
    name: str, stacks: bool, cpus: int, together: int, rate: float
):
    sampling = Sampling(EVENTS[name], round(1e9 / rate), stacks=stacks, together=together)
    ring_bytes = sampling.ring_bytes(cpus)
    assert ring_bytes & (ring_bytes - 1) == 0
    least = SMALL_RING_BYTES if stacks else 64 << 10
    assert ring_bytes >= least
    assert ring_bytes == least or ring_bytes * cpus * together <= max_ring_bytes(cpus)


def test_at_the_usual_rate_a_ring_is_a_mebibyte_on_many_cpus_and_two_on_few():
    usual = Sampling(EVENTS["cpu"], round(1e9 / 99))
    assert [usual.ring_bytes(cpus) >> 20 for cpus in (2, 32, 64, 256)] == [2, 2, 1, 1]


def test_an_error_while_records_are_read_closes_everything_and_stays_the_error(tmp_path: Path):
    def fail(record: Record) -> None:
        raise OSError(f"broke at {record}")

    sampler = FileSampler(tmp_path, 2)
    sampler.write(0, 1, 0x10)
    with pytest.raises(OSError, match="broke at Sample"), sampler:
        sampler.drain(fail)
    sampler.close()


def test_the_rings_of_all_cpus_shrink_together_until_the_limit_allows_them(monkeypatch: pytest.MonkeyPatch):
    allowed = 2 * SMALL_RING_BYTES + 8192
    mapped = []

    def limited(descriptor: int, data_bytes: int) -> Ring:
        if sum(ring.data_bytes for ring in mapped if ring.is_mapped) + data_bytes > allowed:
            raise PermissionError(1, "Operation not permitted")
        mapped.append(FakeRing(data_bytes))
        return mapped[-1]

    monkeypatch.setattr("gateway.perf.sampler.Ring", limited)
    sampler = FileSampler.__new__(FileSampler)
    Sampler.__init__(sampler, Sampling(CPU, 10_000_000), range(2))
    sampler._map([3, 4])
    assert [ring.data_bytes for ring in sampler._rings] == [SMALL_RING_BYTES, SMALL_RING_BYTES]
    sampler.close()
    assert not any(ring.is_mapped for ring in mapped)
    allowed = SMALL_RING_BYTES
    with pytest.raises(EventUnavailable, match="RLIMIT_MEMLOCK") as refused:
        sampler._map([3, 4])
    assert refused.value.support == capture_pb2.SUPPORT_DENIED
    assert not any(ring.is_mapped for ring in mapped)


class FakeRing:
    def __init__(self, data_bytes: int) -> None:
        self.data_bytes = data_bytes
        self.is_mapped = True

    def close(self) -> None:
        self.is_mapped = False


def test_what_a_program_wrote_comes_with_the_next_sample_of_its_ring(sampler: FileSampler):
    sampler._output_events = frozenset({88})
    sampler.write_output(0, stamp=11, data=b"frames")
    sampler.write(0, 10, ip=10)
    sampler.write(1, 12, ip=12)
    sampler.write_output(0, stamp=21, data=b"code")
    seen: dict[int, list[bytes]] = {}

    def consume(record: Record) -> None:
        assert isinstance(record, Sample)
        seen[record.ip] = [output.data for output in record.outputs]

    sampler.drain(consume)
    sampler.write(0, 20, ip=20)
    sampler.drain(consume)
    assert seen == {10: [b"frames"], 12: [], 20: [b"code"]}
