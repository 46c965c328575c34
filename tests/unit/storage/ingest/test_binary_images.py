"""An image's key is what it is known by, however long and in whatever script its path is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.ingest.binary_images import image_of

LONGEST = 1024
"""Bytes. A row of a btree holds 2704, and one of `function` has a start beside the key."""


def key_of(path: str, *, build_id: bytes = b"", content_key: str = "") -> str:
    mapping = capture_pb2.Mapping(kind=capture_pb2.Mapping.FILE, path=1, content_key=2, build_id=build_id)
    return image_of(capture_pb2.Capture(strings=["", path, content_key], mappings=[mapping]), mapping).key


def test_a_build_id_goes_before_a_content_key_and_that_before_a_path() -> None:
    assert key_of("/lib/a.so", build_id=b"\xab\x01", content_key="go:x") == "ab01"
    assert key_of("/lib/a.so", content_key="go:x") == "go:x"
    assert key_of("/lib/a.so (deleted)") == "path:/lib/a.so"


@given(st.integers(1000, 1030), st.sampled_from(["x", "é", "語", "😀"]))
def test_a_key_fits_into_an_index_in_every_script(length: int, letter: str) -> None:
    for path in (length * letter, "x" + length * letter, 8 * length * letter):
        assert len(key_of(path).encode()) <= LONGEST
        assert len(key_of("", content_key=path).encode()) <= LONGEST


@pytest.mark.parametrize("letter", ["x", "語"])
def test_images_with_long_keys_stay_apart(letter: str) -> None:
    long = 2000 * letter
    assert key_of(f"/{long}/a.so") != key_of(f"/{long}/b.so")
    assert key_of(f"/{long}/a.so") == key_of(f"/{long}/a.so (deleted)")
    assert key_of("/" + 1018 * "x") == "path:/" + 1018 * "x", "one that fits is kept as it is"
