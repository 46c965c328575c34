"""pprof profiles, read by protobuf's own runtime."""

import gzip
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from services.api.formats import pprof, wire
from services.api.formats.stack_profile import LEFT_OUT, NO_FRAMES
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks.function_names import FunctionRow
from tests.profile_proto import read
from tests.stack_tables import GROUPS, Fact, Made, made


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@settings(deadline=None, max_examples=40)
@given(made(), st.sampled_from([1, 7, 500_000]))
def test_every_fact_is_in_the_profile(case: Made, at_once: int) -> None:
    before, pprof._FRAMES_AT_ONCE = pprof._FRAMES_AT_ONCE, at_once
    try:
        profile = read(gzip.decompress(b"".join(pprof.packed(case.profile))))
    finally:
        pprof._FRAMES_AT_ONCE = before
    texts = list(profile.string_table)
    assert texts[0] == ""
    assert len(set(texts)) == len(texts)
    assert [(texts[t.type], texts[t.unit]) for t in profile.sample_type] == [
        ("samples", "count"),
        ("cpu", "nanoseconds"),
        ("fleet_cpu", "nanoseconds"),
    ]
    assert texts[profile.default_sample_type] == "fleet_cpu"
    assert (profile.period, texts[profile.period_type.type]) == (10, "cpu")
    assert (profile.time_nanos, profile.duration_nanos) == (1_763_726_400_000_000_000, 3_600_000_000_000)
    assert [texts[comment] for comment in profile.comment] == ["made", "by a test"]

    mappings = {mapping.id: mapping for mapping in profile.mapping}
    functions = {function.id: function for function in profile.function}
    assert all(mapping.has_7 and mapping.has_8 for mapping in profile.mapping)
    named = {}
    for location in profile.location:
        (line,) = location.line
        function = functions[line.function_id]
        mapping = mappings.get(location.mapping_id)
        named[location.id] = (
            texts[function.name],
            texts[function.filename],
            "" if mapping is None else texts[mapping.filename],
        )
        if mapping is not None:
            assert texts[mapping.build_id] == case.binaries.get(texts[mapping.filename], "")
        if texts[function.name] != LEFT_OUT:
            number = int(texts[function.system_name].removeprefix("_Z"))
            assert function.start_line == number % 3
        else:
            assert not function.system_name

    found: Counter = Counter()
    sums = np.zeros(3, np.int64)
    for sample in profile.sample:
        stack = tuple(named[id_] for id_ in reversed(sample.location_id))
        labels = tuple((texts[label.key], texts[label.str]) for label in sample.label)
        sums += np.array(sample.value)
        if stack != ((LEFT_OUT, "", ""),):
            found[stack, labels] += sample.value[0]
    expected: Counter = Counter()
    for fact in case.facts:
        frames = [case.functions[id_ - 1] for id_ in fact.stack]
        stack = tuple((clean(row.name) or NO_FRAMES, row.file, row.binary) for row in frames)
        labels = zip(("application", "version"), GROUPS[fact.group], strict=True) if case.grouped else ()
        expected[stack, tuple(pair for pair in labels if pair[1])] += fact.samples
    if case.most == 1000:
        assert found == expected
    else:
        assert all(expected[key] >= count for key, count in found.items())
    assert sums.tolist()[:2] == [sum(expected.values()), 10 * sum(expected.values())]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_varints_are_those_of_the_plain_writer(values: list[int]) -> None:
    column = np.array(values, np.int64)
    sizes = wire.varint_sizes(column)
    out = np.zeros(int(sizes.sum()), np.uint8)
    wire.put_varints(out, np.cumsum(sizes) - sizes, column, sizes)
    assert out.tobytes() == b"".join(wire.varint(value % 2**64) for value in values)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(*[st.integers(0, 3) | st.integers(0, 2**62)] * 2), max_size=20))
def test_records_are_those_of_the_plain_writer(rows: list[tuple[int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 2).T
    written = wire.records(5, [(wire.tag_of_number(1), columns[0]), (wire.tag_of_number(4), columns[1])])
    assert written == b"".join(wire.message(5, wire.number(1, a) + wire.number(4, b)) for a, b in rows)


def test_the_same_samples_are_the_same_file() -> None:
    """Whatever numbers the functions have, and in whatever order the facts came."""

    def row(id_: int, name: str) -> FunctionRow:
        return FunctionRow(id_, name, "", "prog", Status.FULL, Kind.USER)

    rows = (row(1, "b"), row(2, "a"))
    others = (row(1, "a"), row(2, "b"))
    one = Made(rows, (Fact((1, 2), 0, 3, 1.0), Fact((2,), 0, 4, 1.0)))
    other = Made(others, (Fact((1,), 0, 4, 1.0), Fact((2, 1), 0, 3, 1.0)))
    read_names = [
        [[p.string_table[p.function[i - 1].name] for i in sample.location_id] for sample in p.sample]
        for p in (read(b"".join(pprof.plain(case.profile))) for case in (one, other))
    ]
    assert read_names == [[["a"], ["a", "b"]]] * 2
