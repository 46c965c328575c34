"""The kernel table of the machine a worker runs on: kept, so that other workers and later boots have it."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select

from storage.archive import Archive
from storage.schema import debug_file
from symbolizer.addresses import FileOffsets
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms
from symbolizer.sources.chain import Chain
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.kernel_table_store import KernelTableStore
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.running_kernel import RunningKernel
from symbolizer.sources.source import Missing
from symbolizer.sources.symbol_store_source import Uploaded

pytestmark = pytest.mark.integration

BUILD = b"\x07" * 20
KERNEL = KernelIdentity(BUILD, (("ext4", "09" * 20),))


def machine(root: Path, *, kernel: int, module: int, build: bytes = BUILD) -> RunningKernel:
    """A machine after a boot that put the kernel and a module to these addresses."""

    def note(build_id: bytes) -> bytes:
        return b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + build_id

    text = f"{kernel:x} T _stext\n{kernel:x} T vfs_read\n{kernel + 0x1000:x} T _etext\n{module:x} t ext4_open\t[ext4]\n"
    for name, content in (
        ("sys/kernel/notes", note(build)),
        ("proc/kallsyms", text.encode()),
        ("sys/module/ext4/coresize", b"8192\n"),
        ("sys/module/ext4/notes/.note.gnu.build-id", note(b"\x09" * 20)),
        ("sys/module/ext4/sections/.text", f"{module:#x}\n".encode()),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return RunningKernel(root)


def source(engine: Engine, archive: Archive, folder: Path, kernel: RunningKernel) -> Chain:
    store = Uploaded(engine, archive, DownloadFolder(folder / "downloads", limit_bytes=1 << 24))
    local = LocalFiles(debug_roots=[], kernel=kernel, root=folder, keep=KernelTableStore(engine, archive))
    return Chain([store, local])


def names(symbols: Kallsyms | Missing) -> list[bytes]:
    assert isinstance(symbols, Kallsyms)
    start = FileOffsets(np.zeros(1, np.uint64))
    return [table.names[int(table.find(start)[0])] for table in (symbols.kernel, *symbols.modules.values())]


def test_what_one_boot_showed_names_captures_after_the_next(engine: Engine, archive: Archive, tmp_path: Path):
    before = machine(tmp_path / "1", kernel=0xFFFFFFFF81000000, module=0xFFFFFFFFC0200000)
    assert names(source(engine, archive, tmp_path / "1", before).kernel(KERNEL)) == [
        b"vfs_read",
        b"ext4_open",
    ]
    after = machine(tmp_path / "2", kernel=0xFFFFFFFF81000000, module=0xFFFFFFFFC0200000, build=b"\x08" * 20)
    assert names(source(engine, archive, tmp_path / "2", after).kernel(KERNEL)) == [b"vfs_read", b"ext4_open"]


def test_other_boots_of_it_add_nothing(engine: Engine, archive: Archive, tmp_path: Path):
    for number in range(3):
        shift = number * 0x200000
        kernel = machine(
            tmp_path / str(number), kernel=0xFFFFFFFF81000000 + shift, module=0xFFFFFFFFC0200000 + shift
        )
        keeper = KernelTableStore(engine, archive)
        table = kernel.table()
        assert isinstance(table, bytes)
        keeper(table)
        keeper(table)
    with engine.connect() as connection:
        [row] = connection.execute(select(debug_file)).all()
    assert (row.binary_key, row.kind, row.variant) == (BUILD.hex(), "kallsyms", KERNEL.module_set)


def test_a_store_that_is_full_or_away_keeps_no_name_from_anybody(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").touch()
    away = Archive(str(tmp_path / "file" / "below"))
    kernel = machine(tmp_path / "1", kernel=0xFFFFFFFF81000000, module=0xFFFFFFFFC0200000)
    assert names(source(engine, away, tmp_path / "1", kernel).kernel(KERNEL)) == [b"vfs_read", b"ext4_open"]
    assert "not stored" in caplog.text
