"""A capture's stacks as a profile: sums stay, names merge, files agree."""

import gzip
import json
import re
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2
from services.api.formats import collapsed, pprof
from services.api.formats.stack_profile import StackProfile, Value
from services.recording.flame_columns import flame_columns
from services.recording.functions import function_sums
from services.recording.profile_page import page
from services.recording.stacks import stack_profile
from storage.ingest.symbolized import FunctionName, ResolvedFrames, Status
from tests.profile_proto import read

COMPLETE = capture_pb2.STACK_END_COMPLETE
Stack = tuple[int, ...]
"""Frames, innermost first."""


def name(text: str) -> FunctionName:
    return FunctionName(text, text, "", "prog", Status.FULL)


def captured(samples: list[tuple[int, Stack, int]], *, frames: int, groups: int = 1) -> capture_pb2.Capture:
    """A capture of (group, stack, count); frame n is at offset n of the only file."""
    capture = capture_pb2.Capture(format=1, strings=["", "cpu", "nanoseconds", "/prog"])
    capture.mappings.add(kind=capture_pb2.Mapping.FILE, path=3)
    capture.frames.mapping.extend([0] * frames)
    stacks = sorted({stack for _, stack, _ in samples})
    for stack in stacks:
        capture.stacks.frames.extend(stack)
        capture.stacks.length.append(len(stack))
        capture.stacks.end.append(COMPLETE)
    for group in range(groups):
        capture.strings.append(f"process {group}")
        capture.groups.add(comm=len(capture.strings) - 1)
    segment = capture.segments.add(event=1, unit=2, period=10, support=capture_pb2.SUPPORT_OK)
    for group in range(groups):
        counts: Counter[int] = Counter()
        for of, stack, count in samples:
            if of == group:
                counts[stacks.index(stack)] += count
        if counts:
            ordered = sorted(counts)
            deltas = np.diff([0, *ordered]).tolist()
            segment.profiles.add(group=group, stack_delta=deltas, count=[counts[n] for n in ordered])
    return capture


def resolved(chains: list[list[int]], functions: list[FunctionName]) -> ResolvedFrames:
    """Frame n stands for the functions `chains[n]`, innermost first."""
    flat = [function for chain in chains for function in chain]
    return ResolvedFrames(
        functions=tuple(functions),
        offsets=np.cumsum([0, *map(len, chains)]),
        function=np.array(flat, np.int32),
        line=np.zeros(len(flat), np.int32),
        status=np.full(len(chains), Status.FULL, np.uint8),
    )


def lines(profile: StackProfile) -> dict[str, int]:
    text = b"".join(collapsed.lines(profile, Value.SAMPLES)).decode()
    return {stack: int(count) for stack, _, count in (line.rpartition(" ") for line in text.splitlines())}


def test_inlined_calls_and_equal_names_of_two_builds() -> None:
    # Frame 0 is `leaf` inlined into `main`; frame 1 is `main` again, by another function of the same name.
    profile = stack_profile(
        captured([(0, (0,), 3), (0, (1,), 4)], frames=2),
        resolved([[0, 1], [2]], [name("leaf"), name("main"), name("main")]),
        title="t",
    )
    assert lines(profile) == {"process 0;main;leaf": 3, "process 0;main": 4}
    assert [(s.function.name, s.own, s.total) for s in function_sums(profile)] == [
        ("main", 40, 70),
        ("leaf", 30, 30),
    ]


def test_a_recursive_function_counts_once_per_stack() -> None:
    profile = stack_profile(
        captured([(0, (0, 1, 0), 5)], frames=2), resolved([[0], [1]], [name("f"), name("g")]), title="t"
    )
    assert [(s.function.name, s.own, s.total) for s in function_sums(profile)] == [
        ("f", 50, 50),
        ("g", 0, 50),
    ]


def test_names_of_functions_cannot_leave_their_element_of_the_page() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    profile = stack_profile(
        captured([(0, (0,), 1)], frames=1), resolved([[0]], [name(hostile)]), title=f"<b>{hostile}"
    )
    text = b"".join(page(profile)).decode()
    assert text.count("alert(1)") == 3  # the profile's title and function, the page's title
    assert "<script>alert" not in text
    assert "<b>" not in text.split("</head>")[0].split("<style>")[0]
    document = re.search(r'<script type="application/json" id="profile">(.*?)</script>', text, re.DOTALL)
    assert document is not None
    assert json.loads(document[1])["functions"][0][0] == hostile


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.lists(st.integers(0, 5), min_size=1, max_size=6).map(tuple),
            st.integers(1, 9),
        ),
        min_size=1,
        max_size=20,
    ),
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=6, max_size=6),
)
def test_every_form_has_all_samples(samples: list[tuple[int, Stack, int]], chains: list[list[int]]) -> None:
    names = [name(text) for text in "abcd"]
    profile = stack_profile(captured(samples, frames=6, groups=3), resolved(chains, names), title="t")
    expected: Counter[str] = Counter()
    for group, stack, count in samples:
        calls = [names[f].name for frame in stack for f in chains[frame]]
        expected[";".join([f"process {group}", *reversed(calls)])] += count
    assert lines(profile) == expected

    read_back = read(gzip.decompress(b"".join(pprof.packed(profile))))
    assert sum(sample.value[0] for sample in read_back.sample) == sum(expected.values())

    columns = flame_columns(profile)
    assert columns.total[0] == 10 * sum(expected.values()) == sum(columns.self)
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(columns.parent):
        children.setdefault(parent, []).append(node)
        assert parent < node
    for node, below in children.items():
        totals = [columns.total[child] for child in below]
        assert totals == sorted(totals, reverse=True)
        if node >= 0:
            assert columns.total[node] == columns.self[node] + sum(totals)
