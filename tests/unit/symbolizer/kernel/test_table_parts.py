"""GIVEN kernel tables of machines with other boots and modules WHEN they are taken apart THEN common parts are equal."""

from io import BytesIO
from pathlib import Path

import pytest

from symbolizer.errors import MalformedImage
from symbolizer.kernel.kallsyms import LoadedModule, parse_table, table_of_boot
from symbolizer.kernel.table_parts import read_parts, write_parts

BUILD, EXT4, DM = b"\x0b" * 20, "0c" * 20, "0d" * 20


def table(base: int, *modules: tuple[str, str]) -> bytes:
    lines = [f"{base:x} T _stext", f"{base + 0x40:x} T vfs_read", f"{base + 0x1000:x} T _etext"]
    loaded = []
    for number, (name, build) in enumerate(modules):
        at = 0xFFFFFFFFC0200000 + number * 0x10000
        loaded.append(LoadedModule(name, build, at, 0x4000))
        lines += [f"{at + 0x10:x} t {name}_open\t[{name}]", f"{at + 0x20:x} t {name}_close\t[{name}]"]
    return table_of_boot("".join(f"{line}\n" for line in lines).encode(), BUILD, loaded)


FIRST = table(0xFFFFFFFF81000000, ("ext4", EXT4), ("own", ""))
SECOND = table(0xFFFFFFFFA7400000, ("dm", DM), ("ext4", EXT4), ("own", ""))


def digests(text: bytes) -> dict[str, bytes]:
    return {part.key: part.digest for part in read_parts(BytesIO(text))}


def test_what_machines_have_in_common_is_equal():
    first, second = digests(FIRST), digests(SECOND)
    assert list(first) == [BUILD.hex(), EXT4, "path:[own]"]
    assert second == {**first, DM: second[DM]}


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"ext4_open", b"ext4_evil"), (b"10 t ext4", b"11 t ext4"), (b" 4000 2\nm", b" 5000 2\nm")],
)
def test_another_name_offset_or_size_is_another_part(old: bytes, new: bytes):
    assert old in FIRST
    changed, whole = digests(FIRST.replace(old, new)), digests(FIRST)
    assert changed.keys() == whole.keys()
    assert {key for key in whole if changed[key] != whole[key]} == {EXT4}


def test_some_parts_are_a_table_of_their_own(tmp_path: Path):
    parts = [part for part in read_parts(BytesIO(SECOND)) if part.key in {BUILD.hex(), EXT4}]
    write_parts(BytesIO(SECOND), parts, tmp_path / "table")
    written = (tmp_path / "table").read_bytes()
    assert written == table(0xFFFFFFFF81000000, ("ext4", EXT4))
    assert parse_table(written)[1].modules.keys() == {"ext4"}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"noise\n\n",
        FIRST[:60],
        FIRST[:-1],
        FIRST + b"0 t more\n",
        FIRST.replace(b" 4000 2\n", b" 4000 3\n", 1),
        FIRST.replace(b"10 t ext4_open\n", b"10 t ext4_open "),
        FIRST.replace(b"-", EXT4.encode()),
        FIRST.replace(b" 4000 2\n", b" 4000 ffffffff\n", 1),
    ],
)
def test_what_is_out_of_form_is_refused(text: bytes):
    with pytest.raises(MalformedImage):
        read_parts(BytesIO(text))
