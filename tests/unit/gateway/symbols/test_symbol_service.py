"""The desk with this test's own process as the one that was sampled."""

import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from fleetpb import gateway_pb2
from gateway.capture.capture_runner import CaptureCancelled
from gateway.errors import SymbolsRefused
from gateway.machine.kernel_map import read_kernel_build_id, read_kernel_map
from gateway.process.images import own_vdso
from gateway.served_visits import ServedVisits
from gateway.settings import Share, SymbolSharing
from gateway.symbols import symbol_service as module
from gateway.symbols.seen_builds import SeenBuilds
from gateway.symbols.symbol_service import Pace, SymbolService
from symbolizer.elf.file import ElfFile

Request = gateway_pb2.SymbolsRequest
Refusal = gateway_pb2.SymbolsRefusal
PID = os.getpid()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    path = tmp_path_factory.mktemp("shared") / "program"
    source = path.with_suffix(".c")
    # Noise, so that the whole file takes several pieces after compression too.
    noise = ",".join(str(byte) for byte in hashlib.shake_128(b"noise").digest(400_000))
    source.write_text(f"static const unsigned char a[] = {{{noise}}}; int main(int n) {{ return a[n]; }}")
    subprocess.run(["gcc", "-g", "-Wl,--build-id", "-o", path, source], check=True)
    return path


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Pace", lambda stopped, served_visits: Pace(stopped, served_visits, 0.99))


def build_id(path: Path) -> bytes:
    return ElfFile(path.read_bytes()).build_id


class Desk:
    def __init__(self, share: Share = Share.FILES, max_bytes: int = 1 << 24) -> None:
        self.seen_builds = SeenBuilds()
        self.served_visits = ServedVisits()
        self.stopped = threading.Event()
        self.desk = SymbolService(
            SymbolSharing(share, max_bytes), self.seen_builds, self.served_visits, read_kernel_build_id()
        )

    def ask(self, request: Request) -> Iterator[gateway_pb2.SymbolsReply]:
        return self.desk.answer(request, self.stopped)

    def content(self, request: Request) -> tuple[str, bytes]:
        begin, *pieces, end = self.ask(request)
        data = b"".join(piece.data for piece in pieces)
        assert all(0 < len(piece.data) <= 256 << 10 for piece in pieces)
        assert end.end.sha256 == hashlib.sha256(data).digest()
        assert end.end.bytes == len(data)
        raw = zstandard.ZstdDecompressor().stream_reader(data).read()
        assert end.end.raw_bytes == begin.begin.raw_bytes == len(raw)
        return begin.begin.name, raw

    def refusal(self, request: Request) -> int:
        with pytest.raises(SymbolsRefused) as refused:
            list(self.ask(request))
        assert str(refused.value)
        return refused.value.reason


def test_a_sampled_build_is_given_small_or_whole(program: Path):
    desk, wanted = Desk(), build_id(program)
    desk.desk.note([(wanted.hex(), PID, str(program))])
    name, raw = desk.content(Request(what=Request.FILE, build_id=wanted))
    assert (name, raw) == ("program", program.read_bytes())
    name, small = desk.content(Request(what=Request.SYMBOLS, build_id=wanted))
    assert ElfFile(small).build_id == wanted
    assert len(small) < len(raw) / 10


def test_two_machines_give_the_same_bytes_for_one_build(program: Path, tmp_path: Path):
    """Wherever it lies, and whenever it was written: the names of a build count for all machines that agree on them."""
    elsewhere = tmp_path / "elsewhere"
    shutil.copyfile(program, elsewhere)
    os.utime(elsewhere, (1, 1))
    wanted = build_id(program)
    given = []
    for path in (program, elsewhere):
        desk = Desk()
        desk.desk.note([(wanted.hex(), PID, str(path))])
        given.append(desk.content(Request(what=Request.SYMBOLS, build_id=wanted))[1])
    assert given[0] == given[1]


def test_what_runs_is_found_though_its_path_is_gone(program: Path, tmp_path: Path):
    copy = tmp_path / "waiting"
    shutil.copy("/bin/sleep", copy)
    content, wanted = copy.read_bytes(), build_id(copy)
    with subprocess.Popen([copy, "600"]) as process:
        try:
            copy.unlink()
            shutil.copy(program, copy)
            desk = Desk()
            desk.desk.note([(wanted.hex(), process.pid, str(copy))])
            if not os.access(f"/proc/{process.pid}/map_files", os.R_OK):
                pytest.skip("map_files of others needs CAP_CHECKPOINT_RESTORE")
            assert desk.content(Request(what=Request.FILE, build_id=wanted))[1] == content
        finally:
            process.kill()


def test_another_build_at_the_path_is_not_given(program: Path, tmp_path: Path):
    desk, wanted = Desk(), b"\x01" * 20
    desk.desk.note([(wanted.hex(), PID, str(program))])
    assert desk.refusal(Request(what=Request.FILE, build_id=wanted)) == Refusal.GONE
    desk.desk.note([(wanted.hex(), PID, str(tmp_path / "nothing"))])
    assert desk.refusal(Request(what=Request.SYMBOLS, build_id=wanted)) == Refusal.GONE


def test_a_build_without_an_id_is_known_by_its_content(program: Path, tmp_path: Path):
    bare = tmp_path / "bare"
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", program, bare], check=True)
    key = "sha256:" + hashlib.sha256(bare.read_bytes()).hexdigest()
    desk = Desk()
    desk.desk.note([(key, PID, str(bare))])
    assert desk.content(Request(what=Request.FILE, content_key=key))[1] == bare.read_bytes()
    bare.write_bytes(bare.read_bytes() + b"x")
    assert desk.refusal(Request(what=Request.FILE, content_key=key)) == Refusal.GONE


def test_only_what_was_seen_is_given(program: Path):
    wanted = Request(what=Request.SYMBOLS, build_id=build_id(program))
    assert Desk().refusal(wanted) == Refusal.NOT_SEEN


def test_nothing_is_given_or_noted_unless_it_is_allowed(program: Path):
    wanted = Request(what=Request.SYMBOLS, build_id=build_id(program))
    desk = Desk(Share.NO)
    desk.desk.note([(wanted.build_id.hex(), PID, str(program))])
    assert desk.seen_builds.find(wanted.build_id.hex()) is None
    for what in (Request.SYMBOLS, Request.FILE, Request.KERNEL):
        assert desk.refusal(Request(what=what, build_id=wanted.build_id)) == Refusal.NOT_ALLOWED
    desk = Desk(Share.SYMBOLS)
    desk.desk.note([(wanted.build_id.hex(), PID, str(program))])
    whole = Request(what=Request.FILE, build_id=wanted.build_id)
    assert desk.refusal(whole) == Refusal.NOT_ALLOWED
    desk.content(wanted)


@pytest.mark.parametrize(
    "request_",
    [
        Request(),
        Request(what=Request.FILE),
        Request(what=9, build_id=b"1" * 20),
        Request(what=Request.FILE, build_id=b"1" * 65),
        Request(what=Request.SYMBOLS, content_key="x" * 301),
    ],
)
def test_senseless_requests_are_refused(request_: Request):
    assert Desk().refusal(request_) == Refusal.INVALID


def test_the_smaller_limit_holds(program: Path):
    wanted, size = build_id(program), program.stat().st_size
    for allowed, asked, refused in ((size, 0, False), (size - 1, 0, True), (size, size - 1, True)):
        desk = Desk(max_bytes=allowed)
        desk.desk.note([(wanted.hex(), PID, str(program))])
        request = Request(what=Request.FILE, build_id=wanted, max_bytes=asked)
        if refused:
            assert desk.refusal(request) == Refusal.TOO_LARGE
        else:
            desk.content(request)


def test_one_at_a_time_and_none_beside_a_capture(program: Path):
    desk, wanted = Desk(), Request(what=Request.FILE, build_id=build_id(program))
    desk.desk.note([(wanted.build_id.hex(), PID, str(program))])
    first = desk.ask(wanted)
    next(first)
    assert desk.served_visits.is_working
    assert desk.refusal(wanted) == Refusal.BUSY
    first.close()
    assert not desk.served_visits.is_working
    desk.content(wanted)
    desk.served_visits.note_active(1)
    assert desk.refusal(wanted) == Refusal.BUSY


def test_a_caller_that_is_gone_ends_the_work_and_frees_the_place(program: Path):
    desk, wanted = Desk(), Request(what=Request.FILE, build_id=build_id(program))
    desk.desk.note([(wanted.build_id.hex(), PID, str(program))])
    desk.stopped.set()
    with pytest.raises(CaptureCancelled):
        list(desk.ask(wanted))
    desk.stopped.clear()
    desk.content(wanted)


def test_work_waits_for_its_share_of_a_core():
    waited = []

    class Stopped(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout)
            return False

    pace = Pace(Stopped(), ServedVisits(), 0.1)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)
    pace.pause()
    assert 0.01 < waited[0] < 60


class Watching(threading.Event):
    """The caller; sees to it that the capture ends, or goes itself, at its third look."""

    def __init__(self, served_visits: ServedVisits, *, goes: bool) -> None:
        super().__init__()
        self._served_visits = served_visits
        self._goes = goes
        self.looks = 0

    def wait(self, timeout: float | None = None) -> bool:
        del timeout
        self.looks += bool(self._served_visits.active)
        if self.looks == 3 and not self._goes:
            self._served_visits.note_active(0)
        return self.looks >= 3 and self._goes


@pytest.mark.parametrize("goes", [False, True])
def test_work_under_way_waits_for_the_end_of_a_capture(program: Path, *, goes: bool):
    desk, wanted = Desk(), Request(what=Request.FILE, build_id=build_id(program))
    desk.desk.note([(wanted.build_id.hex(), PID, str(program))])
    desk.stopped = Watching(desk.served_visits, goes=goes)
    answer = desk.ask(wanted)
    next(answer)
    desk.served_visits.note_active(1)
    if goes:
        with pytest.raises(CaptureCancelled):
            list(answer)
        assert desk.served_visits.active
    else:
        assert len(list(answer)) > 1
    assert desk.stopped.looks == 3
    assert not desk.served_visits.is_working or goes


def test_the_vdso_is_given_by_its_build_id():
    image = own_vdso()
    wanted = ElfFile(image).build_id
    desk = Desk()
    desk.desk.note([(wanted.hex(), PID, "[vdso]"), ("02" * 20, PID, "[vdso]")])
    assert desk.content(Request(what=Request.SYMBOLS, build_id=wanted)) == ("[vdso]", image)
    assert desk.refusal(Request(what=Request.SYMBOLS, build_id=b"\2" * 20)) == Refusal.GONE


def test_the_kernel_is_given_by_its_build_id():
    desk = Desk(Share.SYMBOLS)
    assert desk.refusal(Request(what=Request.KERNEL, build_id=b"\2" * 20)) == Refusal.NOT_SEEN
    if read_kernel_map().text is None:
        assert desk.refusal(Request(what=Request.KERNEL)) == Refusal.HIDDEN
        return
    name, table = desk.content(Request(what=Request.KERNEL, build_id=read_kernel_build_id()))
    assert name == "[kernel]"
    assert table.startswith(b"fleetprof kernel symbols 1\nkernel " + read_kernel_build_id().hex().encode())
    assert b"0 T _stext\n" in table


def test_a_kernel_that_hides_its_addresses_is_said_to(monkeypatch: pytest.MonkeyPatch):
    class Hidden:
        text = None

    monkeypatch.setattr(module, "read_kernel_map", Hidden)
    assert Desk().refusal(Request(what=Request.KERNEL)) == Refusal.HIDDEN
