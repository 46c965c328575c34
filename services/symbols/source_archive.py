"""The members of a tar archive of sources: names and positions without contents.

tarfile reads an extended header whole before it returns, and applies every record of a global header to each member
after it: with 50,000 global records, 9 KB as zstd, a member took 11 ms. So headers are checked before they are read.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final, Self

from services.symbols.errors import UnusableFile
from storage.symbols.keys import sentence

_LARGEST_EXTENDED: Final = 64 << 10
"""Bytes of one member's PAX records or long name: Linux has paths of 4 KiB, and extended attributes of 64 KiB."""
_LARGEST_GLOBAL: Final = 4 << 10
"""Bytes of a global PAX header: `git archive` writes one of 52, a comment with the commit."""
_MOST_GLOBAL: Final = 64
"""Distinct global PAX records."""
_LARGEST: Final = {
    tarfile.XGLTYPE: _LARGEST_GLOBAL,
    tarfile.XHDTYPE: _LARGEST_EXTENDED,
    tarfile.SOLARIS_XHDTYPE: _LARGEST_EXTENDED,
    tarfile.GNUTYPE_LONGNAME: _LARGEST_EXTENDED,
    tarfile.GNUTYPE_LONGLINK: _LARGEST_EXTENDED,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on an archive."""

    members: int
    """Files, folders, links and devices."""
    file_bytes: int
    """Bytes of one file."""


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file of an archive."""

    name: str
    """As in the archive; bytes that are not UTF-8 are lone surrogates."""
    offset: int
    """Offset of its first byte in the archive."""
    size: int


class _Header(tarfile.TarInfo):
    """A header that is checked before the data that it describes is read."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Raises `UnusableFile` for an extended header that is too large, and for a sparse file."""
        header = super().frombuf(buf, encoding, errors)
        largest = _LARGEST.get(header.type)
        if largest is not None and not 0 <= header.size <= largest:
            raise UnusableFile(
                f"The archive has an extended header of {header.size:,} bytes; the limit for this kind is {largest:,}."
            )
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise _sparse(header.name)
        return header


def members(archive: IO[bytes], limits: Limits) -> Iterator[Member]:
    """The regular files of an archive, in its order.

    Raises `UnusableFile` for a file that is no archive or exceeds a limit.
    """
    end = archive.seek(0, 2)
    archive.seek(0)
    count = 0
    try:
        with tarfile.open(fileobj=archive, mode="r:", tarinfo=_Header) as reader:
            while (member := reader.next()) is not None:
                reader.members.clear()  # type: ignore[attr-defined]  # otherwise every header stays in memory
                count += 1
                if count > limits.members:
                    raise UnusableFile(
                        f"The archive has more than {limits.members:,} files, folders and links."
                    )
                if len(reader.pax_headers) > _MOST_GLOBAL:
                    raise UnusableFile(f"The archive has more than {_MOST_GLOBAL} global PAX records.")
                if not member.isreg():
                    continue
                yield _checked(member, limits, end)
    except RecursionError as error:
        # tarfile reads the header that an extended header describes by recursion.
        raise UnusableFile("The archive of sources has too many extended headers in a row.") from error
    except (tarfile.TarError, EOFError, OverflowError, ValueError) as error:
        raise UnusableFile(f"Cannot read the archive of sources: {error}.") from error


def _checked(member: tarfile.TarInfo, limits: Limits, end: int) -> Member:
    if member.issparse():
        raise _sparse(member.name)
    if member.size > limits.file_bytes:
        raise UnusableFile(
            f"{sentence(member.name, 200)} has {member.size:,} bytes; the limit of a source file is {limits.file_bytes:,}."
        )
    # Sizes in base 256 and in PAX records may be negative.
    if member.size < 0 or member.offset_data + member.size > end:
        raise UnusableFile(f"The archive of sources is truncated in {sentence(member.name, 200)}.")
    return Member(member.name, member.offset_data, member.size)


def _sparse(name: str) -> UnusableFile:
    return UnusableFile(f"{sentence(name, 200)} is stored as a sparse file; pack sources without --sparse.")
