"""GIVEN batches WHEN they are packed THEN each can be read before the next is there."""

import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from services.data_api.content_coding import Gzip, Plain, Zstd, chosen


@given(st.lists(st.binary(min_size=1, max_size=200), max_size=8), st.sampled_from([Gzip, Zstd, Plain]))
def test_no_batch_waits_for_the_next(batches, kind):
    readers = {Gzip: zlib.decompressobj(wbits=31), Zstd: zstandard.ZstdDecompressor().decompressobj()}
    unpack = readers[kind].decompress if kind in readers else bytes
    packer = kind()
    for batch in batches:
        assert unpack(packer.pack(batch)) == batch
    assert not unpack(packer.end())


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("", "identity"),
        ("gzip", "gzip"),
        ("gzip, zstd", "zstd"),
        ("GZIP;q=0.5, zstd;q=0", "gzip"),
        ("br", "identity"),
        ("zstd;q=0.0, gzip;q=0", "identity"),
    ],
)
def test_the_best_that_is_accepted(header: str, coding: str):
    assert chosen(header)[0] == coding
