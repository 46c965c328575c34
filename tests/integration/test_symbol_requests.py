"""Frames of machines whose files no worker has: a gateway is asked once, and every worker can name them."""

import asyncio
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest
import structlog
from rich.console import Console, RenderableType
from sqlalchemy import Engine, delete, insert, select, update

from collector import sweep
from collector.blocking_executor import BlockingExecutor
from collector.symbol_requests import SymbolRequester, SymbolRequestTerms, machine_rest
from fleetpb import capture_pb2, gateway_pb2
from gateway.process.images import own_vdso
from services.symbols import symbol_documents, terminal_tables
from services.symbols.gateway_uploads import acceptor
from services.symbols.symbol_service import ListingQuery, SymbolService
from simulation.elf_writer import Symbol, elf_file
from storage import inventory
from storage.archive import Archive
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.ingest.symbolized import ResolvedFrames
from storage.inventory import NewMachine
from storage.query.shapes.operations import read_operations
from storage.schema import binary, debug_file, machine, symbol_answer, symbol_request
from storage.symbols import candidates, reprocessing, requests
from storage.symbols.answers import Standing
from storage.symbols.missing_symbols import Which
from storage.symbols.requests import RequestOutcome
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.images.resolve import Resolver
from symbolizer.inspection.gateway_symbols import Sender, StoredSymbols, receive_symbols
from symbolizer.kernel.kallsyms import LoadedModule, table_of_boot
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.symbol_store_source import Uploaded
from tests.fake_gateways import Gateway, Symbols, serving, symbols_of
from tests.ingested import archived
from tests.synthetic_captures import SyntheticCapture, nameless

pytestmark = pytest.mark.integration

KERNEL, MODULE, PROGRAM = b"\x0b" * 20, b"\x0c" * 20, b"\x0d" * 20
KALLSYMS = b"""\
ffffffff81000000 T _stext
ffffffff81000000 T vfs_read
ffffffff81001000 T _etext
ffffffffc0200000 t ext4_file_open\t[ext4]
"""
TABLE = table_of_boot(KALLSYMS, KERNEL, [LoadedModule("ext4", MODULE.hex(), 0xFFFFFFFFC0200000, 0x4000)])
NAMELESS = ["[kernel]+0xf", "[ext4]+0x1f", "[kernel]+0x2f", "program+0x100f"]
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
    """A capture with a frame in each kind of image, ingested without any names."""
    return captured(engine, archive, tmp_path / "before", NewMachine("m", gateway.address))


def captured(
    engine: Engine, archive: Archive, folder: Path, machine: NewMachine, *, called: list[str] | None = None
) -> capture_pb2.Capture:
    """As `capture`, of another machine; `called`: what a worker calls its frames."""
    [visit_id] = archived(engine, drawn_at=datetime.now(UTC), machine=machine)
    made = SyntheticCapture(visit_id)
    made.message.machine.kernel_build_id = KERNEL.hex()
    made.message.system.modules["ext4"] = MODULE.hex()
    kernel = made.mapping("[kernel]", build_id=KERNEL, kind=capture_pb2.Mapping.KERNEL)
    module = made.mapping("[ext4]", build_id=MODULE, kind=capture_pb2.Mapping.MODULE)
    file = made.mapping("/srv/elsewhere/program", build_id=PROGRAM)
    call = (nameless(1), 0)  # whatever; the resolver says what the frames stand for
    frames = [made.frame(image, call) for image in (kernel, module, kernel, file)]
    made.message.frames.offset[frames[-1]] = 0x1010
    made.segment({made.group(): {made.stack(frames): 5, made.stack(frames[:2]): 7}})
    message, _ = made.finished()
    resolved = resolve(engine, archive, folder, message)
    assert names(resolved) == (called or NAMELESS)
    ingest(engine, Interner(engine), visit_id, 1, message, resolved)
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
    per_hour: int = 10,
    times: int = 1,
    patience_s: float = 20,
    stop: asyncio.Event | None = None,
) -> int:
    """How often a gateway was asked in so many looks."""

    async def looks() -> int:
        stopping = stop or asyncio.Event()
        executor = BlockingExecutor(asyncio.Event())
        accept = acceptor(engine, archive, lambda _key, _why: None)
        terms = SymbolRequestTerms(accept, per_hour, patience_s=patience_s)
        asking = SymbolRequester(engine, stop=stopping, executor=executor, credentials=None, terms=terms)
        try:
            return sum([await asking.look() for _ in range(times)])
        finally:
            executor.close()

    return asyncio.run(looks())


def gives(*, kernel: bytes = TABLE, file: bytes = FILE) -> Symbols:
    def answer(request: gateway_pb2.SymbolsRequest) -> Iterator[gateway_pb2.SymbolsReply]:
        is_kernel = request.what == gateway_pb2.SymbolsRequest.KERNEL
        return symbols_of(kernel, "[kernel]") if is_kernel else symbols_of(file, "program")

    return answer


def outcome(engine: Engine, build_id: bytes) -> tuple[RequestOutcome, str]:
    with engine.connect() as connection:
        [state] = requests.requests_of(connection, build_id.hex())
    return state.outcome, state.detail


def rest_is_over(engine: Engine) -> None:
    """A machine is left alone for an hour after it was asked."""
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE symbol_request SET requested_at = requested_at - interval '61 minutes',"
            " requested_times = ARRAY(SELECT at - interval '61 minutes' FROM unnest(requested_times) AS at)"
        )


def test_one_ask_names_the_kernel_and_its_modules_for_every_worker(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture, tmp_path: Path
):
    gateway.symbols = gives()
    assert look(engine, archive, per_hour=1, times=2) == 1
    [asked] = gateway.asked
    assert (asked.what, asked.build_id) == (gateway_pb2.SymbolsRequest.KERNEL, b"")
    with engine.connect() as connection:
        assert [want.binary_key for want in requests.wanted(connection)] == [PROGRAM.hex()]
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
    assert outcome(engine, PROGRAM) == (RequestOutcome.GOT, "")
    assert names(resolve(engine, archive, tmp_path / "after", capture))[3] == "serve"
    rest_is_over(engine)
    assert look(engine, archive) == 0


def test_the_vdso_of_another_kernel_is_named_by_its_image(engine: Engine, archive: Archive, tmp_path: Path):
    """Kernels patch its code for their CPUs."""
    image = own_vdso()
    elf = ElfFile(image)
    symbols = read_symbols(elf)
    patched = bytearray(image)
    patched[int(symbols.starts[0])] ^= 0xFF  # a vdso is linked at address 0, so addresses are offsets
    made = SyntheticCapture(UUID(int=1))
    mapping = made.mapping("[vdso]", build_id=elf.build_id, kind=capture_pb2.Mapping.VDSO)
    made.frame(mapping, (nameless(1), 0))
    message, _ = made.finished()
    message.frames.offset[0] = symbols.symbol(0).start + 1
    with engine.begin() as connection:
        connection.execute(
            insert(binary).values(key=elf.build_id.hex(), name="[vdso]", path="[vdso]", kind="vdso")
        )
        senders = [
            Sender(inventory.add(connection, NewMachine(name, f"{name}:1"), replace=True), name)
            for name in ("m", "n")
        ]
    for sender, content in zip(senders, (image, bytes(patched)), strict=True):
        path = tmp_path / sender.name
        path.write_bytes(content)
        wanted = elf.build_id.hex()
        taken = receive_symbols(engine, archive, path, wanted=wanted, name="[vdso]", sender=sender)
        assert isinstance(taken, StoredSymbols)
    assert taken == StoredSymbols((wanted,), Standing.AGREED)
    assert names(resolve(engine, archive, tmp_path / "worker", message)) == [symbols.symbol(0).name]


WRONG: list[tuple[Symbols, RequestOutcome, str]] = [
    (gives(kernel=TABLE.replace(b"0b" * 20, b"0e" * 20).replace(b"0c" * 20, b"0f" * 20)), RequestOutcome.FAILED, "Another kernel"),
    (gives(kernel=FILE), RequestOutcome.FAILED, PROGRAM.hex()),
    (gives(kernel=b"noise" * 100), RequestOutcome.FAILED, ""),
    (lambda _: iter([b"\xff\xff\xff"]), RequestOutcome.FAILED, "protocol"),
    (lambda _: iter(list(symbols_of(TABLE))[:-1]), RequestOutcome.FAILED, "stopped before its end"),
    (lambda _: iter([gateway_pb2.SymbolsReply(refusal=gateway_pb2.SymbolsRefusal(reason=2, message="never"))]), RequestOutcome.REFUSED, "never"),
    (lambda _: iter([gateway_pb2.SymbolsReply(refusal=gateway_pb2.SymbolsRefusal(reason=4))]), RequestOutcome.ABSENT, "refused"),
    (lambda _: iter([gateway_pb2.SymbolsReply(refusal=gateway_pb2.SymbolsRefusal(reason=99))]), RequestOutcome.FAILED, "refused"),
    (lambda _: 1 / 0, RequestOutcome.FAILED, "UNKNOWN"),
]  # fmt: skip


@pytest.mark.slow
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
            connection.execute(delete(symbol_request))


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
            connection.execute(delete(symbol_request))
        stop.set()
        assert look(engine, archive, patience_s=600, stop=stop) == 1
    finally:
        gone.set()
    assert outcome(engine, KERNEL) == (RequestOutcome.FAILED, "The collector was stopped.")


def test_a_machine_that_is_down_costs_one_ask(engine: Engine, archive: Archive, capture: capture_pb2.Capture):
    with engine.begin() as connection:
        inventory.add(connection, NewMachine("m", "unix:/nowhere/gateway.sock"), replace=True)
    assert look(engine, archive, times=3) == 1
    assert "UNAVAILABLE" in outcome(engine, KERNEL)[1]


def test_nobody_is_asked_without_a_rate(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture
):
    assert look(engine, archive, per_hour=0) == 0
    assert not gateway.asked


LIE = elf_file(PROGRAM, [Symbol("evil", 0x1000, 0x1000)])


def stored(engine: Engine) -> dict[str, tuple[str, str | None]]:
    """By key the origin of each debug file, and the one machine that it rests on."""
    with engine.connect() as connection:
        rows = connection.execute(
            select(debug_file.c.binary_key, debug_file.c.origin, machine.c.name).outerjoin(
                machine, machine.c.machine_id == debug_file.c.machine_id
            )
        )
        return {row.binary_key: (row.origin, row.name) for row in rows}


def only_the_program(engine: Engine) -> None:
    """The kernel is known to all, so that it is not asked for."""
    with engine.begin() as connection:
        connection.execute(update(binary).where(binary.c.kind != "file").values(status="full"))


@dataclass(frozen=True)
class Pair:
    """Two machines with the same program, kernel and module; `n` ran them last, and is asked first."""

    m: Gateway
    n: Gateway
    captures: list[capture_pb2.Capture]
    engine: Engine
    archive: Archive
    folder: Path

    def names(self, of: int = 0) -> list[str]:
        """What a worker calls the frames of a machine's capture now."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        return names(resolve(self.engine, self.archive, folder, self.captures[of]))

    @property
    def asked(self) -> list[int]:
        return [len(self.m.asked), len(self.n.asked)]


@pytest.fixture
def pair(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture, tmp_path: Path
) -> Iterator[Pair]:
    with (
        tempfile.TemporaryDirectory(prefix="fp-", dir="/tmp") as folder,
        serving(Path(folder, "g.sock")) as other,
    ):
        second = captured(engine, archive, tmp_path / "second", NewMachine("n", other.address))
        yield Pair(gateway, other, [capture, second], engine, archive, tmp_path)


@pytest.mark.slow
def test_a_machine_that_lies_names_nothing_of_the_fleet(pair: Pair, engine: Engine, archive: Archive):
    only_the_program(engine)
    pair.n.symbols, pair.m.symbols = gives(file=LIE), gives()
    assert look(engine, archive) == 1
    assert outcome(engine, PROGRAM) == (
        RequestOutcome.UNCONFIRMED,
        "It is used when another machine sends the same symbols.",
    )
    assert stored(engine) == {}
    assert look(engine, archive) == 1
    assert pair.asked == [1, 1]
    found, why = outcome(engine, PROGRAM)
    assert found is RequestOutcome.DISPUTED
    assert why.startswith("m and n sent different symbols: one of the machines, or its binary,")
    assert stored(engine) == {}
    assert pair.names(of=0) == pair.names(of=1) == NAMELESS
    rest_is_over(engine)
    assert look(engine, archive) == 0


@pytest.mark.slow
def test_what_machines_dispute_is_said_until_a_person_brings_symbols(
    pair: Pair, engine: Engine, archive: Archive
):
    only_the_program(engine)
    pair.n.symbols, pair.m.symbols = gives(file=LIE), gives()
    with structlog.testing.capture_logs() as logged:
        assert look(engine, archive, times=2) == 2
    assert [(line["log_level"], line["outcome"]) for line in logged] == [
        ("info", "unconfirmed"),
        ("warning", "disputed"),
    ]
    service = SymbolService(engine, archive)

    def told() -> tuple[bool, bool, int]:
        """In the answer about the binary, in the list, and as a metric."""
        details = symbol_documents.details(service, *service.show(PROGRAM.hex()), allowed=True)
        [request] = details["requests"]
        assert (request["outcome"], request["machine"]) == ("disputed", "m")
        assert "received, but it differs from that of another machine (m and n sent different" in plain(
            terminal_tables.details(details)
        )
        page = symbol_documents.listing(service, service.listing(ListingQuery(which=Which.ALL)), allowed=True)
        [row] = [row for row in page["binaries"] if row["key"] == PROGRAM.hex()]
        assert ("different symbols" in plain(terminal_tables.listing(page))) is row["disputed"]
        with engine.connect() as connection:
            return (
                details["binary"]["disputed"],
                row["disputed"],
                read_operations(connection).symbols_disputed,
            )

    assert told() == (True, True, 1)
    (pair.folder / "program").write_bytes(FILE)
    service.add(pair.folder / "program", name="program")
    assert pair.names()[3] == "serve"
    assert told() == (False, False, 0)


def plain(shown: RenderableType) -> str:
    console = Console(width=400, file=StringIO())
    console.print(shown)
    return console.file.getvalue()


def test_what_two_machines_give_alike_names_the_fleet(pair: Pair, engine: Engine, archive: Archive):
    only_the_program(engine)
    pair.m.symbols = pair.n.symbols = gives()
    assert look(engine, archive, times=3) == 2
    assert pair.asked == [1, 1]
    assert outcome(engine, PROGRAM) == (RequestOutcome.GOT, "")
    assert stored(engine) == {PROGRAM.hex(): ("two machines: n, m", None)}
    assert pair.names(of=0)[3] == pair.names(of=1)[3] == "serve"


def test_both_asks_count(pair: Pair, engine: Engine, archive: Archive):
    only_the_program(engine)
    pair.m.symbols = pair.n.symbols = gives()
    assert look(engine, archive, per_hour=1, times=3) == 1
    assert outcome(engine, PROGRAM)[0] is RequestOutcome.UNCONFIRMED
    rest_is_over(engine)
    assert look(engine, archive, per_hour=1, times=3) == 1
    assert outcome(engine, PROGRAM)[0] is RequestOutcome.GOT


@pytest.mark.slow
def test_another_name_of_a_machine_confirms_nothing(pair: Pair, engine: Engine, archive: Archive):
    only_the_program(engine)
    captured(engine, archive, pair.folder / "third", NewMachine("n-too", pair.n.address))
    pair.n.symbols = gives(file=LIE)
    with engine.begin() as connection:
        connection.execute(update(machine).where(machine.c.name == "m").values(enabled=False))
    assert look(engine, archive, times=3) == 1
    rest_is_over(engine)
    assert look(engine, archive, times=3) == 0
    assert outcome(engine, PROGRAM)[0] is RequestOutcome.UNCONFIRMED
    assert pair.asked == [0, 1]
    assert stored(engine) == {}


def test_what_one_machine_runs_alone_is_named_by_it_until_another_runs_it(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture, tmp_path: Path
):
    only_the_program(engine)
    gateway.symbols = gives(file=LIE)
    assert look(engine, archive) == 1
    assert outcome(engine, PROGRAM) == (RequestOutcome.GOT, "")
    assert stored(engine) == {PROGRAM.hex(): ("one machine: m", "m")}
    assert names(resolve(engine, archive, tmp_path / "alone", capture))[3] == "evil"
    looked_at = sweep.withdraw_symbols(engine, None)
    assert stored(engine), "nobody else runs it"

    other = NewMachine("n", "unix:/elsewhere")
    captured(engine, archive, tmp_path / "second", other, called=[*NAMELESS[:3], "evil"])
    sweep.withdraw_symbols(engine, looked_at)
    assert stored(engine) == {}
    assert names(resolve(engine, archive, tmp_path / "withdrawn", capture)) == NAMELESS
    with engine.connect() as connection:
        again = reprocessing.latest(connection, [PROGRAM.hex()])[PROGRAM.hex()]
    assert (again.captures, again.why) == (
        2,
        "n runs it, too. The symbols that only m sent are no longer used.",
    )
    assert outcome(engine, PROGRAM) == (RequestOutcome.UNCONFIRMED, again.why)


def test_what_was_withdrawn_is_asked_for_once_more(pair: Pair, engine: Engine, archive: Archive):
    only_the_program(engine)
    pair.m.symbols = pair.n.symbols = gives()
    with engine.begin() as connection:  # as long as the second machine's capture had not ingested
        connection.execute(update(machine).values(address=pair.n.address))
    assert look(engine, archive) == 1
    assert stored(engine) == {PROGRAM.hex(): ("one machine: n", "n")}
    with engine.begin() as connection:
        connection.execute(update(machine).where(machine.c.name == "m").values(address=pair.m.address))
    sweep.withdraw_symbols(engine, None)
    assert stored(engine) == {}
    assert look(engine, archive) == 1
    assert stored(engine) == {PROGRAM.hex(): ("two machines: n, m", None)}
    sweep.withdraw_symbols(engine, None)
    assert stored(engine) == {PROGRAM.hex(): ("two machines: n, m", None)}


OTHER_MODULE = b"\x0f" * 20


def table(kernel: bytes, *modules: tuple[str, bytes]) -> bytes:
    """A kernel's table with one function in each module."""
    lines = b"".join(
        b"ffffffffc%07x t %s_open\t[%s]\n" % (0x200000 * (at + 1), name.encode(), name.encode())
        for at, (name, _) in enumerate(modules)
    )
    loaded = [
        LoadedModule(name, build.hex(), 0xFFFFFFFFC0000000 + 0x200000 * (at + 1), 0x4000)
        for at, (name, build) in enumerate(modules)
    ]
    text = KALLSYMS[: KALLSYMS.index(b"ffffffffc0")].replace(b"vfs_read", kernel)
    return table_of_boot(text + lines, KERNEL, loaded)


def test_of_a_kernel_the_parts_are_used_that_two_machines_give_alike(
    pair: Pair, engine: Engine, archive: Archive
):
    pair.m.symbols = gives(kernel=table(b"vfs_read", ("ext4", MODULE), ("evil", OTHER_MODULE)))
    pair.n.symbols = gives(kernel=table(b"vfs_read", ("dm", b"\x0e" * 20), ("ext4", MODULE)))
    assert look(engine, archive, times=2) == 2
    assert outcome(engine, KERNEL) == (RequestOutcome.GOT, "")
    assert stored(engine) == {key.hex(): ("two machines: n, m", None) for key in (KERNEL, MODULE)}
    assert pair.names()[:3] == ["vfs_read", "ext4_open", "vfs_read"]
    with engine.connect() as connection:
        [file] = candidates.every(connection, KERNEL.hex())
    candidates.fetch(archive, file, pair.folder / "table")
    assert (pair.folder / "table").read_bytes() == table(b"vfs_read", ("ext4", MODULE))


def test_a_module_that_machines_dispute_is_left_out_and_reported(
    pair: Pair, engine: Engine, archive: Archive
):
    pair.m.symbols = gives(kernel=table(b"vfs_read", ("ext4", MODULE)))
    pair.n.symbols = gives(kernel=table(b"vfs_read", ("ext4", MODULE)).replace(b"ext4_open", b"ext4_evil"))
    assert look(engine, archive, times=2) == 2
    assert outcome(engine, KERNEL) == (RequestOutcome.GOT, "")
    assert pair.names()[:3] == ["vfs_read", "[ext4]+0x1f", "vfs_read"]
    rest_is_over(engine)
    with engine.begin() as connection:
        connection.execute(update(binary).where(binary.c.kind != "module").values(status="full"))
    assert look(engine, archive) == 1
    assert outcome(engine, MODULE)[0] is RequestOutcome.DISPUTED


@pytest.mark.slow
def test_a_machine_that_lies_names_nothing_of_the_kernel(pair: Pair, engine: Engine, archive: Archive):
    pair.m.symbols = gives(kernel=table(b"vfs_read", ("ext4", MODULE)))
    pair.n.symbols = gives(kernel=table(b"evil", ("ext4", MODULE)))
    assert look(engine, archive, times=2) == 2
    assert outcome(engine, KERNEL)[0] is RequestOutcome.DISPUTED
    assert stored(engine) == {}
    assert pair.names() == NAMELESS


def test_a_machine_says_nothing_of_a_kernel_that_it_was_not_seen_to_run(
    engine: Engine, archive: Archive, gateway: Gateway, capture: capture_pb2.Capture
):
    foreign = TABLE.replace(KERNEL.hex().encode(), b"ab" * 20)
    gateway.symbols = gives(kernel=foreign)
    with engine.begin() as connection:
        connection.execute(update(binary).where(binary.c.key == KERNEL.hex()).values(status="full"))
        connection.execute(update(binary).where(binary.c.kind == "file").values(status="full"))
    assert look(engine, archive) == 1
    found, why = outcome(engine, MODULE)
    assert (found, why) == (
        RequestOutcome.FAILED,
        f"No capture of that machine contains the kernel {'ab' * 20}.",
    )
    with engine.connect() as connection:
        assert not connection.execute(select(symbol_answer)).all()
