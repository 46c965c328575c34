"""From frames to function stacks: nothing is lost, nothing counted twice, checked against plain loops."""

from collections import Counter
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.blobs.fact_blobs import Lines
from storage.ingest import function_stacks, line_counts
from storage.ingest.marker_frames import LEFT_OUT, MARKERS, NO_FRAMES
from storage.ingest.symbolized import ResolvedFrames
from tests.synthetic_captures import SyntheticCapture, named, random_capture

VISIT = UUID(int=7)


def ids_of(resolved: ResolvedFrames) -> np.ndarray:
    """Function ids as the store would give them: any distinct numbers."""
    return np.arange(100, 100 + len(resolved.functions) + len(MARKERS), dtype=np.int32)


def part(by_profile: line_counts.LinesByProfile, profile: int) -> Lines:
    """The rows of one profile."""
    mine = slice(by_profile.offsets[profile], by_profile.offsets[profile + 1])
    lines = by_profile.lines
    return Lines(lines.function[mine], lines.line[mine], lines.self_samples[mine], lines.total_samples[mine])


def plainly(
    message: capture_pb2.Capture, resolved: ResolvedFrames, ids: np.ndarray
) -> list[list[tuple[int, int]]]:
    """(function id, line) of every stack, outermost first, by loops; markers as (id, 0)."""
    marker = {capture_pb2.STACK_END_TRUNCATED: 1, capture_pb2.STACK_END_NO_UNWIND: 2}
    result, at = [], 0
    for length, end in zip(message.stacks.length, message.stacks.end, strict=True):
        calls = [
            (int(ids[resolved.function[entry]]), int(resolved.line[entry]))
            for frame in message.stacks.frames[at : at + length]
            for entry in range(resolved.offsets[frame], resolved.offsets[frame + 1])
        ]
        at += length
        calls.reverse()
        if end in marker:
            calls.insert(0, (int(ids[len(resolved.functions) + marker[end]]), 0))
        result.append(calls)
    return result


def functions(calls: function_stacks.Calls, which: np.ndarray) -> list[tuple[int, ...]]:
    """Function ids outermost first of some stacks."""
    depth, flat = calls.outermost_first(np.asarray(which, np.int64))
    return [tuple(part.tolist()) for part in np.split(flat, np.cumsum(depth)[:-1])]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9))
def test_entries_and_distinct_stacks_agree_with_loops(seed: int, depth: int) -> None:
    message, resolved = random_capture(VISIT, seed, depth=depth)
    ids = ids_of(resolved)
    calls = function_stacks.calls_of(message.stacks, resolved, ids)
    expected = plainly(message, resolved, ids)
    for s, wanted in enumerate(expected):
        place = calls.place[calls.offsets[s] : calls.offsets[s + 1]][::-1]
        assert list(zip(calls.function[place].tolist(), calls.line[place].tolist(), strict=True)) == wanted
    distinct = function_stacks.function_stacks(calls)
    different = functions(distinct.calls, distinct.first)
    assert len(set(different)) == len(different) == len(np.unique(distinct.hashes, axis=0))
    for s, wanted in enumerate(expected):
        assert different[distinct.of[s]] == tuple(f for f, _ in wanted)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_lines_agree_with_loops_and_never_exceed_the_samples(seed: int) -> None:
    message, resolved = random_capture(VISIT, seed)
    ids = ids_of(resolved)
    calls = function_stacks.calls_of(message.stacks, resolved, ids)
    expected = plainly(message, resolved, ids)
    profiles = message.segments[0].profiles
    facts = function_stacks.facts_of(profiles)
    by_profile = line_counts.line_counts(calls, facts.profile, facts.stack, facts.count, len(profiles))
    for g, profile in enumerate(profiles):
        lines = part(by_profile, g)
        own: Counter[tuple[int, int]] = Counter()
        total: Counter[tuple[int, int]] = Counter()
        for s, n in zip(np.cumsum(profile.stack_delta).tolist(), profile.count, strict=True):
            own[expected[s][-1]] += n
            for place in set(expected[s]):
                total[place] += n
        got = list(zip(lines.function.tolist(), lines.line.tolist(), strict=True))
        assert got == sorted(place for place in total if place[1])
        assert lines.self_samples.tolist() == [own[place] for place in got]
        assert lines.total_samples.tolist() == [total[place] for place in got]
        assert int(lines.self_samples.sum()) <= sum(profile.count)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(1, 2**40)), max_size=60),
    st.integers(0, 60),
    st.sampled_from([1, 2**20, 2**28]),
    st.sampled_from([1, 2**30, 2**40]),
)
def test_summing_is_exact_and_may_be_done_in_parts(
    facts: list[tuple[int, int, int]], cut: int, farther: int, most: int
) -> None:
    """Whether key and value fit a number of 32 bits together, one of 64, or none."""
    facts = [(group, key * farther, min(value, most)) for group, key, value in facts]

    def summed(rows: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        columns = [np.array([row[c] for row in rows], np.int64) for c in range(3)]
        grouped = function_stacks.sum_by_key(*columns, groups=4)
        owner = np.repeat(np.arange(4), np.diff(grouped.offsets))
        return list(zip(owner.tolist(), grouped.key.tolist(), grouped.total.tolist(), strict=True))

    whole: Counter[tuple[int, int]] = Counter()
    for group, key, value in facts:
        whole[group, key] += value
    assert summed(facts) == [(*place, value) for place, value in sorted(whole.items())]
    assert summed(summed(facts[:cut]) + summed(facts[cut:])) == summed(facts)


def test_a_recursive_line_counts_a_sample_once_in_its_total() -> None:
    made = SyntheticCapture(VISIT)
    mapping = made.mapping("/app")
    again, main = made.frame(mapping, (named("again"), 5)), made.frame(mapping, (named("main"), 9))
    group = made.group()
    made.segment({group: {made.stack([again, again, again, main]): 10}})
    message, resolved = made.finished()
    calls = function_stacks.calls_of(message.stacks, resolved, ids_of(resolved))
    facts = function_stacks.facts_of(message.segments[0].profiles)
    lines = line_counts.line_counts(calls, facts.profile, facts.stack, facts.count, 1).lines
    assert lines.line.tolist() == [5, 9]
    assert lines.self_samples.tolist() == [10, 0]
    assert lines.total_samples.tolist() == [10, 10]


@pytest.mark.parametrize(
    ("end", "marker"),
    [
        (capture_pb2.STACK_END_UNSPECIFIED, 0),
        (capture_pb2.STACK_END_COMPLETE, None),
        (capture_pb2.STACK_END_KERNEL_ONLY, None),
        (capture_pb2.STACK_END_TRUNCATED, 1),
        (capture_pb2.STACK_END_NO_UNWIND, 2),
        (capture_pb2.STACK_END_NO_MAPPING, 3),
        (capture_pb2.STACK_END_BAD_STACK, 4),
        (capture_pb2.STACK_END_TOO_DEEP, 5),
        (capture_pb2.STACK_END_FLAT, None),
        (99, 0),
    ],
)
def test_an_incomplete_walk_begins_with_the_marker_of_its_end(end: int, marker: int | None) -> None:
    made = SyntheticCapture(VISIT)
    frame = made.frame(made.mapping("/app"), (named("f"), 1))
    made.stack([frame], end)
    message, resolved = made.finished()
    ids = ids_of(resolved)
    calls = function_stacks.calls_of(message.stacks, resolved, ids)
    before = [] if marker is None else [int(ids[len(resolved.functions) + marker])]
    assert functions(calls, [0]) == [(*before, int(ids[0]))]


def test_a_sample_without_any_frame_is_not_lost() -> None:
    made = SyntheticCapture(VISIT)
    made.mapping("/app")
    made.stack([])
    message, resolved = made.finished()
    ids = ids_of(resolved)
    nothing = int(ids[len(resolved.functions) + NO_FRAMES])
    assert functions(function_stacks.calls_of(message.stacks, resolved, ids), [0]) == [(nothing,)]


def test_deep_stacks_keep_their_roots_and_their_leaf() -> None:
    made = SyntheticCapture(VISIT)
    mapping = made.mapping("/app")
    frames = [made.frame(mapping, (named(f"f{i}"), 1)) for i in range(300)]  # 0 is the leaf
    made.stack(frames)
    made.stack(frames[: function_stacks.MAX_DEPTH])
    message, resolved = made.finished()
    ids = ids_of(resolved)
    left_out = int(ids[len(resolved.functions) + LEFT_OUT])
    distinct = function_stacks.function_stacks(function_stacks.calls_of(message.stacks, resolved, ids))
    folded, whole = functions(distinct.calls, distinct.first[distinct.of])
    assert folded == (*ids[299:235:-1].tolist(), left_out, *ids[62::-1].tolist())
    assert len(folded) == function_stacks.MAX_DEPTH
    assert whole == tuple(ids[function_stacks.MAX_DEPTH - 1 :: -1].tolist())
