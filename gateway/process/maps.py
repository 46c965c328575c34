"""The executable mappings of a live process.

Since Linux 6.11 PROCMAP_QUERY on /proc/PID/maps returns one executable mapping after the other with its build id, at
half the cost of parsing the text; on older kernels the text is parsed.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.errors import AccessDenied, ProcessGone
from gateway.process.file_systems import served_by_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A process can have 65,530 mappings by default; of one with more executable mappings only this many are read, and
# walks that reach another one end as "no mapping".
MAX_MAPPINGS: Final = 8192
_MAX_TEXT_BYTES: Final = 16 << 20

# From linux/fs.h: _IOWR('f', 17, struct procmap_query), and its flags.
_PROCMAP_QUERY: Final = 0xC0686611
_QUERY_EXECUTABLE: Final = 0x04
_QUERY_COVERING_OR_NEXT: Final = 0x10
_NAME_BYTES: Final = 4096
_BUILD_ID_BYTES: Final = 32

_DELETED: Final = " (deleted)"
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Vma:
    """One executable mapping: [start, end) of a process shows `path` from file offset `offset` on.

    `path` is as the process sees it, with undecodable bytes replaced; "" or in brackets: no file. `device`
    (major, minor) and `inode` are 0 if there is no file or they are unknown; `build_id` is empty if the kernel did not
    report it. `deleted`: the path no longer leads to the file.
    """

    start: int
    end: int
    offset: int
    path: str
    build_id: bytes
    device: tuple[int, int]
    inode: int
    deleted: bool

    @property
    def has_file(self) -> bool:
        """Whether it maps a file; other memory is anonymous (JIT code), or the kernel's (vdso)."""
        # perf calls anonymous memory "//anon".
        return self.path.startswith("/") and not self.path.startswith("//")


class _Query(ctypes.Structure):
    """Struct procmap_query of linux/fs.h."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("size", "flags", "address", "start", "end", "vma_flags")),
        *((name, ctypes.c_uint64) for name in ("page_size", "offset", "inode")),
        *((name, ctypes.c_uint32) for name in ("major", "minor", "name_size", "build_id_size")),
        *((name, ctypes.c_uint64) for name in ("name_address", "build_id_address")),
    )
    size: int
    flags: int
    address: int
    start: int
    end: int
    offset: int
    inode: int
    major: int
    minor: int
    name_size: int
    build_id_size: int
    name_address: int
    build_id_address: int


def read_executable_maps(pid: int) -> list[Vma]:
    """Return the executable mappings of a process by ascending address; none for a kernel thread.

    Raises ProcessGone and AccessDenied.
    """
    try:
        descriptor = os.open(f"/proc/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                return list(_query(descriptor, served_by_kernel(pid)))
            except OSError as reason:
                # ENOTTY: an older kernel. ENAMETOOLONG: a path longer than a page, which the text shows.
                if reason.errno not in {errno.ENOTTY, errno.ENAMETOOLONG}:
                    raise
            return parse_maps(_read(descriptor))
        finally:
            os.close(descriptor)
    except (FileNotFoundError, ProcessLookupError) as reason:
        raise ProcessGone(f"process {pid} has ended") from reason
    except PermissionError as reason:
        raise AccessDenied(f"no access to the mappings of process {pid}") from reason


def parse_maps(text: bytes) -> list[Vma]:
    """Parse the text of /proc/PID/maps; returns the executable mappings and skips malformed lines."""
    found: list[Vma] = []
    # Not splitlines: of its line ends the kernel escapes only the newline in a path.
    for line in text.split(b"\n"):
        fields = line.split(None, 5)
        if len(fields) < 5 or fields[1][2:3] != b"x" or len(found) == MAX_MAPPINGS:
            continue
        start, _, end = fields[0].partition(b"-")
        major, _, minor = fields[3].partition(b":")
        name = fields[5] if len(fields) == 6 else b""
        try:
            vma = _vma(
                start=int(start, 16),
                end=int(end, 16),
                offset=int(fields[2], 16),
                name=_ESCAPED.sub(lambda octal: bytes([int(octal[1], 8) & 0xFF]), name),
                build_id=b"",
                device=(int(major, 16), int(minor, 16)),
                inode=int(fields[4]),
            )
        except ValueError:
            continue
        found.append(vma)
    return found


def is_anonymous(pid: int, address: int, size: int) -> bool:
    """Whether executable memory of a process maps no file now, so that reading it cannot block on one."""
    try:
        descriptor = os.open(f"/proc/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                vma = next(_query(descriptor, lambda _: False, address), None)
            except OSError as reason:
                if reason.errno != errno.ENOTTY:  # the path is too long, so there is one
                    raise
                covering = (vma for vma in parse_maps(_read(descriptor)) if vma.end > address)
                vma = next(covering, None)
        finally:
            os.close(descriptor)
    except (OSError, OverflowError):
        return False
    return (
        vma is not None
        and vma.start <= address
        and address + size <= vma.end
        and not (vma.inode or any(vma.device) or vma.has_file)
    )


def _query(descriptor: int, served: Callable[[tuple[int, int]], bool], address: int = 0) -> Iterator[Vma]:
    """Yield executable mappings from an address on by PROCMAP_QUERY. Raises OSError; ENOTTY on older kernels.

    For a build id Linux ≥ 6.12 reads the file if necessary, and waits for it: it is requested only for files on a
    device that is `served` by the kernel.
    """
    name = ctypes.create_string_buffer(_NAME_BYTES)
    build_id = ctypes.create_string_buffer(_BUILD_ID_BYTES)
    query = _Query(size=ctypes.sizeof(_Query), flags=_QUERY_EXECUTABLE | _QUERY_COVERING_OR_NEXT)
    query.name_address = ctypes.addressof(name)
    query.address = address
    for _ in range(MAX_MAPPINGS):
        # Both sizes are in and out: the available size, then the used one.
        query.name_size = _NAME_BYTES
        query.build_id_size = 0
        query.build_id_address = 0
        try:
            fcntl.ioctl(descriptor, _PROCMAP_QUERY, query)
            if query.inode and served((query.major, query.minor)):
                query.name_size = _NAME_BYTES
                query.build_id_size = _BUILD_ID_BYTES
                query.build_id_address = ctypes.addressof(build_id)
                fcntl.ioctl(descriptor, _PROCMAP_QUERY, query)
        except FileNotFoundError:  # no mapping at or above the address
            return
        yield _vma(
            start=query.start,
            end=query.end,
            offset=query.offset,
            name=name.raw[: query.name_size - 1] if query.name_size else b"",
            build_id=build_id.raw[: query.build_id_size],
            device=(query.major, query.minor),
            inode=query.inode,
        )
        query.address = query.end


def _vma(
    *, start: int, end: int, offset: int, name: bytes, build_id: bytes, device: tuple[int, int], inode: int
) -> Vma:
    path = name.decode("utf-8", "replace")
    # A file can be named "x (deleted)"; the kernel's text does not distinguish the two.
    deleted = path.startswith("/") and path.endswith(_DELETED)
    return Vma(
        start, end, offset, path.removesuffix(_DELETED) if deleted else path, build_id, device, inode, deleted
    )


def _read(descriptor: int) -> bytes:
    pieces = []
    size = 0
    while size < _MAX_TEXT_BYTES and (piece := os.read(descriptor, 1 << 16)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)
