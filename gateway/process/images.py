"""The images that processes run: one per file, opened when a sample first lies in it.

Files are read by pread and only where needed: a mapped file that is truncated kills the reader by SIGBUS,
and copies of whole tables would not fit the gateway's memory. Between captures `close_files` gives all
descriptors back, so that the gateway holds no deleted file's space and no file system's unmounting.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeAlias

from gateway.errors import BadImage, GatewayError
from gateway.process.file_candidates import Candidate, Signature, candidates
from gateway.process.maps import is_anonymous, read_executable_maps
from gateway.process.mounts import forget_other_mounts
from gateway.unwind.eh_frame import UnwindTable
from gateway.unwind.elf import ElfLayout, read_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.process.maps import Vma

    Opener: TypeAlias = Callable[[int, Vma], Iterator[Candidate]]

VDSO: Final = "[vdso]"
_MAX_IMAGES: Final = 256
_MAX_TABLE_BYTES: Final = 16 << 20
# A binary without any build id is named by its SHA-256; hashing this much costs some 0.1 s, once.
MAX_HASHED_BYTES: Final = 64 << 20
_MAX_HASHES: Final = 4096
_HASH_PIECE_BYTES: Final = 1 << 20

_Key: TypeAlias = tuple[tuple[int, int], int, bytes, str]


class Image:
    """An executable file, the vdso, or memory that has no file.

    `why` says, for a person, why it has no unwind rules (or fewer); empty: it has. `build_id` is the GNU
    build id, empty where there is none; `entry_offset` the file offset of e_entry, −1 where there is none.
    """

    __slots__ = (
        "_content_key",
        "_images",
        "_layout",
        "_source",
        "descriptor",
        "memory",
        "rules",
        "signature",
    )

    def __init__(
        self,
        images: Images,
        source: tuple[int, Vma],
        *,
        memory: bytes = b"",
        descriptor: int = -1,
        signature: Signature | None = None,
        layout: ElfLayout | None = None,
        why: str = "",
        readable: bool = True,
    ) -> None:
        self._images = images
        self._source = source
        self._layout = layout
        self._content_key: str | None = None
        self.memory = memory
        self.descriptor = descriptor
        self.signature = signature
        self.rules = UnwindTable(layout, self.read, why=why, readable=readable)

    @property
    def pid(self) -> int:
        """The process through which it was last looked at."""
        return self._source[0]

    @property
    def why(self) -> str:
        """Why there are no unwind rules, or fewer than there should be; empty: there are all."""
        return self.rules.why

    @property
    def is_elf(self) -> bool:
        """Whether it could be read as an ELF file of this machine."""
        return self._layout is not None

    @property
    def is_go(self) -> bool:
        """Whether Go's linker made it."""
        return self._layout is not None and bool(self._layout.go_build_id)

    @property
    def build_id(self) -> bytes:
        """The GNU build id; empty: none."""
        return b"" if self._layout is None else self._layout.build_id

    @property
    def entry_offset(self) -> int:
        """File offset of the program's entry point; −1: none."""
        return -1 if self._layout is None else self._layout.entry_offset

    @property
    def content_key(self) -> str:
        """A name of the content for a file without GNU build id: `go:<id>` or `sha256:<hex>`.

        Empty where there is a build id, or where the file is no ELF file, cannot be read, or is too large
        to hash. Computed when first asked for.
        """
        if self._content_key is None:
            self._content_key = self._find_content_key()
        return self._content_key

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes of the file at `offset`; fewer at its end, none if it cannot be read."""
        if offset < 0:
            return b""
        if self.memory:
            return self.memory[offset : offset + size]
        if self.signature is None or offset >= self.signature.size:
            return b""
        if self.descriptor < 0 and not self._images.reopen(self, *self._source):
            return b""
        try:
            return os.pread(self.descriptor, size, offset)
        except OSError:
            return b""

    def used_by(self, pid: int, vma: Vma) -> None:
        """Note a process through which the file can be opened again."""
        self._source = (pid, vma)

    def close(self) -> None:
        """Give the descriptor back; a later `read` opens the file again."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _find_content_key(self) -> str:
        if self._layout is None or self._layout.build_id or self.signature is None:
            return ""
        if self._layout.go_build_id:
            return "go:" + self._layout.go_build_id.decode("utf-8", "replace")
        return self._images.sha256(self)


class Images:
    """All images met so far, the least recently used dropped first. Not for use by several threads at once.

    An image is found by the mapping's device, inode and build id. Where the kernel did not tell a build
    id, the inode may have got another content since, so the file is looked at again after `close_files`.
    """

    def __init__(
        self,
        open_files: Opener = candidates,
        *,
        max_images: int = _MAX_IMAGES,
        max_table_bytes: int = _MAX_TABLE_BYTES,
    ) -> None:
        """Open files through `open_files`, keep at most so many images and bytes of their tables."""
        self._open_files = open_files
        self._max_images = max_images
        self._max_table_bytes = max_table_bytes
        self._images: OrderedDict[_Key, Image] = OrderedDict()
        self._by_content: dict[Signature, Image] = {}
        self._checked: set[_Key] = set()
        self._hashes: OrderedDict[Signature, str] = OrderedDict()
        self._entries_of_dropped = 0

    @property
    def entries_evaluated(self) -> int:
        """Unwind entries evaluated so far, by all images."""
        return self._entries_of_dropped + sum(image.rules.entries_evaluated for image in self._distinct())

    def open(self, pid: int, vma: Vma) -> Image:
        """Return the image behind a mapping; never raises: what cannot be read has no rules and a `why`."""
        key: _Key = (vma.device, vma.inode, vma.build_id, "" if vma.inode else vma.path)
        known = self._images.get(key)
        if known is not None and self._still_holds(known, key, pid, vma):
            self._images.move_to_end(key)
            if known.descriptor < 0:
                known.used_by(pid, vma)
            return known
        image = self._images[key] = self._open_image(pid, vma)
        self._images.move_to_end(key)
        self._checked.add(key)
        if known is not None and known is not image:
            self._close_image(known)
        self._shrink()
        return image

    def read_memory(self, pid: int, address: int, size: int) -> bytes:
        """Return bytes of a process's executable memory without a file, none where that is not possible.

        A program may serve a file that is mapped there, and let whoever reads it wait; so the mapping is looked
        at right before. What a process maps between the two, or serves by userfaultfd, still has to be waited for.
        """
        if not is_anonymous(pid, address, size):
            return b""
        try:
            descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            try:
                return os.pread(descriptor, size, address)
            finally:
                os.close(descriptor)
        except (OSError, OverflowError):
            return b""

    def close_files(self) -> None:
        """Close every file. Call it when a capture ends; the next one opens what it needs again."""
        for image in self._distinct():
            image.close()
        self._checked.clear()
        forget_other_mounts()

    def reopen(self, image: Image, pid: int, vma: Vma) -> bool:
        """Open an image's file again; False: it is not to be had any more, or has another content."""
        for candidate in self._open_files(pid, vma):
            if candidate.signature == image.signature:
                image.descriptor = candidate.descriptor
                return True
            os.close(candidate.descriptor)
        return False

    def sha256(self, image: Image) -> str:
        """Return `sha256:<hex>` of an image's file, empty above `MAX_HASHED_BYTES` or if it cannot be read."""
        signature = image.signature
        if signature is None or signature.size > MAX_HASHED_BYTES:
            return ""
        known = self._hashes.get(signature)
        if known is None:
            digest = hashlib.sha256()
            position = 0
            while position < signature.size:
                piece = image.read(position, _HASH_PIECE_BYTES)
                if not piece:
                    return ""
                digest.update(piece)
                position += len(piece)
            known = self._hashes[signature] = f"sha256:{digest.hexdigest()}"
            if len(self._hashes) > _MAX_HASHES:
                self._hashes.popitem(last=False)
        return known

    def _still_holds(self, image: Image, key: _Key, pid: int, vma: Vma) -> bool:
        """Whether an image found earlier is what the mapping shows."""
        if image.signature is not None:
            return bool(vma.build_id) or key in self._checked
        # It could not be opened through one process that may have been ending; another may do.
        return not vma.has_file or (key in self._checked and image.pid == pid)

    def _open_image(self, pid: int, vma: Vma) -> Image:
        source = (pid, vma)
        if vma.path == VDSO:
            return self._vdso(source)
        if not vma.has_file:
            return Image(self, source, why="no file behind this memory")
        why = "the mapped file cannot be opened"
        for candidate in self._open_files(pid, vma):
            known = self._by_content.get(candidate.signature)
            if known is not None and (candidate.certain or _same_build(known.build_id, vma)):
                os.close(candidate.descriptor)
                known.used_by(pid, vma)
                return known
            image = self._read(candidate, source)
            if candidate.certain or _same_build(image.build_id, vma):
                self._by_content[candidate.signature] = image
                return image
            image.close()
            why = "another file is now at the mapped file's path"
        return Image(self, source, why=why, readable=False)

    def _read(self, candidate: Candidate, source: tuple[int, Vma]) -> Image:
        def read(offset: int, size: int) -> bytes:
            if offset >= candidate.signature.size:
                return b""
            return os.pread(candidate.descriptor, size, offset)

        layout = None
        why = ""
        readable = True
        try:
            layout = read_layout(read)
        except BadImage as reason:
            why = str(reason)
        except OSError as reason:
            why, readable = f"the mapped file cannot be read: {reason.strerror}", False
        return Image(
            self,
            source,
            descriptor=candidate.descriptor,
            signature=candidate.signature,
            layout=layout,
            why=why,
            readable=readable,
        )

    def _vdso(self, source: tuple[int, Vma]) -> Image:
        """The vdso is the same in every process, so the gateway's own is read."""
        try:
            memory = own_vdso()
            layout = read_layout(lambda offset, size: memory[offset : offset + size])
        except GatewayError as reason:
            return Image(self, source, why=str(reason), readable=False)
        return Image(self, source, memory=memory, layout=layout)

    def _distinct(self) -> list[Image]:
        """Several mappings lead to one image where only some of them told the build id."""
        return list({id(image): image for image in self._images.values()}.values())

    def _shrink(self) -> None:
        while len(self._images) > self._max_images or (
            len(self._images) > 1 and self._table_bytes() > self._max_table_bytes
        ):
            _, image = self._images.popitem(last=False)
            self._close_image(image)

    def _close_image(self, image: Image) -> None:
        """Let go of an image that one mapping no longer leads to, unless another does."""
        if any(other is image for other in self._images.values()):
            return
        self._entries_of_dropped += image.rules.entries_evaluated
        image.close()
        if image.signature is not None and self._by_content.get(image.signature) is image:
            del self._by_content[image.signature]

    def _table_bytes(self) -> int:
        return sum(image.rules.table_bytes for image in self._distinct())


def _same_build(build_id: bytes, vma: Vma) -> bool:
    return bool(vma.build_id) and build_id == vma.build_id


def own_vdso() -> bytes:
    """The image of the kernel's vdso in this process; the same in every one. Raises BadImage, GatewayError."""
    for vma in read_executable_maps(os.getpid()):
        if vma.path == VDSO:
            return ctypes.string_at(vma.start, vma.end - vma.start)
    raise BadImage("this kernel gives no vdso")
