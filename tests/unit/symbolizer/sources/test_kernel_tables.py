"""GIVEN tables of several machines WHEN a kernel is asked for THEN its functions are found, and no other's."""

import io
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.symbols.candidates import DebugFile
from storage.symbols.kinds import FileKind, Quality
from symbolizer.addresses import FileOffsets
from symbolizer.files import OpenedFile
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import (
    MISS,
    Kallsyms,
    LoadedModule,
    OffsetTable,
    kernel_of_table,
    parse_table,
    read_kernel_of_table,
    table_of_boot,
)
from symbolizer.sources import kernel_tables
from symbolizer.sources.kernel_tables import MAX_LOOKED_AT, KernelTables
from symbolizer.sources.source import Missing

BUILD = b"\x07" * 20
KERNEL = "ffffffff81000000 T _stext\nffffffff81000040 T vfs_read\nffffffff81001000 T _etext\n"


def table(**modules: tuple[str, str]) -> bytes:
    """A kernel with these modules: build-id and function of each, by name."""
    text, loaded = KERNEL, []
    for number, (name, (build, function)) in enumerate(modules.items()):
        base = 0xFFFFFFFFC0200000 + number * 0x10000
        text += f"{base + 0x20:x} t {function}\t[{name}]\n"
        loaded.append(LoadedModule(name, build, base, 0x4000))
    return table_of_boot(text.encode(), BUILD, loaded)


class Store:
    """Candidates in memory; counts how often one is fetched."""

    def __init__(self, folder: Path, *tables: bytes) -> None:
        self.folder = folder
        self.files: list[DebugFile] = []
        self.fetched: list[bytes] = []
        for content in tables:
            self.add(content)
        self.tables = KernelTables(self.fetch)

    def add(self, content: bytes) -> None:
        sha256 = len(self.files).to_bytes(32, "big")
        (self.folder / sha256.hex()).write_bytes(content)
        variant = kernel_of_table(content).module_set if content.startswith(b"fleetprof") else ""
        self.files.append(
            DebugFile(
                debug_file_id=len(self.files), binary_key=BUILD.hex(), kind=FileKind.KALLSYMS, variant=variant,
                name="[kernel]", quality=Quality.SYMTAB, sha256=sha256, bytes=1, raw_bytes=1, origin="gateway",
                uploaded_by="", added_at=datetime.now(UTC), rejected=None, used_at=None,
            )
        )  # fmt: skip

    def fetch(self, file: DebugFile) -> OpenedFile | Missing:
        self.fetched.append(file.sha256)
        path = self.folder / file.sha256.hex()
        return OpenedFile(path) if path.exists() else Missing("lost")

    def find(self, *modules: tuple[str, str]) -> Kallsyms | None:
        return self.tables.find(KernelIdentity(BUILD, tuple(sorted(modules))), self.files)


def name(found: OffsetTable, offset: int) -> bytes | None:
    index = int(found.find(FileOffsets(np.array([offset], np.uint64)))[0])
    return None if index == MISS else found.names[index]


def test_the_same_kernel_with_other_modules_is_told_apart(tmp_path: Path):
    store = Store(
        tmp_path, table(ext4=("aa" * 20, "ext4_old")), table(ext4=("bb" * 20, "ext4_new"), nfs=("cc" * 20, "nfs_read"))
    )  # fmt: skip
    old = store.find(("ext4", "aa" * 20))
    new = store.find(("ext4", "bb" * 20), ("nfs", "cc" * 20))
    assert old is not None
    assert new is not None
    assert name(old.kernel, 0x50) == name(new.kernel, 0x50) == b"vfs_read"
    assert {module: name(found, 0x20) for module, found in old.modules.items()} == {"ext4": b"ext4_old"}
    assert {module: name(found, 0x20) for module, found in new.modules.items()} == {
        "ext4": b"ext4_new",
        "nfs": b"nfs_read",
    }


def test_a_set_nobody_sent_is_put_together_from_others(tmp_path: Path):
    store = Store(tmp_path, table(ext4=("aa" * 20, "ext4_read")), table(nfs=("cc" * 20, "nfs_read")))
    found = store.find(("ext4", "aa" * 20), ("nfs", "cc" * 20), ("zfs", "dd" * 20))
    assert found is not None
    assert set(found.modules) == {"ext4", "nfs"}


def test_a_module_without_an_id_counts_only_with_the_same_set(tmp_path: Path):
    store = Store(tmp_path, table(ext4=("aa" * 20, "ext4_read"), vendor=("", "vendor_io")))
    same, other = store.find(("ext4", "aa" * 20), ("vendor", "")), store.find(("vendor", ""))
    assert same is not None
    assert other is not None
    assert set(same.modules) == {"ext4", "vendor"}
    assert not other.modules
    assert name(other.kernel, 0x50) == b"vfs_read"


def test_a_table_is_fetched_once_whoever_asks(tmp_path: Path):
    store = Store(tmp_path, table(ext4=("aa" * 20, "ext4_read")))
    for modules in ([("ext4", "aa" * 20)], [], [("nfs", "cc" * 20)]):
        assert store.find(*modules) is not None
    assert len(store.fetched) == 1


def test_the_own_set_is_looked_at_first(tmp_path: Path):
    sets = [table(ext4=(f"{number:02x}" * 20, "f")) for number in range(MAX_LOOKED_AT + 5)]
    store = Store(tmp_path, *sets)
    last = store.find(("ext4", f"{MAX_LOOKED_AT + 4:02x}" * 20))
    assert last is not None
    assert set(last.modules) == {"ext4"}
    assert store.fetched == [store.files[-1].sha256]
    nobodys = store.find(("ext4", "ff" * 20))
    assert nobodys is not None
    assert not nobodys.modules
    assert len(store.fetched) <= MAX_LOOKED_AT + 1


def test_what_is_lost_or_broken_is_passed_over(tmp_path: Path):
    store = Store(tmp_path, b"fleetprof kernel symbols 1\nkernel - 0 5\n\n", table())
    (tmp_path / store.files[1].sha256.hex()).unlink()
    assert store.find() is None
    store.add(KERNEL.encode())
    found = store.find(("ext4", "aa" * 20))
    assert found is not None
    assert name(found.kernel, 0x50) == b"vfs_read"
    assert not found.modules


@given(st.dictionaries(st.sampled_from("abcde"), st.sampled_from(["", "aa" * 20, "bb" * 20])))
def test_a_table_says_what_it_is_of(modules):
    text = table(**{name: (build, f"{name}_f") for name, build in modules.items()})
    expected = KernelIdentity(BUILD, tuple(sorted(modules.items())))
    assert kernel_of_table(text) == expected
    build_id, symbols = parse_table(text)
    assert build_id == BUILD
    assert symbols.builds == modules
    assert set(symbols.modules) == set(modules)
    assert set(symbols.only(expected).modules) == set(modules)


def test_of_a_file_no_more_is_read_than_says_what_it_is_of():
    start, end = b"fleetprof kernel symbols 1\nkernel 07 0 0\nmodule ", b" aa 0 0"
    for length in range((2 << 20) - 2, (2 << 20) + 2):  # the empty line may lie on the border of two pieces
        head = start + b"x" * (length - len(start) - len(end)) + end
        file = io.BytesIO(head + b"\n\n" + b"0 T f\n" * 1_000_000)
        assert read_kernel_of_table(file) == kernel_of_table(head)
        assert file.tell() <= 3 << 20


def test_large_tables_give_way_to_newer_ones(tmp_path: Path, monkeypatch):
    def named(function: str) -> bytes:
        return table(nf_tables=("aa" * 20, function))

    store = Store(tmp_path, named("x" * 5000), named("y" * 5000), named("z"))
    kernel = KernelIdentity(BUILD, (("nf_tables", "aa" * 20),))
    monkeypatch.setattr(kernel_tables, "MAX_PARSED_BYTES", 8000)

    def fetches(which: int) -> int:
        before = len(store.fetched)
        assert store.tables.find(kernel, store.files[which : which + 1]) is not None
        return len(store.fetched) - before

    assert [fetches(which) for which in (0, 0, 1, 0, 2, 2, 0)] == [1, 0, 1, 0, 1, 0, 0]
    monkeypatch.setattr(kernel_tables, "MAX_PARSED_BYTES", 2000)
    store.add(named("w"))
    assert [fetches(which) for which in (3, 0)] == [1, 1]
