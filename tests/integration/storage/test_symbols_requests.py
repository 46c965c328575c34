"""Requests for symbols: binaries that hide the most samples first, one machine at a time, within the fleet's hourly limit."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection, Engine, column, func, select, text, update

from storage import migrate
from storage.archive import Archive
from storage.schema import binary, machine, symbol_request
from storage.symbols import candidates
from storage.symbols.candidates import UPLOAD, Candidate
from storage.symbols.kinds import FileKind, Quality
from storage.symbols.requests import (
    ATTEMPTS_LIMIT,
    RequestOutcome,
    SymbolRequest,
    claim_request,
    note_answer,
    requests_of,
    wanted,
)
from tests.binary_fleet import FULL, Fleet

pytestmark = pytest.mark.integration


@pytest.fixture
def fleet(engine: Engine) -> Fleet:
    return Fleet(engine)


def claim(fleet: Fleet, per_hour: int = 100) -> SymbolRequest | None:
    with fleet.engine.begin() as connection:
        return claim_request(connection, per_hour=per_hour)


def claimed(fleet: Fleet) -> SymbolRequest:
    request = claim(fleet)
    assert request is not None
    return request


def answer(fleet: Fleet, request: SymbolRequest, outcome: RequestOutcome, detail: str = "") -> bool:
    with fleet.engine.begin() as connection:
        return note_answer(connection, request, outcome, detail)


def let_pass(fleet: Fleet, hours: float) -> None:
    then = timedelta(hours=hours)
    with fleet.engine.begin() as connection:
        connection.execute(
            update(symbol_request).values(
                requested_at=symbol_request.c.requested_at - then,
                again_at=symbol_request.c.again_at - then,
                requested_times=select(func.array_agg(column("at") - then))
                .select_from(func.unnest(symbol_request.c.requested_times).alias("at"))
                .scalar_subquery(),
            )
        )


def keys(fleet: Fleet, **how: bool) -> list[str]:
    with fleet.engine.connect() as connection:
        return [one.binary_key for one in wanted(connection, **how)]


class TestWanted:
    def test_is_what_hides_samples_the_most_first(self, fleet: Fleet):
        fleet.visit({"aa": (50, 10), "bb": (50, 30), "cc": FULL})
        fleet.visit({"aa": (50, 25), "cc": FULL})
        assert keys(fleet) == ["aa", "bb"]

    def test_is_not_what_somebody_has_symbols_for(self, fleet: Fleet, archive: Archive, tmp_path: Path):
        fleet.visit({"aa": (50, 50), "bb": (50, 40), "cc": (50, 30), "dd": (50, 20)})
        (tmp_path / "file").write_bytes(b"file")

        def add(key: str, quality: Quality) -> bytes:
            candidate = Candidate(key, FileKind.EXECUTABLE, quality, tmp_path / "file", UPLOAD)
            return candidates.add(fleet.engine, archive, candidate).file.sha256

        add("aa", Quality.SYMTAB)
        sha256 = add("bb", Quality.DWARF)
        add("cc", Quality.DYNSYM)
        with fleet.engine.begin() as connection:
            candidates.reject(connection, "bb", sha256, "not it")
            connection.execute(update(binary).where(binary.c.key == "dd").values(status="symtab"))
        assert keys(fleet) == ["bb", "cc"]

    def test_a_kernels_table_names_nothing_of_a_program(self, fleet: Fleet, archive: Archive, tmp_path: Path):
        with fleet.engine.begin() as connection:
            fleet.binary(connection, "kk", kind="kernel", name="[kernel]")
            fleet.binary(connection, "mm", kind="module", name="[ext4]")
        fleet.visit({"aa": (50, 50), "kk": (50, 40), "mm": (50, 30), "nn": (50, 20)})
        (tmp_path / "table").write_bytes(b"table")
        for key in ("aa", "kk", "mm"):
            table = Candidate(key, FileKind.KALLSYMS, Quality.SYMTAB, tmp_path / "table", UPLOAD)
            candidates.add(fleet.engine, archive, table)
        assert keys(fleet) == ["aa", "nn"]

    def test_is_what_ran_lately(self, fleet: Fleet):
        fleet.visit({"old": (50, 50)}, at=datetime.now(UTC) - timedelta(days=3))
        fleet.visit({"new": (50, 10)})
        assert keys(fleet) == ["new"]

    def test_a_file_known_by_its_path_only_is_not_requested(self, fleet: Fleet):
        fleet.visit({"path:/opt/x": (50, 50)})
        assert keys(fleet) == ["path:/opt/x"]
        assert keys(fleet, requestable=True) == []
        assert claim(fleet) is None


class TestClaim:
    def test_names_the_gateway_and_the_file(self, fleet: Fleet):
        fleet.visit({"aa": (50, 50)}, machine=1, at=datetime.now(UTC) - timedelta(hours=1))
        last = fleet.visit({"aa": (50, 50)}, machine=2)
        request = claimed(fleet)
        assert request == SymbolRequest(
            binary_key="aa", kind=FileKind.SYMBOLS, name="aa.so", path="/usr/lib/aa.so", visit_id=last,
            machine_id=fleet.machines[2], machine="m2", address="h2:1", attempt=1,
        )  # fmt: skip

    def test_a_kernels_symbols_are_requested(self, fleet: Fleet):
        with fleet.engine.begin() as connection:
            fleet.binary(connection, "kk", kind="kernel", name="[kernel]")
        fleet.visit({"kk": (50, 50)})
        assert claimed(fleet).kind == FileKind.KALLSYMS

    def test_one_gateway_gets_the_request_for_a_binary(self, fleet: Fleet):
        for number in range(4):
            fleet.visit({"aa": (50, 50)}, machine=number)
        assert claim(fleet) is not None
        assert claim(fleet) is None

    def test_a_machine_is_left_alone_for_an_hour(self, fleet: Fleet):
        fleet.visit({"aa": (50, 50), "bb": (50, 20)}, machine=0)
        assert claimed(fleet).binary_key == "aa"
        assert claim(fleet) is None
        let_pass(fleet, 1.1)
        assert claimed(fleet).binary_key == "bb", "the first ran on no other machine"

    def test_machines_that_may_not_be_visited_get_no_request(self, fleet: Fleet):
        for number in range(3):
            fleet.visit({"aa": (50, 50)}, machine=number)
        with fleet.engine.begin() as connection:
            disabled, removed, _, _ = fleet.machines
            connection.execute(update(machine).where(machine.c.machine_id == disabled).values(enabled=False))
            connection.execute(
                update(machine).where(machine.c.machine_id == removed).values(removed_at=func.now())
            )
        assert claimed(fleet).machine == "m2"

    def test_the_limit_is_the_whole_fleets(self, fleet: Fleet):
        for number in range(4):
            fleet.visit({f"b{number}{n}": (50, 50) for n in range(3)}, machine=number)
        ready = threading.Barrier(8)
        got: list[SymbolRequest | None] = []

        def work() -> None:
            ready.wait(30)
            got.extend(claim(fleet, 3) for _ in range(2))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        made = [request for request in got if request is not None]
        assert len(got) == 16
        assert (
            len(made)
            == len({request.binary_key for request in made})
            == len({request.machine for request in made})
            == 3
        )
        assert claim(fleet, 3) is None
        let_pass(fleet, 1.1)
        assert claim(fleet, 3) is not None
        assert claim(fleet, 0) is None


class TestAnswers:
    def everywhere(self, fleet: Fleet) -> SymbolRequest:
        for number in range(4):
            fleet.visit({"aa": (50, 50)}, machine=number)
        return claimed(fleet)

    def test_received_symbols_are_never_requested_again(self, fleet: Fleet):
        request = self.everywhere(fleet)
        assert answer(fleet, request, RequestOutcome.GOT, "12 kB")
        let_pass(fleet, 1000)
        assert claim(fleet) is None
        with fleet.engine.connect() as connection:
            [state] = requests_of(connection, "aa")
        assert (state.outcome, state.detail, state.again_at) == (RequestOutcome.GOT, "12 kB", None)
        assert state.machine == request.machine

    def test_after_a_refusal_another_machine_gets_the_request_later(self, fleet: Fleet):
        machines, rests = set(), []
        request: SymbolRequest | None = self.everywhere(fleet)
        while request is not None:
            machines.add(request.machine)
            assert answer(fleet, request, RequestOutcome.REFUSED, "symbols are not given away here")
            assert claim(fleet) is None
            rests.append(1.1 * 2 ** (request.attempt - 1))
            let_pass(fleet, rests[-1])
            request = claim(fleet)
        assert len(machines) == len(rests) == ATTEMPTS_LIMIT
        with fleet.engine.connect() as connection:
            [state] = requests_of(connection, "aa")
        assert (state.attempts, state.again_at) == (ATTEMPTS_LIMIT, None)

    @pytest.mark.slow
    def test_a_collector_that_dies_during_a_request(self, fleet: Fleet):
        first = self.everywhere(fleet)
        let_pass(fleet, 1.1)
        second = claimed(fleet)
        assert second.attempt == 2
        assert second.machine != first.machine
        assert not answer(fleet, first, RequestOutcome.GOT), "too late"
        assert answer(fleet, second, RequestOutcome.ABSENT)
        assert not answer(fleet, second, RequestOutcome.GOT), "it was answered"


def names_of(connection: Connection) -> set[str]:
    """Names of the constraints, indexes and columns of both tables of requests."""
    tables = "('symbol_ask'::text, 'symbol_request', 'reprocessing')"
    return set(
        connection.scalars(
            text(
                "SELECT conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid"
                f" WHERE relname IN {tables}"
                f" UNION ALL SELECT indexname FROM pg_indexes WHERE tablename IN {tables}"
                f" UNION ALL SELECT column_name FROM information_schema.columns WHERE table_name IN {tables}"
            )
        )
    )


@pytest.mark.slow
def test_requests_survive_a_downgrade_to_the_former_names(fleet: Fleet):
    fleet.visit({"aa": (50, 50)})
    with fleet.engine.begin() as connection:
        assert claim_request(connection, per_hour=10) is not None
        before, names = requests_of(connection, "aa"), names_of(connection)
        assert not [name for name in names if "ask" in name]
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0012")
        former = connection.execute(text("SELECT outcome, asked, asked_times FROM symbol_ask")).one()
        assert (former.outcome, len(former.asked_times)) == ("asked", 1)
        assert not [name for name in names_of(connection) if "request" in name]
        command.upgrade(config, "head")
        assert migrate.differences(connection) == []
        assert (requests_of(connection, "aa"), names_of(connection)) == (before, names)
        assert connection.scalars(select(symbol_request.c.machine_ids)).one() == former.asked
