"""The real daemon, asked for the symbols of what it has sampled."""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from fleetpb import gateway_pb2
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from tests.gateway_daemon import DEADLINE_S, Daemon, ask, plan, require_perf_events, running, wait_until

pytestmark = pytest.mark.integration

Request = gateway_pb2.SymbolsRequest
Refusal = gateway_pb2.SymbolsRefusal


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A busy program, whose file was replaced by another after it had started."""
    require_perf_events()
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("shared")
    running_file, original = folder / "busy", folder / "original"
    source = Path(__file__).with_name("busy.c")
    subprocess.run(["gcc", "-O2", "-Wl,--build-id", "-o", running_file, source], check=True)
    shutil.copy(running_file, original)
    with subprocess.Popen([running_file, "600"]) as process:
        try:
            running_file.unlink()
            shutil.copy("/bin/true", running_file)
            yield original
        finally:
            process.kill()


def replies(daemon: Daemon, request: Request) -> list[gateway_pb2.SymbolsReply]:
    with daemon.stub() as stub:
        return list(stub.Symbols(request, timeout=DEADLINE_S))


def content(daemon: Daemon, request: Request) -> bytes:
    begin, *pieces, end = replies(daemon, request)
    assert begin.HasField("begin"), begin
    data = b"".join(piece.data for piece in pieces)
    assert end.end.sha256 == hashlib.sha256(data).digest()
    raw = zstandard.ZstdDecompressor().stream_reader(data).read()
    assert end.end.raw_bytes == len(raw)
    return raw


@pytest.mark.slow
def test_what_was_sampled_can_be_had_even_after_its_server_has_ended(workload: Path, tmp_path: Path):
    original = ElfFile(workload.read_bytes())
    request = Request(what=Request.SYMBOLS, build_id=original.build_id)
    with running(tmp_path, "--share-symbols", "symbols", "--idle-seconds", "0.5") as daemon:
        assert replies(daemon, request)[0].refusal.reason == Refusal.NOT_SEEN
        with daemon.stub() as stub:
            answer = ask(stub, plan(seconds=0.5, rate_hz=499))
        assert original.build_id in {mapping.build_id for mapping in answer.capture.mappings}
        wait_until("the server has ended", lambda: daemon.server is None)
        small = ElfFile(content(daemon, request))
        assert replies(daemon, Request(what=Request.FILE, build_id=original.build_id))[0].HasField("refusal")
        symbols, expected = read_symbols(small), read_symbols(original)
        assert [symbols.symbol(n) for n in range(len(symbols))] == [
            expected.symbol(n) for n in range(len(expected))
        ]
        assert small.build_id == original.build_id


@pytest.mark.slow
def test_a_gateway_gives_nothing_unless_its_operator_allows_it(workload: Path, tmp_path: Path):
    build_id = ElfFile(workload.read_bytes()).build_id
    with running(tmp_path) as daemon:
        with daemon.stub() as stub:
            ask(stub, plan(seconds=0.2))
        (reply,) = replies(daemon, Request(what=Request.SYMBOLS, build_id=build_id))
        assert reply.refusal.reason == Refusal.NOT_ALLOWED
        assert "--share-symbols" in reply.refusal.message
        assert "symbols refused" in daemon.log.read_text()
