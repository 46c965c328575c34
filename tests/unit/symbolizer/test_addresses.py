import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbolizer.addresses import (
    NOWHERE,
    CacheAddresses,
    ElfVaddrs,
    FileOffsets,
    RecordedPointers,
    Segment,
    SegmentMap,
)
from symbolizer.errors import MalformedElf

PIE = SegmentMap(
    (Segment(0, 0, 0x600, False), Segment(0x1000, 0x1000, 0x800, True), Segment(0x2000, 0x3000, 0x300, False))
)
FIXED = SegmentMap((Segment(0, 0x400000, 0x500, False), Segment(0x1000, 0x401000, 0x800, True)))
BY_LLD = SegmentMap(
    (Segment(0, 0, 0x818, False), Segment(0x820, 0x1820, 0x200, True), Segment(0xA20, 0x2A20, 0x100, False))
)


def vaddr(segments: SegmentMap, offset: int) -> int:
    return int(segments.to_vaddrs(FileOffsets(np.array([offset], np.uint64))).values[0])


def test_a_file_offset_becomes_a_vaddr_through_the_segment_that_holds_it() -> None:
    assert vaddr(PIE, 0x1234) == 0x1234
    assert vaddr(FIXED, 0x1234) == 0x401234
    assert vaddr(BY_LLD, 0x850) == 0x1850


def test_where_segments_share_a_page_the_one_that_holds_the_offset_wins() -> None:
    # The page at 0x800 of the lld file is mapped twice; offset 0x810 lies in the first, read-only one,
    # but an instruction pointer can only have come from the mapping of the second.
    assert vaddr(BY_LLD, 0x810) == 0x1810
    assert vaddr(BY_LLD, 0xA30) == 0x2A30


def test_an_offset_in_no_segment_is_nowhere() -> None:
    assert vaddr(PIE, 0x9999) == int(NOWHERE)
    assert vaddr(SegmentMap(()), 0) == int(NOWHERE)


def test_cache_addresses_count_from_the_first_segment() -> None:
    vaddrs = ElfVaddrs(np.array([0x401234, 0x3FFFFF, int(NOWHERE)], np.uint64))
    assert vaddrs.relative_to(FIXED.base).values.tolist() == [0x1234, int(NOWHERE), int(NOWHERE)]
    assert isinstance(vaddrs.relative_to(0), CacheAddresses)


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.booleans())))
def test_a_return_address_is_looked_up_one_byte_earlier(pointers: list[tuple[int, bool]]) -> None:
    offsets = np.array([offset for offset, _ in pointers], np.uint64)
    exact = np.array([is_exact for _, is_exact in pointers], np.bool_)
    looked_up = RecordedPointers(offsets, exact).looked_up().values.tolist()
    assert looked_up == [offset if is_exact or offset == 0 else offset - 1 for offset, is_exact in pointers]


segments = st.builds(
    Segment, st.integers(0, 1 << 40), st.integers(0, 1 << 47), st.integers(0, 1 << 30), st.booleans()
)


@given(st.lists(segments, max_size=6).map(tuple), st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_whatever_the_segments_an_address_is_of_one_of_them(
    found: tuple[Segment, ...], offsets: list[int]
) -> None:
    offsets += [segment.offset for segment in found] + [
        segment.offset + segment.filesz - 1 for segment in found
    ]
    offsets = [offset for offset in offsets if offset >= 0]
    vaddrs = SegmentMap(found).to_vaddrs(FileOffsets(np.array(offsets, np.uint64))).values.tolist()
    for offset, address in zip(offsets, vaddrs, strict=True):
        within = [s for s in found if s.offset <= offset < s.offset + s.filesz]
        if within:
            assert address != int(NOWHERE)
        if address != int(NOWHERE):
            assert any(address - s.vaddr == offset - s.offset for s in found)


TOP = (1 << 64) - 1


@pytest.mark.parametrize(
    ("offset", "vaddr", "filesz"), [(1, 0, TOP), (0, 1, TOP), (TOP, 0, 1), (0, 0, TOP + 1), (-1, 0, 1)]
)
def test_a_segment_lies_within_the_address_space(offset: int, vaddr: int, filesz: int) -> None:
    with pytest.raises(MalformedElf):
        Segment(offset, vaddr, filesz, True)


@given(st.integers(0, TOP), st.integers(0, TOP), st.integers(0, TOP))
def test_segments_at_the_top_are_read_like_others(offset: int, vaddr: int, filesz: int) -> None:
    filesz = min(filesz, TOP - max(offset, vaddr))
    inside = [offset, offset + filesz - 1] if filesz else []
    whole = SegmentMap((Segment(offset, vaddr, filesz, True),))
    found = whole.to_vaddrs(FileOffsets(np.array([*inside, 0, TOP], np.uint64))).values.tolist()
    assert found[: len(inside)] == [at - offset + vaddr for at in inside]
