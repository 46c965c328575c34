"""Programs whose files a path does not lead to: sampled, walked and named as what they are.

Mount namespaces, a chroot, an overlay, a deleted file, a replaced one. Each program spends its time in a function
with a name of its own, so that a frame of another's file would be noticed.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    PROGRAM,
    Daemon,
    ask,
    function_starts,
    groups_where,
    plan,
    require_perf_events,
    running,
    stacks_of,
    wait_until,
)

pytestmark = pytest.mark.integration

SOURCE = Path(__file__).with_name("spinning.c")
KINDS = ("namespace", "rooted", "overlaid", "deleted", "replaced")
ENOUGH = 5
MOST_CAPTURES = 6


@dataclass(frozen=True)
class Program:
    kind: str
    process: subprocess.Popen[bytes]

    @property
    def comm(self) -> str:
        return f"fp-{self.kind}"[:15]


@pytest.fixture(scope="module", autouse=True)
def _permitted() -> None:
    require_perf_events()
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace can be made here")


@pytest.fixture(scope="module")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One static program for each kind and an impostor, and all of them by build-id."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("spinning")
    for number, name in enumerate((*KINDS, "impostor")):
        options = [
            "-O1",
            "-static",
            "-Wl,--build-id,--eh-frame-hdr",
            f"-DNAME=spin_{name}",
            f"-DSALT={number + 3}",
        ]
        subprocess.run([compiler, *options, "-o", folder / name, SOURCE], check=True)
        notes = subprocess.run(
            ["readelf", "-n", folder / name], check=True, capture_output=True, text=True
        ).stdout
        build_id = notes.partition("Build ID: ")[2].split()[0]
        link = folder / "debug/.build-id" / build_id[:2] / build_id[2:]
        link.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / name, link)
    return folder


@pytest.fixture(scope="module")
def programs(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Program]]:
    folder = tmp_path_factory.mktemp("hidden")
    started: dict[str, Program] = {}

    def start(kind: str, command: list[str | Path]) -> Path:
        process = subprocess.Popen(command, cwd="/")
        started[kind] = Program(kind, process)
        comm = Path(f"/proc/{process.pid}/comm")
        wait_until(f"{kind} runs", lambda: comm.read_text().strip() == started[kind].comm)
        return Path(f"/proc/{process.pid}/exe")

    try:
        exe = start(
            "namespace",
            _unshared(
                f"mount -t tmpfs tmpfs {folder}; cp {binaries}/namespace {folder}/fp-namespace; exec {folder}/fp-namespace"
            ),
        )
        assert not (folder / "fp-namespace").exists()
        assert exe.exists()

        root = folder / "root"
        root.mkdir()
        shutil.copy(binaries / "rooted", root / "fp-rooted")
        start("rooted", ["chroot", root, "/fp-rooted"])

        for name in ("lower", "upper", "work", "merged"):
            (folder / name).mkdir()
        shutil.copy(binaries / "overlaid", folder / "lower/fp-overlaid")
        layers = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
        # The upper layer must lie on a file system that can bear one; where the temporary folder's cannot, memory can.
        start("overlaid", _unshared(
            f"mount -t overlay overlay -o {layers} {folder}/merged || {{ mount -t tmpfs tmpfs {folder}/upper;"
            f"mkdir {folder}/upper/u {folder}/upper/w;"
            f"mount -t overlay overlay -o lowerdir={folder}/lower,upperdir={folder}/upper/u,workdir={folder}/upper/w"
            f" {folder}/merged; }}; exec {folder}/merged/fp-overlaid"
        ))  # fmt: skip
        assert not (folder / "merged/fp-overlaid").exists()

        for kind in ("deleted", "replaced"):
            shutil.copy(binaries / kind, folder / f"fp-{kind}")
            start(kind, [folder / f"fp-{kind}"])
        (folder / "fp-deleted").unlink()
        shutil.copy(binaries / "impostor", folder / "new")
        (folder / "new").rename(folder / "fp-replaced")
        yield started
    finally:
        for program in started.values():
            program.process.kill()
            program.process.wait(DEADLINE_S)


def _unshared(script: str) -> list[str | Path]:
    """Mounts of the script are in a namespace of its own and go with it."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script]


@contextmanager
def gateway(folder: Path, *, without: str = "") -> Iterator[Daemon]:
    """A gateway, without some capabilities."""
    dropped = ("setpriv", f"--bounding-set={without}") if without else ()
    with running(folder, "--max-cpu-percent", "50", program=(*dropped, *PROGRAM)) as daemon:
        yield daemon


def samples_of(capture: capture_pb2.Capture, program: Program) -> int:
    groups = groups_where(capture, comm=program.comm)
    return sum(sum(profile.count) for profile in capture.segments[0].profiles if profile.group in groups)


def functions_of(capture: capture_pb2.Capture, program: Program, binaries: Path) -> set[str]:
    """Names of the functions in files that samples of the program lie in, by the files with the frames' build-ids."""
    names = set()
    for stack in stacks_of(capture, groups_where(capture, comm=program.comm)):
        for path, _, start, _ in stack.frames:
            if path.startswith("/"):
                (mapping,) = [each for each in capture.mappings if capture.strings[each.path] == path]
                names.add(_named(binaries, mapping.build_id.hex()).get(start, "?"))
    return names


@lru_cache
def _named(binaries: Path, build_id: str) -> dict[int | None, str]:
    starts = function_starts(binaries / "debug/.build-id" / build_id[:2] / build_id[2:])
    return {start: name for name, start in starts.items()}


def captured_until(daemon: Daemon, enough: Callable[[capture_pb2.Capture], bool]) -> capture_pb2.Capture:
    with daemon.stub() as stub:
        for _ in range(MOST_CAPTURES):
            capture = ask(stub, plan(seconds=1.2, rate_hz=499)).capture
            if enough(capture):
                return capture
    pytest.fail(f"{MOST_CAPTURES} captures had too few samples")


def all_sampled(programs: dict[str, Program]) -> Callable[[capture_pb2.Capture], bool]:
    return lambda capture: all(samples_of(capture, program) >= ENOUGH for program in programs.values())


@pytest.mark.slow
def test_each_is_named_after_its_own_functions(programs: dict[str, Program], binaries: Path, tmp_path: Path):
    with gateway(tmp_path) as daemon:
        capture = captured_until(daemon, all_sampled(programs))
    for kind, program in programs.items():
        names = functions_of(capture, program, binaries)
        assert f"spin_{kind}" in names, (kind, names)
        assert "main" in names, (kind, names)
        assert not {name for name in names if name.startswith("spin_")} - {f"spin_{kind}"}
        (group,) = groups_where(capture, comm=program.comm)
        main = capture.mappings[capture.groups[group].main_mapping - 1]
        assert main.deleted == (kind in {"deleted", "replaced"})
        assert main.build_id
    assert not capture.notes


@pytest.mark.slow
def test_without_map_files_they_are_found_by_path_or_not_at_all(
    programs: dict[str, Program], binaries: Path, tmp_path: Path
):
    """Without CAP_CHECKPOINT_RESTORE and SYS_ADMIN: what a path cannot lead to has no callers, and never others'."""
    with gateway(tmp_path, without="-sys_admin,-checkpoint_restore") as daemon:
        capture = captured_until(daemon, all_sampled(programs))
    for kind, program in programs.items():
        names = functions_of(capture, program, binaries)
        assert not {name for name in names if name.startswith("spin_")} - {f"spin_{kind}"}, (kind, names)
        if kind in {"namespace", "rooted", "overlaid"}:
            assert {f"spin_{kind}", "main"} <= names, (kind, names)
