"""GIVEN parts of the memory of real JVMs WHEN their samples are walked THEN every frame is what the program did."""

import dataclasses
import itertools
from pathlib import Path

import pytest

from gateway.runtimes.hotspot.errors import JvmUnsupported
from gateway.runtimes.hotspot.frames import FrameKind
from gateway.runtimes.hotspot.jvm import Jvm
from gateway.runtimes.hotspot.layout import CONSTANTS, TYPES, layout_of
from gateway.runtimes.hotspot.vm_structs import VmStructs, read_vm_structs
from tests.java_truth import DEPTH, errors
from tests.jvm_image import JvmImage, load

GOLDEN = Path(__file__).parents[5] / "tests/golden/hotspot"
VERSIONS = ("jdk11", "jdk17", "jdk21", "jdk25")


@pytest.fixture(scope="module", params=VERSIONS)
def image(request: pytest.FixtureRequest) -> JvmImage:
    return load(GOLDEN / f"{request.param}.zst")


def structs_of(image: JvmImage) -> VmStructs:
    return read_vm_structs(image.symbols.__getitem__, image.read, types=TYPES, constants=CONSTANTS)


def test_every_stack_is_one_that_the_program_can_have(image: JvmImage) -> None:
    walks = image.walks(Jvm(image.layout(), image.read))
    assert len(walks) >= 12
    kinds = set()
    for walk, frames in walks:
        assert frames[-1].function.startswith("StubRoutines")
        assert frames[-2].function == "java.lang.Thread.run"
        # Native code, where the recording ends, is no part of it.
        assert not errors(frames[:-1], complete=False)
        assert not [frame for frame in frames if not frame.function.isprintable()]
        assert len(walk.addresses) <= len(frames)
        kinds |= {frame.kind for frame in frames}
    assert kinds >= {FrameKind.INTERPRETED, FrameKind.COMPILED, FrameKind.INLINED, FrameKind.STUB}


def test_lines_are_those_of_the_source(image: JvmImage) -> None:
    source = (Path(__file__).parents[5] / "tests/integration/gateway/JavaTruth.java").read_text().splitlines()
    checked = 0
    for _, frames in image.walks(Jvm(image.layout(), image.read)):
        for callee, caller in itertools.pairwise(frames):
            if not caller.function.startswith("JavaTruth.") or not caller.line or "lambda" in caller.function:
                continue
            assert caller.file == "JavaTruth.java"
            assert caller.first_line <= caller.line
            name = callee.function.rpartition(".")[2]
            if callee.function.startswith("JavaTruth."):
                assert f"{name}(" in source[caller.line - 1]
                checked += 1
    assert checked > 20


def test_frames_are_those_of_the_recording(image: JvmImage) -> None:
    for sample, (_, frames) in zip(image.samples, image.walks(Jvm(image.layout(), image.read)), strict=True):
        assert [(frame.function, frame.line, int(frame.kind)) for frame in frames] == sample.frames


def test_the_recursion_is_as_deep_as_the_program_says(image: JvmImage) -> None:
    depths = [
        sum(frame.function == "JavaTruth.deep" for frame in frames)
        for _, frames in image.walks(Jvm(image.layout(), image.read))
        if any(frame.function == "JavaTruth.deepLeaf" for frame in frames)
    ]
    assert set(depths) <= {DEPTH}


def test_a_missing_field_is_refused_by_name(image: JvmImage) -> None:
    structs = structs_of(image)
    del structs._fields["CodeBlob", "_frame_size"]
    with pytest.raises(JvmUnsupported, match="CodeBlob::_frame_size"):
        layout_of(structs)


def test_a_missing_type_and_a_missing_constant_are_refused_by_name(image: JvmImage) -> None:
    structs = structs_of(image)
    del structs._sizes["PcDesc"]
    with pytest.raises(JvmUnsupported, match="PcDesc"):
        layout_of(structs)
    structs = structs_of(image)
    structs._constants.clear()
    with pytest.raises(JvmUnsupported, match="linenumber_table"):
        layout_of(structs)


def test_code_that_was_replaced_is_noticed_at_the_next_drain(image: JvmImage) -> None:
    jvm = Jvm(image.layout(), image.read)
    walks = image.walks(jvm)
    walk, _ = next(found for found in walks if found[1][0].kind is FrameKind.COMPILED)
    assert not jvm.is_outdated(walk.addresses, walk.interpreted)
    # Another compilation in the same place: the number is another.
    cached = jvm.blobs.at(walk.addresses[0])
    assert cached is not None
    field = jvm.layout.nmethod.compile_id
    assert field is not None
    at = cached.blob.start + field.offset
    pieces = [
        (start, data[: at - start] + b"\x77\x77\x77\x07" + data[at - start + 4 :])
        if start <= at < start + len(data)
        else (start, data)
        for start, data in image.pieces
    ]
    jvm._read = jvm.blobs._cache._read = JvmImage(pieces, {}, ()).read
    assert not jvm.is_outdated(walk.addresses, walk.interpreted), "checked once per drain"
    jvm.begin_drain()
    assert jvm.is_outdated(walk.addresses, walk.interpreted)
    assert walk.addresses[0] in jvm.dropped


def test_the_form_of_the_streams_is_found_out(image: JvmImage) -> None:
    layout = image.layout()
    expected = int("_flags._flags" in {name for _, name in structs_of(image)._fields})
    # Whatever the assumption before the first compiled code.
    other = dataclasses.replace(layout.method, newer_flags=1 - expected)
    jvm = Jvm(dataclasses.replace(layout, method=other), image.read)
    image.walks(jvm)
    assert jvm.blobs.excluded == expected
