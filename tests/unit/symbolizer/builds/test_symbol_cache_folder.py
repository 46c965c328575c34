import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from symbolizer.addresses import CacheAddresses
from symbolizer.builds.build import BuildLimits, BuildSucceeded, build_input, make_built_symbols
from symbolizer.builds.symbol_cache_folder import SymbolCacheFolder
from symbolizer.elf.file import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.sources.source import Found


@pytest.fixture(scope="session")
def built(programs) -> list[Path]:
    """Three files of built symbols, of different content."""
    paths = []
    for name, program in (("a", programs.pie), ("b", programs.fixed), ("c", programs.compiled("g1", "-g1"))):
        path = programs.folder / f"{name}.whole"
        path.touch()
        with OpenedFile(program) as content:
            found = Found(content, ElfFile(content), name)
            assert isinstance(
                make_built_symbols(build_input(found, found), path, BuildLimits()), BuildSucceeded
            )
        paths.append(path)
    return paths


def keep(folder: SymbolCacheFolder, whole: Path) -> bytes:
    sha256 = hashlib.sha256(whole.read_bytes()).digest()
    shutil.copyfile(whole, new := folder.new_file())
    folder.keep(new, sha256)
    return sha256


def used(path: Path, at: float) -> None:
    os.utime(path, (at, at))


def file_of(folder: Path, sha256: bytes) -> Path:
    return next(folder.rglob(f"{sha256.hex()}.built"))


def test_the_least_recently_used_give_way(built: list[Path], tmp_path: Path) -> None:
    room = sum(path.stat().st_size for path in built) - 1
    folder = SymbolCacheFolder(tmp_path, limit_bytes=room)
    first, second = keep(folder, built[0]), keep(folder, built[1])
    used(file_of(tmp_path, first), 1000)
    used(file_of(tmp_path, second), 2000)
    assert folder.open(first) is not None  # used now
    third = keep(folder, built[2])
    assert folder.open(first) is not None
    assert folder.open(second) is None
    assert folder.open(third) is not None


def test_the_newest_stays_however_large(built: list[Path], tmp_path: Path) -> None:
    folder = SymbolCacheFolder(tmp_path, limit_bytes=1)
    first, second = keep(folder, built[0]), keep(folder, built[1])
    assert folder.open(first) is None
    assert folder.open(second) is not None


def test_what_is_opened_stays_valid_when_it_gives_way(built: list[Path], tmp_path: Path) -> None:
    folder = SymbolCacheFolder(tmp_path, limit_bytes=1)
    opened = folder.open(keep(folder, built[0]))
    assert opened is not None
    keep(folder, built[1])
    assert len(list(tmp_path.rglob("*.built"))) == 1
    addresses = CacheAddresses(np.arange(0x1000, 0x1400, dtype=np.uint64))
    chains = opened.table.chains(addresses)
    assert {opened.table.location(i).function for i in chains.locations.tolist()} >= {"work", "square"}
    assert opened.symbols.find_name("work") >= 0


def test_what_a_killed_builder_left_is_removed_when_it_is_old(built: list[Path], tmp_path: Path) -> None:
    folder = SymbolCacheFolder(tmp_path)
    old, fresh = folder.new_file(), folder.new_file()
    used(old, 1000)
    keep(folder, built[0])
    assert (old.exists(), fresh.exists()) == (False, True)


def test_a_damaged_file_is_removed_when_it_is_opened(built: list[Path], tmp_path: Path) -> None:
    folder = SymbolCacheFolder(tmp_path)
    sha256 = keep(folder, built[0])
    path = file_of(tmp_path, sha256)
    path.write_bytes(path.read_bytes()[:-5])
    assert folder.open(sha256) is None
    assert not path.exists()


def test_the_folder_is_its_users_alone(built: list[Path], tmp_path: Path) -> None:
    keep(SymbolCacheFolder(tmp_path / "cache"), built[0])
    assert (tmp_path / "cache" / "built").stat().st_mode & 0o777 == 0o700
    assert next(tmp_path.rglob("*.built")).stat().st_mode & 0o777 == 0o600
