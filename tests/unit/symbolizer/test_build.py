import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from symbolizer.addresses import CacheAddresses, SegmentMap
from symbolizer.build import BuildLimits, Built, NotBuilt, SymCaches
from symbolizer.elf import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.sources import Found

KEY = "ab" * 20


@pytest.fixture
def source(programs) -> Iterator[Found]:
    with OpenedFile(programs.pie) as content:
        yield Found(content, ElfFile(content), str(programs.pie))


@pytest.fixture
def broken(programs) -> Iterator[Found]:
    """An ELF file in order, whose DWARF is noise."""
    (programs.folder / "noise").write_bytes(bytes(range(256)) * 64)
    programs.run("objcopy", "--update-section", ".debug_info=noise", str(programs.pie), "broken")
    with OpenedFile(programs.folder / "broken") as content:
        yield Found(content, ElfFile(content), "broken")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def segments_of(found: Found) -> SegmentMap:
    return found.elf.segment_map


def test_what_is_built_once_is_found_by_everyone(source: Found, tmp_path: Path) -> None:
    caches = SymCaches(tmp_path)
    assert caches.find(KEY) is None
    built = caches.build(KEY, source, segments_of(source))
    assert isinstance(built, Built)
    again = SymCaches(tmp_path).find(KEY)
    assert isinstance(again, Built)
    assert again.segments == segments_of(source)
    assert again.origin == source.origin
    addresses = CacheAddresses(np.arange(0x1000, 0x1400, dtype=np.uint64))
    assert len(again.table.chains(addresses).locations) > 0


def test_keys_that_are_no_file_names_are_keys_too(source: Found, tmp_path: Path) -> None:
    caches = SymCaches(tmp_path)
    for key in ("go:a/b/../../c", "sha256:" + "0" * 64, "path:/etc/passwd", "x" * 5000):
        assert isinstance(caches.build(key, source, segments_of(source)), Built)
        assert isinstance(caches.find(key), Built)
    assert all(path.is_relative_to(tmp_path / "symcache") for path in tmp_path.rglob("*.symc"))


def test_a_failure_is_remembered_for_a_while_with_its_reason(broken: Found, tmp_path: Path) -> None:
    clock = Clock()
    caches = SymCaches(tmp_path, limits=BuildLimits(failure_lifetime_s=60), clock=clock)
    failed = caches.build(KEY, broken, segments_of(broken))
    assert isinstance(failed, NotBuilt)
    assert "debug data" in failed.reason
    assert failed.until == 1060
    sidecar = next(tmp_path.rglob("*.json"))
    written = sidecar.stat().st_mtime_ns
    assert caches.build(KEY, broken, segments_of(broken)) == failed
    assert caches.find(KEY) == failed
    assert sidecar.stat().st_mtime_ns == written
    clock.now = 1061
    assert caches.find(KEY) is None
    assert isinstance(caches.build(KEY, broken, segments_of(broken)), NotBuilt)
    assert sidecar.stat().st_mtime_ns != written


def test_another_file_is_tried_even_while_a_failure_is_fresh(
    broken: Found, source: Found, tmp_path: Path
) -> None:
    caches = SymCaches(tmp_path)
    assert isinstance(caches.build(KEY, broken, segments_of(broken)), NotBuilt)
    assert isinstance(caches.build(KEY, source, segments_of(source)), Built)


@pytest.mark.parametrize("limits", [BuildLimits(memory_bytes=1 << 20), BuildLimits(seconds_fixed=0)])
def test_a_builder_at_its_limit_is_a_failure_of_that_file_only(
    source: Found, tmp_path: Path, limits: BuildLimits
) -> None:
    failed = SymCaches(tmp_path, limits=limits).build(KEY, source, segments_of(source))
    assert isinstance(failed, NotBuilt)
    assert source.origin in failed.reason
    assert not list(tmp_path.rglob(".building-*"))


def test_a_cache_file_that_is_damaged_is_built_again(source: Found, tmp_path: Path) -> None:
    caches = SymCaches(tmp_path)
    caches.build(KEY, source, segments_of(source))
    path = next(tmp_path.rglob("*.symc"))
    for damage in (b"", b"SYMC", path.read_bytes()[:200]):
        path.write_bytes(damage)
        assert caches.find(KEY) is None
        assert isinstance(caches.build(KEY, source, segments_of(source)), Built)


def test_only_one_builds_at_a_time(programs, tmp_path: Path) -> None:
    caches = SymCaches(tmp_path)
    outcomes: list[Built | NotBuilt] = []
    written: set[int] = set()

    def build() -> None:
        with OpenedFile(programs.pie) as content:
            outcomes.append(caches.build(KEY, Found(content, ElfFile(content), "pie"), SegmentMap(())))
            written.add(next(tmp_path.rglob("*.json")).stat().st_ino)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(outcome) for outcome in outcomes] == [Built] * 4
    assert len(written) == 1  # one sidecar, never replaced


def test_the_builder_refuses_what_is_not_elf(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with OpenedFile(tmp_path / "text") as content:
        command = [
            sys.executable,
            "-m",
            "symbolizer.build_child",
            str(content.descriptor),
            str(tmp_path / "out"),
            str(1 << 30),
            "10",
        ]
        done = subprocess.run(
            command, pass_fds=[content.descriptor], capture_output=True, text=True, check=False
        )
    assert done.returncode == 3
    assert done.stderr.strip()
    assert not (tmp_path / "out").exists()
