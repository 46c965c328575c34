"""Frames of machines whose files no worker has: a gateway is asked once, and every worker can name them."""

import asyncio
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine, delete, select

from collector.desk import Desk
from collector.symbol_asks import AskTerms, SymbolAsks, machine_rest
from fleetpb import capture_pb2, gateway_pb2
from gateway.process.images import own_vdso
from services.simulate.elf_writer import Symbol, elf_file
from storage import inventory
from storage.archive import Archive
from storage.inventory import NewMachine
from storage.landing.interning import Interner
from storage.landing.land import land
from storage.landing.resolved import ResolvedFrames
from storage.schema import debug_file, symbol_ask
from storage.symbols import asks
from storage.symbols.asks import Ask, AskOutcome
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.images.resolve import Resolver
from symbolizer.inspection.arrivals import Arrived, Useless, take_in
from symbolizer.kernel.kallsyms import LoadedModule, table_of_boot
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.uploaded import Uploaded
from tests.gateways import Gateway, Symbols, serving, symbols_of
from tests.landed import archived
from tests.made_captures import MadeCapture, nameless

pytestmark = pytest.mark.integration

KERNEL, MODULE, PROGRAM = b"\x0b" * 20, b"\x0c" * 20, b"\x0d" * 20
KALLSYMS = b"""\
ffffffff81000000 T _stext
ffffffff81000000 T vfs_read
ffffffff81001000 T _etext
ffffffffc0200000 t ext4_file_open\t[ext4]
"""
TABLE = table_of_boot(KALLSYMS, KERNEL, [LoadedModule("ext4", MODULE.hex(), 0xFFFFFFFFC0200000, 0x4000)])
FILE = elf_file(PROGRAM, [Symbol("serve", 0x1000, 0x1000)])


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with (
        tempfile.TemporaryDirectory(prefix="fp-", dir="/tmp") as folder,
        serving(Path(folder, "g.sock")) as one,
    ):
        yield one


@pytest.fixture
def capture(engine: Engine, gateway: Gateway, archive: Archive, tmp_path: Path) -> capture_pb2.Capture:
    """A capture with a frame in each kind of image, landed without any names."""
    [visit_id] = archived(engine, drawn_at=datetime.now(UTC))
    with engine.begin() as connection:
        inventory.add(connection, NewMachine("m", gateway.address), replace=True)
    made = MadeCapture(visit_id)
    made.message.machine.kernel_build_id = KERNEL.hex()
    made.message.system.modules["ext4"] = MODULE.hex()
    kernel = made.mapping("[kernel]", build_id=KERNEL, kind=capture_pb2.Mapping.KERNEL)
    module = made.mapping("[ext4]", build_id=MODULE, kind=capture_pb2.Mapping.MODULE)
    program = made.mapping("/srv/elsewhere/program", build_id=PROGRAM)
    call = (nameless(1), 0)  # whatever; the resolver says what the frames stand for
    frames = [made.frame(image, call) for image in (kernel, module, kernel, program)]
    made.message.frames.offset[frames[-1]] = 0x1010
    made.segment({made.group(): {made.stack(frames): 5, made.stack(frames[:2]): 7}})
    message, _ = made.finished()
    resolved = resolve(engine, archive, tmp_path / "before", message)
    assert names(resolved) == ["[kernel]+0xf", "[ext4]+0x1f", "[kernel]+0x2f", "program+0x100f"]
    land(engine, Interner(engine), visit_id, 1, message, resolved)
    return message


def resolve(engine: Engine, archive: Archive, folder: Path, capture: capture_pb2.Capture) -> ResolvedFrames:
    """As a worker does that has nothing but the fleet's store."""
    source = Uploaded(engine, archive, DownloadFolder(folder / "downloads", limit_bytes=1 << 24))
    return Resolver(source, folder).resolve(capture)


def names(resolved: ResolvedFrames) -> list[str]:
    return [resolved.functions[index].name for index in resolved.function.tolist()]


def look(
    engine: Engine,
    archive: Archive,
    *,
    an_hour: int = 10,
    times: int = 1,
    patience_s: float = 20,
    stop: asyncio.Event | None = None,
) -> int:
    """How often a gateway was asked in so many looks."""

    def accept(ask: Ask, path: Path, name: str) -> str:
        taken = take_in(engine, archive, path, wanted=ask.binary_key, name=name, origin="gateway")
        return taken.reason if isinstance(taken, Useless) else ""

    async def looks() -> int:
        stopping = stop or asyncio.Event()
        desk = Desk(asyncio.Event())
        terms = AskTerms(accept, an_hour, patience_s=patience_s)
        asking = SymbolAsks(engine, stop=stopping, desk=desk, credentials=None, terms=terms)
        try:
            return sum([await asking.look() for _ in range(times)])
        finally:
            desk.close()

    return asyncio.run(looks())


def gives(*, kernel: bytes = TABLE, file: bytes = FILE) -> Symbols:
    def answer(request: gateway_pb2.SymbolsRequest) -> Iterator[gateway_pb2.SymbolsReply]:
        is_kernel = request.what == gateway_pb2.SymbolsRequest.KERNEL
        return symbols_of(kernel, "[kernel]") if is_kernel else symbols_of(file, "program")

    return answer


def outcome(engine: Engine, build_id: bytes) -> tuple[AskOutcome, str]:
    with engine.connect() as connection:
        [state] = asks.asked(connection, build_id.hex())
    return state.outcome, state.detail


def rest_is_over(engine: Engine) -> None:
    """A machine is left alone for an hour after it was asked."""
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE symbol_ask SET asked_at = asked_at - interval '61 minutes'")


def test_one_ask_names_the_kernel_and_its_modules_for_every_worker(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture, tmp_path: Path
):
    gateway.symbols = gives()
    assert look(engine, archive, an_hour=1, times=2) == 1
    [asked] = gateway.asked
    assert (asked.what, asked.build_id) == (gateway_pb2.SymbolsRequest.KERNEL, b"")
    with engine.connect() as connection:
        assert [want.binary_key for want in asks.wanted(connection)] == [PROGRAM.hex()]
        rows = connection.execute(select(debug_file.c.binary_key, debug_file.c.sha256)).all()
    assert {row.binary_key for row in rows} == {KERNEL.hex(), MODULE.hex()}
    assert len({row.sha256 for row in rows}) == 1
    resolved = resolve(engine, archive, tmp_path / "after", capture)
    assert names(resolved)[:3] == ["vfs_read", "ext4_file_open", "vfs_read"]


def test_a_program_is_asked_for_by_its_build(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture, tmp_path: Path
):
    gateway.symbols = gives()
    assert look(engine, archive) == 1
    rest_is_over(engine)
    assert look(engine, archive) == 1
    assert gateway.asked[1].build_id == PROGRAM
    assert outcome(engine, PROGRAM) == (AskOutcome.GOT, "")
    assert names(resolve(engine, archive, tmp_path / "after", capture))[3] == "serve"
    rest_is_over(engine)
    assert look(engine, archive) == 0


def test_the_vdso_of_another_kernel_is_named_by_its_image(
    engine: Engine, archive: Archive, gateway: Gateway, tmp_path: Path
):
    image = own_vdso()
    build_id, symbols = ElfFile(image).build_id, read_symbols(ElfFile(image))
    path = tmp_path / "vdso"
    path.write_bytes(image)
    assert take_in(engine, archive, path, wanted=build_id.hex(), name="[vdso]", origin="gateway") == Arrived(
        (build_id.hex(),)
    )
    made = MadeCapture(UUID(int=1))
    mapping = made.mapping("[vdso]", build_id=build_id, kind=capture_pb2.Mapping.VDSO)
    made.frame(mapping, (nameless(1), 0))
    message, _ = made.finished()
    message.frames.offset[0] = symbols.symbol(0).start + 1
    assert names(resolve(engine, archive, tmp_path / "worker", message)) == [symbols.symbol(0).name]


WRONG: list[tuple[Symbols, AskOutcome, str]] = [
    (gives(kernel=TABLE.replace(b"0b" * 20, b"0e" * 20).replace(b"0c" * 20, b"0f" * 20)), AskOutcome.FAILED, "Another kernel"),
    (gives(kernel=FILE), AskOutcome.FAILED, PROGRAM.hex()),
    (gives(kernel=b"noise" * 100), AskOutcome.FAILED, ""),
    (lambda _: iter([b"\xff\xff\xff"]), AskOutcome.FAILED, "protocol"),
    (lambda _: iter(list(symbols_of(TABLE))[:-1]), AskOutcome.FAILED, "stopped before its end"),
    (lambda _: iter([gateway_pb2.SymbolsReply(refusal=gateway_pb2.SymbolsRefusal(reason=2, message="never"))]), AskOutcome.REFUSED, "never"),
    (lambda _: iter([gateway_pb2.SymbolsReply(refusal=gateway_pb2.SymbolsRefusal(reason=4))]), AskOutcome.ABSENT, "refused"),
    (lambda _: iter([gateway_pb2.SymbolsReply(refusal=gateway_pb2.SymbolsRefusal(reason=99))]), AskOutcome.FAILED, "refused"),
    (lambda _: 1 / 0, AskOutcome.FAILED, "UNKNOWN"),
]  # fmt: skip


def test_what_went_wrong_is_noted_and_nothing_is_kept(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture
):
    for symbols, expected, says in WRONG:
        gateway.symbols = symbols
        assert look(engine, archive) == 1
        found, detail = outcome(engine, KERNEL)
        assert found == expected
        assert says in detail
        assert detail
        with engine.begin() as connection:
            assert not connection.execute(select(debug_file)).all()
            connection.execute(delete(symbol_ask))


def test_a_small_fleet_is_asked_as_often_as_a_large_one():
    assert machine_rest(10_000, 20) == timedelta(hours=1)
    assert machine_rest(1, 60) == timedelta(minutes=1)
    assert machine_rest(5, 20) * 20 / 5 == timedelta(hours=1)
    assert machine_rest(3, 0) == timedelta(hours=1)


def test_a_gateway_that_hangs_is_given_up(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture
):
    def hangs(_request: gateway_pb2.SymbolsRequest) -> Iterator[gateway_pb2.SymbolsReply]:
        yield from list(symbols_of(TABLE))[:2]
        gone.wait(30)

    gone = threading.Event()
    gateway.symbols = hangs
    stop = asyncio.Event()
    try:
        assert look(engine, archive, patience_s=0.3) == 1
        assert "within 0.3 s" in outcome(engine, KERNEL)[1]
        with engine.begin() as connection:
            connection.execute(delete(symbol_ask))
        stop.set()
        assert look(engine, archive, patience_s=600, stop=stop) == 1
    finally:
        gone.set()
    assert outcome(engine, KERNEL) == (AskOutcome.FAILED, "The collector was stopped meanwhile.")


def test_a_machine_that_is_down_costs_one_ask(engine: Engine, archive: Archive, capture: capture_pb2.Capture):
    with engine.begin() as connection:
        inventory.add(connection, NewMachine("m", "unix:/nowhere/gateway.sock"), replace=True)
    assert look(engine, archive, times=3) == 1
    assert "UNAVAILABLE" in outcome(engine, KERNEL)[1]


def test_nobody_is_asked_without_a_rate(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture
):
    assert look(engine, archive, an_hour=0) == 0
    assert not gateway.asked
