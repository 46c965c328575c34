"""A Java program of known calls on every JVM of this machine: its stacks are read without flags or an agent."""

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine

from benchmarks.agreement.product import Product
from fleetpb import capture_pb2
from gateway.runtimes.hotspot.frames import FrameKind
from storage.archive import Archive
from symbolizer.sources.chain import Chain
from tests.gateway_daemon import DEADLINE_S, Daemon, ask, groups_where, plan, wait_until
from tests.java_sampling import NATIVE, Recording, record
from tests.java_truth import errors

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted"), pytest.mark.slow]
DAEMON_OPTIONS = ("--max-cpu-percent", "50")

SOURCE = Path(__file__).with_name("JavaTruth.java")
JVMS = sorted({path.resolve() for path in Path("/usr/lib/jvm").glob("*/bin/java")})
SECONDS = 6
ENOUGH = 100
TRIES = 6
COMPLETE = capture_pb2.STACK_END_COMPLETE
INTERPRET = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,JavaTruth::interpreted*")


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    javac = shutil.which("javac")
    if javac is None:
        pytest.skip("javac is not installed")
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run([javac, "-g", "--release", "8", "-d", folder, SOURCE], check=True, capture_output=True)
    return folder


@contextmanager
def started(java: Path, classes: Path, *options: str, within: Sequence[str | Path] = ()) -> Iterator[int]:
    """The pid of the program; `within` is a command that runs it."""
    command = [*within, java, "-Xmx128m", *options, "-cp", classes, "JavaTruth", "300"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            wait_until("the program is ready", lambda: b"ready" in process.stdout.readline())
            yield process.pid
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(DEADLINE_S)


def in_java(recording: Recording) -> list[tuple[int, list[str], frozenset[FrameKind]]]:
    """End, errors and kinds of frames of every stack with a Java frame."""
    found = []
    for sample in recording.samples:
        java = [frame for frame in sample.frames if frame.function != NATIVE]
        if java:
            wrong = errors(java, complete=sample.end == COMPLETE)
            found.append((sample.end, wrong, frozenset(frame.kind for frame in java)))
    return found


@pytest.mark.parametrize(
    "options", [INTERPRET, ("-Xint",), ("-XX:TieredStopAtLevel=1",)], ids=["tiered", "interpreter", "C1"]
)
@pytest.mark.parametrize("java", JVMS, ids=lambda path: path.parts[4])
def test_every_stack_is_one_that_the_program_can_have(
    java: Path, options: tuple[str, ...], classes: Path
) -> None:
    stacks: list[tuple[int, list[str], frozenset[FrameKind]]] = []
    with started(java, classes, *options) as pid:
        time.sleep(2)
        for _ in range(TRIES):
            recording = record(pid, SECONDS, hz=299)
            assert not recording.notes
            stacks += in_java(recording)
            if len(stacks) >= ENOUGH:
                break
    assert len(stacks) >= ENOUGH
    assert not [wrong for _, wrong, _ in stacks if wrong]
    ends = Counter(end for end, _, _ in stacks)
    assert ends[COMPLETE] / ends.total() >= 0.98, ends
    kinds = set().union(*(its for _, _, its in stacks))
    assert FrameKind.INTERPRETED in kinds
    assert (FrameKind.INLINED in kinds) == (options != ("-Xint",))


def test_a_jvm_that_only_its_own_mount_namespace_shows(classes: Path, tmp_path: Path) -> None:
    home = JVMS[0].parents[1]
    mount = f'mount --make-rprivate / && mount --bind {home} {tmp_path} && exec "$@"'
    unshare = ["unshare", "--mount", "--pid", "--kill-child", "sh", "-c", mount, "sh"]
    if os.geteuid() or subprocess.run([*unshare[:4], "true"], check=False, capture_output=True).returncode:
        pytest.skip("mount namespaces need root")
    with started(tmp_path / "bin/java", classes, within=unshare) as pid:
        time.sleep(2)
        assert not (tmp_path / "bin").exists()
        (java,) = [
            int(folder.name)
            for folder in Path("/proc").glob("[0-9]*")
            if str(mapped_program(folder)) == str(tmp_path / "bin/java")
        ]
        recording = record(java, SECONDS, hz=299)
    stacks = in_java(recording)
    assert pid
    assert not recording.notes
    assert len(stacks) > ENOUGH / 4
    assert not [wrong for _, wrong, _ in stacks if wrong]


def mapped_program(folder: Path) -> Path | None:
    try:
        return (folder / "exe").readlink()
    except OSError:
        return None


def test_methods_are_rows(
    daemon: Daemon, engine: Engine, archive: Archive, tmp_path: Path, classes: Path
) -> None:
    """Through the whole product: a visit, the archive, the symbolizer, PostgreSQL, a query."""
    product = Product(engine, archive, tmp_path / "symbols", daemon.target, symbols=Chain(()))
    with closing(product), started(JVMS[0], classes, *INTERPRET):
        time.sleep(3)
        visited = product.visit(4, 299, lambda _done, _samples: None)
        product.ingest(visited)
    rows = {(row.key["function"], row.key["binary"]): row for row in product.table(visited, "{}").rows}
    leaf, loop = rows["JavaTruth.deepLeaf", "[java]"], rows["JavaTruth.recursionLoop", "[java]"]
    assert leaf.self_samples > 0
    assert loop.total_samples >= leaf.total_samples
    assert ("JavaTruth.interpretedInner", "[java]") in rows
    assert ("java.lang.Thread.run", "[java]") in rows


def test_a_capture_states_files_and_lines(daemon: Daemon, classes: Path) -> None:
    source = SOURCE.read_text().splitlines()
    with started(JVMS[0], classes, *INTERPRET) as pid, daemon.stub() as stub:
        time.sleep(3)
        capture = ask(stub, plan(seconds=3, rate_hz=299)).capture
        exe = str(Path(f"/proc/{pid}/exe").readlink())
    groups = groups_where(capture, exe=exe)
    lines = {}
    for excerpt in capture.excerpts:
        if excerpt.group in groups and capture.strings[excerpt.source] == "java":
            for name, file, line in zip(excerpt.name, excerpt.file, excerpt.line, strict=True):
                if capture.strings[file] == "JavaTruth.java":
                    lines[capture.strings[name]] = source[line - 1]
    assert "deep(" in lines["JavaTruth.recursionLoop"]
    assert "interpretedInner(" in lines["JavaTruth.interpretedOuter"]
