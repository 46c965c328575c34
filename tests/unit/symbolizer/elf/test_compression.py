import random
import zlib
from pathlib import Path

import pytest
import zstandard

from symbolizer.elf.compression import decompressed, gnu_decompressed
from symbolizer.elf.content import Window
from symbolizer.errors import MalformedElf
from symbolizer.files import OpenedFile
from tests.hostile_elf import Counted

ZLIB, ZSTD = 1, 2
TEXT = random.Random(3).randbytes(3 << 20) + bytes(3 << 20)
"""Several steps of input, then of output."""


def section(method: int, body: bytes, size: int) -> bytes:
    return method.to_bytes(4, "little") + bytes(4) + size.to_bytes(8, "little") + bytes(8) + body


@pytest.mark.parametrize(("method", "body"), [(ZLIB, zlib.compress(TEXT)), (ZSTD, zstandard.compress(TEXT))])
def test_what_takes_many_steps_comes_whole(method: int, body: bytes) -> None:
    data = section(method, body, len(TEXT))
    assert decompressed(data, 64, "<", limit=len(TEXT)) == TEXT
    assert decompressed(data, 64, "<", limit=4_500_000, whole=False) == TEXT[:4_500_000]
    with pytest.raises(MalformedElf, match=r"Cannot decompress|has \d+ bytes instead of"):
        decompressed(data[:-100_000], 64, "<", limit=len(TEXT))


def test_gnus_older_scheme_too() -> None:
    data = b"ZLIB" + len(TEXT).to_bytes(8, "big") + zlib.compress(TEXT)
    assert gnu_decompressed(data, limit=len(TEXT)) == TEXT


@pytest.mark.parametrize(("method", "body"), [(ZLIB, zlib.compress(TEXT)), (ZSTD, zstandard.compress(TEXT))])
def test_of_a_gigabyte_of_nothing_behind_it_a_step_is_read(tmp_path: Path, method: int, body: bytes) -> None:
    """A hole in a file takes no room on the disk, but would in memory."""
    path = tmp_path / "section"
    path.write_bytes(section(method, body, len(TEXT)))
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    content = Counted(OpenedFile(path))
    assert decompressed(Window(content, 0, 1 << 30), 64, "<", limit=len(TEXT)) == TEXT
    assert content.read < len(TEXT)


def test_a_bomb_is_unpacked_as_far_as_it_claims() -> None:
    bomb = zstandard.compress(bytes(1 << 28))
    assert len(bomb) < 1 << 15
    assert decompressed(section(ZSTD, bomb, 100), 64, "<", limit=1 << 30) == bytes(100)
    with pytest.raises(MalformedElf, match="claims 1099511627776 bytes; the limit is 1073741824"):
        decompressed(section(ZSTD, bomb, 1 << 40), 64, "<", limit=1 << 30)
