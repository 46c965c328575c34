import ctypes
import hashlib
import mmap
import os
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.process.file_candidates import candidates
from gateway.process.images import Images
from gateway.process.maps import Vma, read_executable_maps
from gateway.unwind.rules import FROM_RSP, NO_ENTRY_RULE, UNUSABLE_RULE

GOLDEN = Path(__file__).parents[3] / "golden" / "gateway" / "frames.elf"
ME = os.getpid()


def vma_of(path: Path, build_id: bytes = b"") -> Vma:
    status = path.stat()
    device = (os.major(status.st_dev), os.minor(status.st_dev))
    return Vma(0x10000, 0x12000, 0, str(path), build_id, device, status.st_ino, deleted=False)


@pytest.fixture
def elf(tmp_path):
    path = tmp_path / "frames.elf"
    shutil.copy(GOLDEN, path)
    return path


def open_descriptors() -> int:
    """But for the list of mounts, which stays open."""
    held = [entry.readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    return sum(path.name != "mountinfo" for path in held)


def test_every_image_of_this_process_is_understood():
    images = Images()
    for vma in read_executable_maps(ME):
        image = images.open(ME, vma)
        assert not vma.build_id or image.build_id == vma.build_id
        if vma.has_file or vma.path == "[vdso]":
            image.rules.rule(vma.offset)
            assert image.why == ""
    images.close_files()


def test_the_vdso_is_read_from_memory():
    images = Images()
    vma = next(vma for vma in read_executable_maps(ME) if vma.path == "[vdso]")
    image = images.open(12345678, vma)  # any process: all have the same
    assert image.read(0, 4) == b"\x7fELF"
    assert len(image.build_id) == 20
    assert image.entry_offset == -1


def test_a_file_is_opened_once(elf):
    images = Images()
    first = images.open(ME, vma_of(elf))
    assert images.open(ME, vma_of(elf)) is first
    assert first.rules.rule(0x3F0) == (FROM_RSP, 1, 0, 0, None)
    assert images.entries_evaluated == 1


def test_told_and_untold_build_ids_lead_to_one_image(elf):
    images = Images()
    first = images.open(ME, vma_of(elf))
    assert images.open(ME, vma_of(elf, first.build_id)) is first


def test_descriptors_are_given_back_and_opened_again(elf):
    before = open_descriptors()
    images = Images()
    image = images.open(ME, vma_of(elf))
    assert open_descriptors() == before + 1
    images.close_files()
    assert open_descriptors() == before
    assert image.rules.rule(0x3F0) == (FROM_RSP, 1, 0, 0, None)
    assert open_descriptors() == before + 1
    images.close_files()


def test_a_file_that_was_replaced_is_not_mixed_with_the_old_one(elf):
    images = Images()
    old = images.open(ME, vma_of(elf))
    mapping = vma_of(elf)
    images.close_files()
    data = bytearray(elf.read_bytes())
    data[0x10F3] = 0x1B  # the table's encoding: no longer understood
    elf.write_bytes(data)
    os.utime(elf, ns=(1, 1))
    assert old.read(0, 4) == b""
    new = images.open(ME, mapping)
    assert new is not old
    assert new.rules.rule(0x3F0) == UNUSABLE_RULE
    images.close_files()


def test_a_truncated_file_is_an_answer_not_a_signal(elf):
    images = Images()
    image = images.open(ME, vma_of(elf))
    os.truncate(elf, 0x200)
    assert image.rules.rule(0x3F0) == UNUSABLE_RULE
    assert "cut off" in image.why
    images.close_files()


def test_another_file_at_the_path_is_refused(elf):
    images = Images()
    image = images.open(ME, replace(vma_of(elf), inode=1))
    assert image.why == "another file is now at the mapped file's path"
    assert image.rules.rule(0x3F0) == UNUSABLE_RULE
    assert image.build_id == b""
    assert image.content_key == ""


def test_the_build_id_can_vouch_for_a_file(elf):
    images = Images()
    build_id = images.open(ME, vma_of(elf)).build_id
    moved = Vma(0x10000, 0x12000, 0, str(elf), build_id, (0, 0), 0, deleted=False)
    assert Images().open(ME, moved).build_id == build_id
    images.close_files()


def test_a_missing_file(tmp_path):
    mapping = Vma(0, 4096, 0, str(tmp_path / "gone"), b"", (8, 1), 99, deleted=False)
    image = Images().open(ME, mapping)
    assert image.why == "the mapped file cannot be opened"
    assert image.rules.rule(0) == UNUSABLE_RULE


def test_an_unreadable_file_is_tried_again_through_another_process(elf):
    gone = 2**22 + 5
    images = Images(lambda pid, vma: iter(()) if pid == gone else candidates(pid, vma))
    mapping = vma_of(elf)
    assert images.open(gone, mapping).rules.rule(0x3F0) == UNUSABLE_RULE
    assert images.open(ME, mapping).rules.rule(0x3F0) == (FROM_RSP, 1, 0, 0, None)
    images.close_files()


def test_the_count_of_entries_never_falls(elf):
    images = Images()
    for number in range(4):
        images.open(ME, vma_of(elf)).rules.rule(0x3F0)
        assert images.entries_evaluated == number + 1
        images.close_files()
        os.utime(elf, ns=(number, number))


def test_a_deleted_path_is_not_opened_by_name(elf):
    image = Images().open(ME, replace(vma_of(elf), deleted=True))
    assert image.why == "the mapped file cannot be opened"


def test_devices_and_pipes_are_never_opened(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), Path("/")):
        assert list(candidates(ME, vma_of(path))) == []


def test_a_file_that_is_no_elf_file_has_code_without_entries(tmp_path):
    path = tmp_path / "jit"
    path.write_bytes(b"\x90" * 4096)
    image = Images().open(ME, vma_of(path))
    assert image.why == "not an ELF file"
    assert image.rules.rule(100) == NO_ENTRY_RULE
    assert image.content_key == ""


def test_memory_without_a_file():
    image = Images().open(ME, Vma(0, 4096, 0, "", b"", (0, 0), 0, deleted=False))
    assert image.why == "this memory has no file"
    assert image.rules.rule(100) == NO_ENTRY_RULE


def test_a_deleted_program_is_read_through_map_files(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("map_files needs CAP_CHECKPOINT_RESTORE")
    import ctypes

    path = tmp_path / "libframes.so"
    shutil.copy(GOLDEN, path)
    ctypes.CDLL(str(path))
    path.unlink()
    mapping = next(vma for vma in read_executable_maps(ME) if vma.path == str(path))
    assert mapping.deleted
    image = Images().open(ME, mapping)
    assert image.rules.rule(0x3F0) == (FROM_RSP, 1, 0, 0, None)


# Names for content without a build id.


def without_build_id(data: bytes, owner: bytes = b"Non\0") -> bytes:
    at = data.index(b"GNU\0")
    return data[:at] + owner + data[at + 4 :]


def test_a_build_id_needs_no_other_name(elf):
    assert Images().open(ME, vma_of(elf)).content_key == ""


def test_without_a_build_id_the_content_is_hashed_when_asked(elf):
    data = without_build_id(elf.read_bytes())
    elf.write_bytes(data)
    image = Images().open(ME, vma_of(elf))
    assert image.build_id == b""
    assert image.content_key == f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_a_hash_is_kept_beyond_its_image(elf, tmp_path):
    elf.write_bytes(without_build_id(elf.read_bytes()))
    images = Images(max_images=1)
    key = images.open(ME, vma_of(elf)).content_key
    other = tmp_path / "other"
    other.write_bytes(b"x")
    images.open(ME, vma_of(other))
    again = images.open(ME, vma_of(elf))
    images.close_files()
    os.truncate(elf, 0)
    assert again.content_key == key


def test_gos_build_id_is_the_name(elf):
    data = bytearray(without_build_id(elf.read_bytes(), b"Go\0\0"))
    at = data.index(b"Go\0\0")
    data[at - 4 : at] = struct.pack("<I", 4)
    data[at + 4 : at + 24] = b"0123456789/abcdefghi"
    elf.write_bytes(data)
    assert Images().open(ME, vma_of(elf)).content_key == "go:0123456789/abcdefghi"


# Bounds.


def test_images_beyond_the_limit_are_dropped_and_closed(tmp_path):
    before = open_descriptors()
    images = Images(max_images=3)
    for number in range(8):
        path = tmp_path / f"{number}.elf"
        shutil.copy(GOLDEN, path)
        images.open(ME, vma_of(path)).rules.rule(0x3F0)
    assert open_descriptors() == before + 3
    assert images.entries_evaluated == 8
    images.close_files()


def test_tables_beyond_the_limit_are_dropped(tmp_path):
    images = Images(max_table_bytes=200)
    opened = []
    for number in range(5):
        path = tmp_path / f"{number}.elf"
        shutil.copy(GOLDEN, path)
        opened.append(images.open(ME, vma_of(path)))
        opened[-1].rules.rule(0x3F0)
    assert sum(image.descriptor >= 0 for image in opened) < 5
    images.close_files()


def mapped(descriptor: int) -> tuple[mmap.mmap, int]:
    """A page of executable memory, and its address."""
    flags = mmap.MAP_PRIVATE | (mmap.MAP_ANONYMOUS if descriptor < 0 else 0)
    page = mmap.mmap(descriptor, 4096, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    return page, ctypes.addressof(ctypes.c_char.from_buffer(page))


def test_memory_of_another_process_is_read_or_not_at_all():
    page, here = mapped(-1)
    page[:10] = b"some bytes"
    assert Images().read_memory(ME, here, 10) == b"some bytes"
    assert Images().read_memory(ME, here + 4090, 10) == b"", "beyond its end"
    assert Images().read_memory(ME, 8, 10) == b""
    assert Images().read_memory(2**22 + 5, here, 10) == b""
    assert Images().read_memory(ME, 2**64 - 8, 10) == b""


def test_no_memory_is_read_that_a_file_is_behind(elf):
    """The program that serves the file could let the reader wait for ever."""
    with elf.open("r+b") as file:
        _, here = mapped(file.fileno())
        assert Images().read_memory(ME, here, 4) == b""
