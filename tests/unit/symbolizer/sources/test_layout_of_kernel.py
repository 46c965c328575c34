"""A kernel in the small: code at the top of the address space, counted from `_stext`, which is not its first byte."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from fleetpb import capture_pb2
from storage.ingest.symbolized import Status
from symbolizer.addresses import FileOffsets
from symbolizer.builds.symcaches import local_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.identity import identity_of_key
from symbolizer.images.image import Image
from symbolizer.images.images import Images
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.sources.layout import is_kernel
from symbolizer.sources.local_files import LocalFiles

SOURCE = """
int percpu __attribute__((section(".data..percpu"))) = 1;
__attribute__((section(".init.text"), used)) int start_kernel(void) { return 1; }
__attribute__((section(".head.text"), used)) int startup_64(void) { return 2; }
static inline __attribute__((always_inline)) int twice(volatile int *n) {
    return *n * 2;
}
__attribute__((noinline)) int vfs_read(volatile int *n) {
    return twice(n) + 1;
}
__attribute__((noinline)) int do_syscall_64(volatile int *n) { return vfs_read(n) + 1; }
"""
SCRIPT = """
PHDRS { text PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); init PT_LOAD FLAGS(7); note PT_NOTE; }
SECTIONS {
  . = 0xffffffff81000000;
  .text : { *(.head.text) . = ALIGN(64); _stext = .; *(.text*) _etext = .; } :text
  .notes : { *(.note.gnu.build-id) } :text :note
  .data..percpu 0 : { *(.data..percpu) } :data
  . = 0xffffffff82000000;
  .init.text : { *(.init.text) } :init
}
"""


@pytest.fixture(scope="module")
def vmlinux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None or shutil.which("addr2line") is None:
        pytest.skip("gcc or binutils are not installed")
    folder = tmp_path_factory.mktemp("debug") / "boot"
    folder.mkdir()
    (folder / "kernel.c").write_text(SOURCE)
    (folder / "kernel.lds").write_text(SCRIPT)
    flags = [
        "-g",
        "-O1",
        "-fno-pic",
        "-mcmodel=kernel",
        "-fcf-protection=none",
        "-fno-asynchronous-unwind-tables",
    ]
    subprocess.run(
        ["gcc", *flags, "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=sha1,-T,kernel.lds", "-o", "vmlinux-6.1.0", "kernel.c"],
        check=True,
        cwd=folder,
    )  # fmt: skip
    return folder / "vmlinux-6.1.0"


def opened(vmlinux: Path, tmp_path: Path) -> Image:
    build_id = ElfFile(vmlinux.read_bytes()).build_id
    images = Images(
        LocalFiles(debug_roots=[vmlinux.parents[1]], root=tmp_path), local_symcaches(tmp_path / "cache")
    )
    identity = identity_of_key(build_id.hex(), "[kernel]")
    return images.open(capture_pb2.Mapping.KERNEL, identity, KernelIdentity(build_id))


def address_of(vmlinux: Path, name: str) -> int:
    lines = subprocess.run(["nm", vmlinux], check=True, capture_output=True, text=True).stdout.splitlines()
    return next(int(line.split()[0], 16) for line in lines if line.split()[2] == name)


def frames(image: Image, offset: int) -> list[tuple[str, int]]:
    found = image.frames(FileOffsets(np.array([offset], np.uint64)))
    return [(found.names[entry][0].raw_name, found.names[entry][1]) for entry in found.entries]


def test_lines_and_inlined_calls_come_with_its_debug_data(vmlinux: Path, tmp_path: Path):
    image = opened(vmlinux, tmp_path)
    assert (image.status, image.reason) == (Status.FULL, "")
    start, end = address_of(vmlinux, "_stext"), address_of(vmlinux, "_etext")
    assert start > address_of(vmlinux, "startup_64")
    depths = set()
    for address in range(start, end):
        said = subprocess.run(
            ["addr2line", "-if", "-e", vmlinux, hex(address)], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        lines = [int(line.rpartition(":")[2].split(" ")[0].replace("?", "0")) for line in said[1::2]]
        expected = list(zip(said[::2], lines, strict=True))
        if expected != [("??", 0)]:
            assert frames(image, address - start) == expected
            depths.add(len(expected))
    assert depths == {1, 2}
    assert frames(image, address_of(vmlinux, "vfs_read") - start)[-1][0] == "vfs_read"


def test_stripped_of_debug_data_its_symbols_remain(vmlinux: Path, tmp_path: Path):
    (tmp_path / "boot").mkdir()
    subprocess.run(["objcopy", "--strip-debug", vmlinux, tmp_path / "boot/vmlinux-6.1.0"], check=True)
    image = opened(tmp_path / "boot/vmlinux-6.1.0", tmp_path)
    assert image.status == Status.SYMTAB
    start = address_of(vmlinux, "_stext")
    assert frames(image, address_of(vmlinux, "do_syscall_64") - start) == [("do_syscall_64", 0)]


def test_a_program_is_no_kernel(programs):
    assert not any(is_kernel(ElfFile(path.read_bytes())) for path in (programs.pie, programs.fixed))
