"""GIVEN what the kernel says of an event WHEN its segment is closed THEN a 0 that is no answer is not given as one."""

from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from gateway.capture.capture_runner import finish_segment
from gateway.capture.packer import SegmentCounts
from gateway.perf.sampler import Totals

times = st.integers(0, 1 << 50)


@given(st.integers(0, 5), times, times, st.lists(st.integers(0, 100), max_size=4))
def test_only_what_never_ran_is_not_counted(samples: int, enabled: int, running: int, lost: list[int]):
    segment = SegmentCounts(capture_pb2.Segment(support=capture_pb2.SUPPORT_OK))
    if samples:
        segment.counts[0, 0] = samples
    finish_segment(segment, Totals(tuple(lost), enabled, running))
    message = segment.message
    assert (message.time_enabled_ns, message.time_running_ns, list(message.lost)) == (enabled, running, lost)
    never_ran = bool(enabled) and not running and not samples
    expected = capture_pb2.SUPPORT_NOT_COUNTED if never_ran else capture_pb2.SUPPORT_OK
    assert message.support == expected


def test_an_idle_machine_has_an_answer_of_0_samples():
    segment = SegmentCounts(capture_pb2.Segment(support=capture_pb2.SUPPORT_OK))
    finish_segment(segment, Totals((0,), 10, 10))
    assert segment.message.support == capture_pb2.SUPPORT_OK


def test_an_old_kernel_that_says_nothing_is_believed():
    segment = SegmentCounts(capture_pb2.Segment(support=capture_pb2.SUPPORT_OK))
    finish_segment(segment, Totals())
    assert segment.message.support == capture_pb2.SUPPORT_OK
