"""Source files of one binary as a tar archive: packing a folder, and reading an uploaded archive.

Members are named by the paths in the debug information: their locations when the binary was built. An archive may be
hostile, so a child process with limits on memory and CPU time reads its headers. No file is unpacked to disk, links and
folders are skipped, and each file and the number of files have limits.
"""

import json
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from services.symbols import source_child
from services.symbols.errors import UnusableFile
from storage.symbols.sources import MAX_SOURCE_BYTES
from symbolizer.files import OpenedFile
from symbolizer.limited_child import run_child
from symbolizer.source_text.roots import SOURCE_ENDINGS

MEDIA_TYPE: Final = "application/x-tar"
MOST_FILES: Final = 200_000
CHILD_BYTES: Final = 256 << 20
"""Address space of the child that reads the headers of one archive; it imports no numpy."""
_CHILD_SECONDS: Final = 60
"""CPU time; the wall-clock limit is three times as long. 200,000 members took 9 s, 21 s with a PAX header each."""
_SKIPPED: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})


def source_files(folder: Path) -> Iterator[Path]:
    """The source files below a folder, by their suffixes; links to folders are not followed."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            path = Path(parent, name)
            if path.suffix.lower() in SOURCE_ENDINGS and path.is_file():
                yield path


def pack(
    files: list[Path], folder: Path, built_at: PurePosixPath, target: IO[bytes], packed: Callable[[int], None]
) -> int:
    """Write the files as an archive with names as if `folder` lay at `built_at`; returns the number of files written.

    Files above the size limit are left out. `packed` is called with the number so far. Raises OSError.
    """
    count = 0
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in files:
            with path.open("rb") as file:
                member = tarfile.TarInfo(str(built_at / path.relative_to(folder).as_posix()))
                member.size = os.fstat(file.fileno()).st_size
                if member.size > MAX_SOURCE_BYTES:
                    continue
                archive.addfile(member, file)
            count += 1
            packed(count)
    return count


def unpack(
    archive: Path,
    *,
    stopping: Callable[[], bool] = lambda: False,
    memory_bytes: int = CHILD_BYTES,
    cpu_seconds: int = _CHILD_SECONDS,
) -> Iterator[tuple[str, bytes]]:
    """(path, content) of each file of an archive; a child process lists it.

    Raises `UnusableFile` for a file that is no archive or exceeds a limit, OSError if it cannot be opened. Ends the
    child and yields nothing when `stopping` is true.
    """
    with OpenedFile(archive) as content:
        for line in _listed(content, stopping, memory_bytes, cpu_seconds).splitlines():
            name, offset, size = json.loads(line)
            yield name, content[offset : offset + size]


def _listed(content: OpenedFile, stopping: Callable[[], bool], memory_bytes: int, cpu_seconds: int) -> bytes:
    limits = (memory_bytes, cpu_seconds, MOST_FILES, MAX_SOURCE_BYTES)
    arguments = [str(number) for number in (content.descriptor, *limits)]
    seconds = 3 * cpu_seconds
    ended = run_child(source_child, arguments, [content.descriptor], seconds=seconds, stopping=stopping)
    if ended is None:
        if stopping():
            return b""
        raise UnusableFile(f"The archive of sources was not read within {seconds} s.")
    if ended.status == source_child.REFUSED:
        raise UnusableFile(ended.last_error)
    if ended.status != 0:
        raise UnusableFile(
            f"Reading the archive of sources ended early (status {ended.status} within {cpu_seconds} CPU s and "
            f"{memory_bytes >> 20} MiB): {ended.last_error or 'no message'}"
        )
    return ended.output
