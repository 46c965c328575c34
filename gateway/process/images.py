"""The images that processes run: one per file, opened when a sample first lies in it.

Files are read by pread and only where needed: a mapped file that is truncated kills the reader by SIGBUS, and copies of
whole tables would not fit the gateway's memory. Between captures `close_files` closes all descriptors, so that the
gateway holds no deleted file's space and blocks no unmount.
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
# A binary without any build id is identified by its SHA-256; hashing this much takes some 0.1 s, once.
MAX_HASHED_BYTES: Final = 64 << 20
_MAX_HASHES: Final = 4096
_HASH_PIECE_BYTES: Final = 1 << 20

_Key: TypeAlias = tuple[tuple[int, int], int, bytes, str]


class Image:
    """An executable file, the vdso, or memory without a file.

    `why` is the reason, for a person, for missing unwind rules; empty: none is missing. `build_id` is the GNU build id,
    empty if there is none; `entry_offset` is the file offset of e_entry, −1 if there is none.
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
        """The process through which it was last opened."""
        return self._source[0]

    @property
    def why(self) -> str:
        """The reason why unwind rules are missing; empty: none is missing."""
        return self.rules.why

    @property
    def layout(self) -> ElfLayout | None:
        """Its headers; None if it is no readable ELF file of this machine."""
        return self._layout

    @property
    def is_elf(self) -> bool:
        """Whether it is a readable ELF file of this machine."""
        return self._layout is not None

    @property
    def is_go(self) -> bool:
        """Whether Go's linker built it."""
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
        """Identifier of the content of a file without GNU build id: `go:<id>` or `sha256:<hex>`.

        Empty if there is a build id, or if the file is not ELF, unreadable, or too large to hash. Computed on first
        use.
        """
        if self._content_key is None:
            self._content_key = self._find_content_key()
        return self._content_key

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes of the file at `offset`; fewer at its end, none if unreadable."""
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
        """Record a process through which the file can be opened again."""
        self._source = (pid, vma)

    def close(self) -> None:
        """Close the descriptor; a later `read` opens the file again."""
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
    """A cache of images, which drops the least recently used first. Not thread-safe.

    The key is the mapping's device, inode and build id. If the kernel reported no build id, the inode's content may
    have changed, so the file is checked again after `close_files`.
    """

    def __init__(
        self,
        open_files: Opener = candidates,
        *,
        max_images: int = _MAX_IMAGES,
        max_table_bytes: int = _MAX_TABLE_BYTES,
    ) -> None:
        """Open files through `open_files`; the limits are images and bytes of their tables."""
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
        """Return the image of a mapping; never raises: an unreadable one has no rules and a `why`."""
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
        """Return bytes of a process's executable memory without a file; none if impossible.

        A program may serve a file that is mapped there and block its readers; so the mapping is checked right before.
        A mapping made in between, or memory served by userfaultfd, can still block.
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
        """Close every file. Call it at the end of a capture; the next one reopens what it needs."""
        for image in self._distinct():
            image.close()
        self._checked.clear()
        forget_other_mounts()

    def reopen(self, image: Image, pid: int, vma: Vma) -> bool:
        """Open an image's file again; False: the file is gone or its content has changed."""
        for candidate in self._open_files(pid, vma):
            if candidate.signature == image.signature:
                image.descriptor = candidate.descriptor
                return True
            os.close(candidate.descriptor)
        return False

    def sha256(self, image: Image) -> str:
        """Return `sha256:<hex>` of an image's file; empty above `MAX_HASHED_BYTES` or if unreadable."""
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
        """Whether a cached image is the one that the mapping shows."""
        if image.signature is not None:
            return bool(vma.build_id) or key in self._checked
        # It could not be opened through one process, perhaps an ending one; another process may work.
        return not vma.has_file or (key in self._checked and image.pid == pid)

    def _open_image(self, pid: int, vma: Vma) -> Image:
        source = (pid, vma)
        if vma.path == VDSO:
            return self._vdso(source)
        if not vma.has_file:
            return Image(self, source, why="this memory has no file")
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
        """The gateway's own vdso: it is the same in every process."""
        try:
            memory = own_vdso()
            layout = read_layout(lambda offset, size: memory[offset : offset + size])
        except GatewayError as reason:
            return Image(self, source, why=str(reason), readable=False)
        return Image(self, source, memory=memory, layout=layout)

    def _distinct(self) -> list[Image]:
        """Distinct images: mappings with and without a reported build id may share one."""
        return list({id(image): image for image in self._images.values()}.values())

    def _shrink(self) -> None:
        while len(self._images) > self._max_images or (
            len(self._images) > 1 and self._table_bytes() > self._max_table_bytes
        ):
            _, image = self._images.popitem(last=False)
            self._close_image(image)

    def _close_image(self, image: Image) -> None:
        """Close an image that lost a mapping, unless another mapping uses it."""
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
    raise BadImage("this kernel provides no vdso")
