from hypothesis import given
from hypothesis import strategies as st

from gateway.process.address_space import AddressSpace
from gateway.process.maps import Vma
from gateway.unwind.rules import OUTERMOST_RULE


def vma(start: int, end: int, offset: int = 0, path: str = "/a") -> Vma:
    return Vma(start, end, offset, path, b"", (0, 0), 1, deleted=False)


def test_an_overlapped_mapping_keeps_what_sticks_out():
    space = AddressSpace([vma(100, 200, 1000)])
    space.map(vma(120, 150, 0, "/b"))
    assert list(space.vmas) == [vma(100, 120, 1000), vma(120, 150, 0, "/b"), vma(150, 200, 1050)]


def test_find():
    space = AddressSpace([vma(100, 200), vma(300, 400)])
    assert [bool(space.find(address)) for address in (99, 100, 199, 200, 299, 300, 399, 400)] == [
        *(False, True, True, False),
        *(False, True, True, False),
    ]
    assert AddressSpace(()).find(5) is None


def test_a_fork_does_not_share_its_parents_changes():
    parent = AddressSpace([vma(100, 200)])
    parent.rules[150] = OUTERMOST_RULE
    child = parent.copy()
    parent.map(vma(300, 400))
    assert list(child.vmas) == [vma(100, 200)]
    assert child.find(350) is None
    assert child.rules == {}


def test_a_new_mapping_forgets_what_was_found():
    space = AddressSpace([vma(100, 200)])
    space.rules[150] = OUTERMOST_RULE
    space.return_sites[150] = 0
    space.map(vma(140, 160, 0, "/b"))
    assert space.rules == {}
    assert space.return_sites == {}


def test_refreshing_adds_what_was_made_executable_since():
    space = AddressSpace([vma(100, 200)])
    assert not space.refresh([vma(100, 200)])
    space.rules[150] = OUTERMOST_RULE
    assert space.refresh([vma(100, 200), vma(300, 400)])
    assert space.find(350) == vma(300, 400)
    assert space.rules == {}


def test_python_is_known_by_its_images_names():
    assert AddressSpace([vma(0, 1, 0, "/usr/lib/libpython3.12.so.1.0")]).may_run_python
    space = AddressSpace([vma(0, 1)])
    assert not space.may_run_python
    space.map(vma(5, 6, 0, "/opt/python/bin/python3.13"))
    assert space.may_run_python


ranges = st.tuples(st.integers(0, 60), st.integers(1, 30), st.integers(0, 1000), st.integers(0, 5))


@given(st.lists(ranges, max_size=12))
def test_every_address_shows_what_was_mapped_last(mappings):
    space = AddressSpace(())
    bytes_of: dict[int, tuple[str, int]] = {}
    for start, length, offset, name in mappings:
        space.map(vma(start, start + length, offset, f"/{name}"))
        bytes_of.update({start + i: (f"/{name}", offset + i) for i in range(length)})
    for address in range(100):
        found = space.find(address)
        assert bytes_of.get(address) == (found and (found.path, found.offset + address - found.start))
    starts = [found.start for found in space.vmas]
    assert starts == sorted(starts)
    assert all(a.end <= b.start for a, b in zip(space.vmas, space.vmas[1:], strict=False))
    assert all(found.start < found.end for found in space.vmas)
