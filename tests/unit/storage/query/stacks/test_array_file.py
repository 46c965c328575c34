"""GIVEN a file of arrays WHEN anything of it is not as it was written THEN it is refused by name, and never mapped."""

import json
import os
import signal
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.query.stacks import array_file
from storage.query.stacks.errors import UnusableFile

TYPES = {"few": "<i4", "none": "<i8", "flags": "|b1"}
ARRAYS = {
    "few": np.arange(100, dtype=np.int32),
    "none": np.zeros(0, np.int64),
    "flags": np.ones(70, np.bool_),
}
fixed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "it"
    array_file.write(path, {"about": "it"}, ARRAYS, version=3)
    return path


def test_what_was_written_is_read(path: Path):
    found = array_file.read(path, TYPES, version=3)
    assert found.about == {"about": "it"}
    assert {name: array.tolist() for name, array in found.arrays.items()} == {
        name: array.tolist() for name, array in ARRAYS.items()
    }
    assert not any(array.flags.writeable for array in found.arrays.values())
    assert found.bytes == path.stat().st_size
    assert [each.name for each in path.parent.iterdir()] == ["it"]


def test_a_mapped_file_stays_as_it_was_when_another_takes_its_place(path: Path):
    before = array_file.read(path, TYPES, version=3)
    array_file.write(path, {}, {**ARRAYS, "few": np.zeros(7, np.int32)}, version=3)
    assert before.arrays["few"].tolist() == list(range(100))
    assert array_file.read(path, TYPES, version=3).arrays["few"].tolist() == [0] * 7
    path.unlink()
    assert before.arrays["few"].tolist() == list(range(100))


@fixed
@given(st.data())
def test_no_piece_of_a_file_is_taken_for_it(path: Path, data: st.DataObject):
    content = path.read_bytes()
    size = data.draw(st.integers(0, len(content) - 1))
    cut = path.with_name("cut")
    cut.write_bytes(content[:size])
    with pytest.raises(UnusableFile, match=str(cut)):
        array_file.read(cut, TYPES, version=3)
    cut.write_bytes(content + content[size:])
    with pytest.raises(UnusableFile, match=str(cut)):
        array_file.read(cut, TYPES, version=3)


@fixed
@given(st.data())
def test_a_changed_bit_is_found_or_stands_between_arrays(path: Path, data: st.DataObject):
    content = bytearray(path.read_bytes())
    at, bit = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 7))
    content[at] ^= 1 << bit
    changed = path.with_name("changed")
    changed.write_bytes(content)
    with suppress(UnusableFile):
        found = array_file.read(changed, TYPES, version=3)
        assert {name: array.tolist() for name, array in found.arrays.items()} == {
            name: array.tolist() for name, array in ARRAYS.items()
        }


json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(("about", "arrays", "x")), inner)
    ),
    max_leaves=8,
)
listed = st.lists(
    st.tuples(
        st.sampled_from(list(TYPES)),
        st.sampled_from(list(TYPES.values())),
        st.integers(-5, 1 << 70),
        st.integers(),
    ),
    max_size=4,
)


@fixed
@given(header=json_value | st.builds(lambda a, b: {"about": a, "arrays": b}, json_value, listed))
def test_a_header_whose_checksum_is_right_may_say_anything(tmp_path: Path, header: object):
    text = json.dumps(header).encode()
    made = tmp_path / "made"
    preamble = np.array([(b"fparrays", 3, zlib.crc32(text), len(text))], array_file._PREAMBLE)
    made.write_bytes(preamble.tobytes() + text)
    with pytest.raises(UnusableFile):
        array_file.read(made, TYPES, version=3)


@pytest.mark.parametrize("text", [b"[" * 60_000, b"{", b"\xff"])
def test_a_header_that_is_no_document_is_refused(tmp_path: Path, text: bytes):
    made = tmp_path / "made"
    preamble = np.array([(b"fparrays", 3, zlib.crc32(text), len(text))], array_file._PREAMBLE)
    made.write_bytes(preamble.tobytes() + text)
    with pytest.raises(UnusableFile):
        array_file.read(made, TYPES, version=3)


def test_files_of_other_versions_are_refused(path: Path):
    with pytest.raises(UnusableFile, match="version"):
        array_file.read(path, TYPES, version=4)
    with pytest.raises(UnusableFile, match="other arrays"):
        array_file.read(path, {**TYPES, "few": "<i8"}, version=3)


def test_a_file_that_cannot_be_written_leaves_the_old_one(path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            array_file.write(path, {}, {**ARRAYS, "few": np.zeros(7, np.int32)}, version=3)
    assert len(array_file.read(path, TYPES, version=3).arrays["few"]) == 100
    assert [each.name for each in path.parent.iterdir()] == ["it"]


_WRITING = """
import sys
from pathlib import Path
import numpy as np
from storage.query.stacks import array_file
path, number = Path(sys.argv[1]), 0
while True:
    number += 1
    arrays = {"few": np.full(300_000, number, np.int32), "none": np.zeros(0, np.int64), "flags": np.ones(1, np.bool_)}
    array_file.write(path, {"number": number}, arrays, version=3)
    print(number, flush=True)
"""


def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path):
    path = tmp_path / "it"
    for kill in range(5):
        with subprocess.Popen([sys.executable, "-c", _WRITING, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(kill + 1):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)  # somewhere in the next one
        found = array_file.read(path, TYPES, version=3)
        assert set(found.arrays["few"].tolist()) == {found.about["number"]}
        assert found.about["number"] >= kill + 1
