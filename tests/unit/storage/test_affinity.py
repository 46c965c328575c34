"""GIVEN captures WHEN they are divided over partitions THEN those of one program come together."""

from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from storage.work_partitions import PARTITIONS, partition_of
from tests.synthetic_captures import SyntheticCapture, named


def made(programs, *, kernel=0, reverse=False):
    """A capture of programs by build-id byte and samples, and of a kernel thread."""
    capture = SyntheticCapture(UUID(int=1))
    counts = {}
    for build, samples in reversed(programs) if reverse else programs:
        mapping = capture.mapping(f"/opt/p{build}", build_id=bytes([build]) * 20)
        frame = capture.frame(mapping, (named("main"), 1))
        group = capture.group(f"/opt/p{build}")
        capture.message.groups[group].main_mapping = mapping + 1
        counts[group] = {capture.stack([frame]): samples}
    if kernel:
        mapping = capture.mapping("[kernel]", build_id=b"k" * 20)
        frame = capture.frame(mapping, (named("idle"), 1))
        counts[capture.kernel_thread("kworker/0:1")] = {capture.stack([frame]): kernel}
    capture.segment(counts, event="cpu", unit="nanoseconds", period=1000, stacks=True)
    return capture.finished()[0]


programs = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 50)), min_size=1, max_size=5, unique_by=lambda pair: pair[0]
)


@given(programs, st.integers(0, 500))
def test_the_program_with_most_samples_decides(programs, kernel):
    heaviest = max(samples for _, samples in programs)
    candidates = {partition_of(made([(build, 1)])) for build, samples in programs if samples == heaviest}
    partition = partition_of(made(programs, kernel=kernel))
    assert partition in candidates
    assert partition == partition_of(made(programs, kernel=kernel, reverse=True)), "whatever their order"
    assert 0 <= partition < PARTITIONS


def test_a_machine_that_runs_nothing_has_a_partition_too():
    assert partition_of(made([])) == 0
    assert 0 <= partition_of(made([], kernel=5)) < PARTITIONS


def test_programs_are_spread_over_all_partitions():
    spread = Counter(partition_of(made([(build, 1)])) for build in range(200))
    assert len(spread) == PARTITIONS
    assert max(spread.values()) < 3 * 200 / PARTITIONS
