"""Source files of one binary as a tar archive: how a folder of them travels, and how it is taken apart.

Members are named by the paths the debug information states, which are where the files lay when the binary was
built. An archive is a stranger's: nothing is unpacked to disk, links and folders are passed over, and each
file and the number of files have limits.
"""

import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from services.symbols.errors import UnusableFile
from storage.symbols.keys import sentence
from storage.symbols.sources import MAX_SOURCE_BYTES
from symbolizer.source_text.roots import SOURCE_ENDINGS

MEDIA_TYPE: Final = "application/x-tar"
MOST_FILES: Final = 200_000
_SKIPPED: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})


def source_files(folder: Path) -> Iterator[Path]:
    """The source files below a folder, by their endings; links to folders are not followed."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            path = Path(parent, name)
            if path.suffix.lower() in SOURCE_ENDINGS and path.is_file():
                yield path


def pack(
    files: list[Path], folder: Path, built_at: PurePosixPath, target: IO[bytes], packed: Callable[[int], None]
) -> int:
    """Write the files as an archive, named as if `folder` lay at `built_at`; how many were taken.

    Those over the limit of one file are left out. `packed` is told the number so far. Raises OSError.
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


def unpack(archive: Path) -> Iterator[tuple[str, bytes]]:
    """(path, text) of each file of an archive. Raises `UnusableFile` for one that is none or breaks a limit."""
    count = 0
    try:
        with tarfile.open(archive, mode="r:") as members:
            while (member := members.next()) is not None:
                members.members.clear()  # type: ignore[attr-defined]  # else every header stays in memory
                count += 1
                if count > MOST_FILES:
                    raise UnusableFile(f"The archive has more than {MOST_FILES:,} files, folders and links.")
                if not member.isreg():
                    continue
                if member.size > MAX_SOURCE_BYTES:
                    raise UnusableFile(
                        f"{sentence(member.name, 200)} has {member.size:,} bytes; sources have at most {MAX_SOURCE_BYTES:,}."
                    )
                file = members.extractfile(member)
                yield member.name, file.read() if file else b""
    except RecursionError as error:
        # tarfile reads the header that another one is about by calling itself.
        raise UnusableFile("The archive of sources has too many extended headers in a row.") from error
    except (tarfile.TarError, EOFError, OverflowError, ValueError) as error:
        raise UnusableFile(f"The archive of sources cannot be read: {error}.") from error
