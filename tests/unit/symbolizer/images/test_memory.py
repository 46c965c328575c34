"""GIVEN a worker's limit of memory WHEN a capture has hostile binaries THEN it is resolved: they have no names, others have."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fleetpb import capture_pb2
from simulation.elf_writer import TEXT_OFFSET, Symbol, elf_file
from storage.ingest.symbolized import Status
from symbolizer.elf.file import MAX_STRING_BYTES, MAX_SYMBOLS
from symbolizer.images import calls, elf_image, images
from symbolizer.images.image import NO_MEMORY
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from tests.hostile_elf import FUNCTION, hostile_elf

LIMIT_BYTES = 1536 << 20
"""FLEETPROF_WORKER_MEMORY_BYTES in infra/kubernetes/base/server.yaml."""
PROGRAM = """
import sys
from pathlib import Path
from fleetpb import capture_pb2
from services.process_setup.malloc import reuse_arrays, share_arenas
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.memory_limit import limit_memory

limit_memory(int(sys.argv[2]))
share_arenas()  # as a worker does: freed arrays stay in the heap
reuse_arrays()
capture = capture_pb2.Capture.FromString(Path(sys.argv[1]).read_bytes())
resolved = Resolver(LocalFiles(debug_roots=[]), Path(sys.argv[1]).parent / "cache").resolve(capture)
for report in resolved.binaries:
    print(report.status.name, report.reason)
print(sorted({function.name for function in resolved.functions if function.name.isidentifier()}))
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def a_capture(paths: list[tuple[Path, bytes]]) -> capture_pb2.Capture:
    """One frame in the first function of each file."""
    capture = capture_pb2.Capture(format=1, visit_id=bytes(16), strings=["", *(str(p) for p, _ in paths)])
    for number, (_, build_id) in enumerate(paths):
        capture.mappings.add(kind=capture_pb2.Mapping.FILE, path=number + 1, build_id=build_id)
        capture.frames.mapping.append(number)
        capture.frames.offset.append(TEXT_OFFSET)
        capture.frames.into_function.append(0)
        capture.frames.flags.append(1)
    return capture


def a_library(path: Path, *names: str) -> tuple[Path, bytes]:
    build_id = path.name.encode().ljust(20, b"\0")
    path.write_bytes(elf_file(build_id, [Symbol(n, TEXT_OFFSET + 16 * i, 16) for i, n in enumerate(names)]))
    return path, build_id


@pytest.mark.slow
def test_hostile_binaries_of_one_capture_cost_their_own_frames_alone(tmp_path: Path) -> None:
    files = [a_library(tmp_path / "before", "first")]
    for number in range(3):  # each is as large as may be
        build_id = bytes([number + 1]) * 20
        path = hostile_elf(
            tmp_path / f"full{number}",
            build_id=build_id,
            symbols=MAX_SYMBOLS - 1,
            string_bytes=MAX_STRING_BYTES,
        )
        files.append((path, build_id))
    path = hostile_elf(tmp_path / "sparse", build_id=b"\x09" * 20, string_bytes=600 << 20)
    assert path.stat().st_blocks * 512 < 1 << 16
    files += [(path, b"\x09" * 20), a_library(tmp_path / "after", "last")]
    (tmp_path / "capture").write_bytes(a_capture(files).SerializeToString())
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "capture"), str(LIMIT_BYTES)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *reports, names, peak = done.stdout.splitlines()
    assert names == "['first', 'last']"
    assert reports[-2].startswith(f"BINARY_ONLY {path}: its symbols are unusable. The names of its symbols")
    assert "no memory" not in done.stderr, "their limits keep them below the process's"
    assert int(peak.split()[1]) << 10 < LIMIT_BYTES


def test_what_does_not_fit_has_no_names_and_the_others_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a limit that not even one such file fits in."""
    path = hostile_elf(tmp_path / "large", build_id=b"\x01" * 20, symbols=1 << 20, string_bytes=200 << 20)
    files = [
        a_library(tmp_path / "before", "first"),
        (path, b"\x01" * 20),
        a_library(tmp_path / "after", "last"),
    ]
    (tmp_path / "capture").write_bytes(a_capture(files).SerializeToString())
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "capture"), str(256 << 20)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    reports = done.stdout.splitlines()
    assert reports[1] == f"BINARY_ONLY {NO_MEMORY}"
    assert reports[3] == "['first', 'last']"


def test_symbol_tables_give_way_to_newer_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_SYMBOL_BYTES", 1 << 20)
    reads = []

    class Source(LocalFiles):
        def executable(self, identity):
            reads.append(identity.name)
            return super().executable(identity)

    resolver = Resolver(Source(debug_roots=[]), tmp_path / "cache")
    large = []
    for number in range(3):
        build_id = bytes([number + 1]) * 20
        path = hostile_elf(tmp_path / f"large{number}", build_id=build_id, string_bytes=900 << 10)
        large.append((path, build_id))
    small = a_library(tmp_path / "small", "work")
    for _ in range(2):
        resolver.resolve(a_capture([small, *large]))
    assert reads.count("small") == 1, "what takes little stays"
    assert reads.count("large0") == 2
    resolver.resolve(a_capture([large[2]]))
    assert reads.count("large2") == 2, "the newest stays, whatever it takes"


@pytest.mark.parametrize("where", [elf_image, calls])
def test_names_too_long_for_a_capture_cost_their_image_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: object
) -> None:
    monkeypatch.setattr(where, "MAX_TEXT", 5000)
    long = a_library(tmp_path / "long", "x" * 5001)
    files = [a_library(tmp_path / "before", "first"), long, a_library(tmp_path / "after", "last")]
    resolved = Resolver(LocalFiles(debug_roots=[]), tmp_path / "cache").resolve(a_capture(files))
    assert {function.name for function in resolved.functions} == {"first", "last", "long+0x1000"}
    assert resolved.status.tolist() == [Status.SYMTAB, Status.BINARY_ONLY, Status.SYMTAB]
    assert resolved.binaries[1].reason == NO_MEMORY


def test_the_hostile_file_is_read_where_its_names_fit(tmp_path: Path) -> None:
    """Else what is tested above would not be the limits, but a file that is none."""
    path = hostile_elf(tmp_path / "file", build_id=b"\x01" * 20, symbols=3, string_bytes=64)
    resolved = Resolver(LocalFiles(debug_roots=[]), tmp_path / "cache").resolve(
        a_capture([(path, b"\x01" * 20)])
    )
    assert np.all(resolved.status == Status.SYMTAB)
    assert FUNCTION not in {function.name for function in resolved.functions}
