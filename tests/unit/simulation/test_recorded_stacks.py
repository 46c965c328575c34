"""GIVEN collapsed stacks WHEN they are read THEN they are those of the file, and wrong lines are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation import recorded_stacks
from simulation.binaries import build_of, content_of, executable
from simulation.calls import KERNEL, MAIN, Function
from simulation.catalogue import APPLICATIONS
from simulation.recorded_stacks import (
    MAX_COUNT,
    RECORDINGS,
    BadRecording,
    Frame,
    functions_of,
    read_recording,
    stacks_of_program,
)
from simulation.stack_table import stack_table
from simulation.variants import Variant, shares

RECORDED = [application for application in APPLICATIONS if application.program in RECORDINGS]
by_name = pytest.mark.parametrize("application", RECORDED, ids=lambda application: application.name)

names = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters=";`/[]."), min_size=1, max_size=20
)
own = st.builds(Frame, st.just("") | names, names)
in_kernel = st.builds(Frame, st.just("[kernel]"), names)
stacks = st.tuples(st.lists(own, max_size=6), st.lists(in_kernel, max_size=6)).map(lambda p: (*p[0], *p[1]))
recordings = st.dictionaries(stacks.filter(bool), st.integers(1, MAX_COUNT), min_size=1, max_size=8)


def written(found: dict[tuple[Frame, ...], int]) -> bytes:
    lines = (
        ";".join(f"{f.binary}`{f.symbol}" if f.binary else f.symbol for f in stack) + f" {count}\n"
        for stack, count in found.items()
    )
    return "".join(lines).encode()


@given(recordings)
def test_what_was_written_is_read(found):
    assert dict(read_recording(written(found))) == found


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    try:
        found = read_recording(data)
    except BadRecording:
        return
    assert all(stack and 1 <= count <= MAX_COUNT for stack, count in found.items())


def test_equal_stacks_are_added_up_and_names_may_have_spaces():
    found = read_recording(b"main;operator new(unsigned long) 2\nmain;operator new(unsigned long) 3")
    assert dict(found) == {(Frame("", "main"), Frame("", "operator new(unsigned long)")): 5}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "a stack, a space"),
        (b"main", "a stack, a space"),
        (b" 3", "a stack, a space"),
        (b"main 0", "number of samples"),
        (b"main -1", "number of samples"),
        (b"main 1.5", "number of samples"),
        ("main ３".encode(), "number of samples"),
        (b"main " + b"9" * 5000, "number of samples"),
        (b"main;;f 1", "has no function"),
        (b"`f 1", "has no function"),
        (b"libc.so.6` 1", "has no function"),
        (b"a`b`c 1", "has no function"),
        (b"/usr/lib/libc.so.6`f 1", "base name"),
        (b"../x`f 1", "base name"),
        (b"[vdso]`f 1", "base name"),
        (b"[kernel]`f;main 1", "called by one of the kernel"),
        (b"ma\x00in 1", "unprintable"),
        (b"main\r 1", "unprintable"),
        (b"\xff 1", "UTF-8"),
        (b"f" * (recorded_stacks.MAX_NAME + 1) + b" 1", "characters"),
        (b";".join([b"f"] * (recorded_stacks.MAX_DEPTH + 1)) + b" 1", "frames deep"),
    ],
)
def test_a_wrong_line_is_refused_by_its_number(line, why):
    with pytest.raises(BadRecording, match=rf"^Line 2: .*{why}"):
        read_recording(b"main 1\n" + line + b"\nmain 1\n")


def test_an_empty_file_is_refused():
    with pytest.raises(BadRecording, match="no stack"):
        read_recording(b"")


def test_sizes_are_looked_at_first(monkeypatch):
    monkeypatch.setattr(recorded_stacks, "MAX_STACKS", 2)
    with pytest.raises(BadRecording, match="3 lines"):
        read_recording(b"\xff\n\xff\n\xff")
    monkeypatch.setattr(recorded_stacks, "MAX_BYTES", 4)
    with pytest.raises(BadRecording, match="5 bytes"):
        read_recording(b"\xff\n\xff\n\xff")


def test_frames_that_name_the_program_are_its_own():
    found = functions_of(read_recording(b"x;libm.so.6`sin 1\nredis`x;libm.so.6`sin 2\n[kernel]`y 1"), "redis")
    sine = Function("/usr/lib/x86_64-linux-gnu/libm.so.6", "sin")
    assert dict(found) == {(Function(MAIN, "x"), sine): 3, (Function(KERNEL, "y"),): 1}


@by_name
def test_an_application_has_the_stacks_and_weights_of_its_recording(application):
    found = stacks_of_program(application.program)
    table, share = stack_table(application, 7), shares(application, 7, Variant())
    calm = dict.fromkeys(found, 0.0)
    for number in range(len(table)):
        frames = table.frames[table.starts[number] : table.starts[number + 1]]
        calm[tuple(table.functions[frame] for frame in frames[::-1])] = float(share.stacks[number])
    samples = sum(found.values())
    assert len(table) == len(found)
    assert calm == pytest.approx({stack: count / samples for stack, count in found.items()})


@by_name
def test_every_recorded_function_lies_in_a_file_that_names_it(application):
    files = {}
    for function in stack_table(application, 7).functions:
        build = build_of(function, application, 7, 3, 0)
        assert build is not None
        assert function.symbol.encode() + b"\0" in files.setdefault(build.path, content_of(build))
    assert executable(application, 7, 3).path in files


@by_name
def test_releases_are_builds_of_the_same_functions(application):
    one, other = executable(application, 7, 3), executable(application, 7, 4)
    assert one.build_id != other.build_id
    assert one.symbols == other.symbols
