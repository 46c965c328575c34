"""Answers of machines: what they are worth together, how long they are kept, and what an upgrade makes of earlier ones."""

from datetime import timedelta

import pytest
from alembic import command
from sqlalchemy import Engine, func, select, text, update

from storage import migrate
from storage.archive import Archive
from storage.schema import machine, symbol_answer
from storage.symbols import requests
from storage.symbols.answers import Answer, Standing, Verdict, held_elsewhere, ran, weigh
from storage.symbols.requests import RequestOutcome, claim_request, note_answer
from storage.symbols.symbol_retention import retain_symbols
from tests.binary_fleet import NAMELESS, Fleet

pytestmark = pytest.mark.integration


@pytest.fixture
def fleet(engine: Engine) -> Fleet:
    found = Fleet(engine)
    for number in range(3):
        found.visit({"aa": NAMELESS}, machine=number)
    return found


def said(fleet: Fleet, number: int, digest: bytes, key: str = "aa", **parts: bytes) -> Verdict:
    with fleet.engine.begin() as connection:
        return weigh(connection, Answer(key, fleet.machines[number], digest, parts))


def test_two_machines_that_give_the_same_agree(fleet: Fleet):
    assert said(fleet, 0, b"x").standing is Standing.UNCONFIRMED
    assert said(fleet, 0, b"x").standing is Standing.UNCONFIRMED, "it is the same machine"
    assert said(fleet, 1, b"x") == Verdict(Standing.AGREED, ("m0",), {})
    assert said(fleet, 2, b"y") == Verdict(Standing.DISPUTED, ("m0", "m1"), {})


def test_what_a_machine_gave_before_does_not_count(fleet: Fleet):
    said(fleet, 0, b"x")
    said(fleet, 0, b"y")
    assert said(fleet, 1, b"y").standing is Standing.AGREED


def test_machines_that_left_the_inventory_do_not_count(fleet: Fleet):
    said(fleet, 0, b"x")
    with fleet.engine.begin() as connection:
        gone = machine.c.machine_id == fleet.machines[0]
        connection.execute(update(machine).where(gone).values(removed_at=func.now()))
    assert said(fleet, 1, b"x").standing is Standing.UNCONFIRMED


def test_whoever_runs_it_alone_needs_no_other(fleet: Fleet):
    fleet.visit({"own": NAMELESS}, machine=1)
    assert said(fleet, 1, b"x", key="own").standing is Standing.ALONE
    fleet.visit({"own": NAMELESS}, machine=2)
    assert said(fleet, 1, b"x", key="own").standing is Standing.UNCONFIRMED
    with fleet.engine.connect() as connection:
        assert ran(connection, fleet.machines[1], "own")
        assert not ran(connection, fleet.machines[0], "own")


def test_binaries_that_other_machines_run_are_told_from_those_of_one(fleet: Fleet):
    fleet.visit({"own": NAMELESS}, machine=1)
    with fleet.engine.connect() as connection:
        own, other = fleet.machines[1], fleet.machines[0]
        assert held_elsewhere(connection, own, ["aa", "own", "unknown"]) == {"aa"}
        assert held_elsewhere(connection, other, ["aa", "own"]) == {"aa", "own"}
        assert held_elsewhere(connection, own, []) == frozenset()


def test_parts_are_weighed_by_themselves(fleet: Fleet):
    said(fleet, 0, b"k", ext4=b"1", dm=b"1", zfs=b"1")
    assert said(fleet, 1, b"k", ext4=b"1", dm=b"2", xfs=b"1").parts == {
        "ext4": Standing.AGREED,
        "dm": Standing.DISPUTED,
        "xfs": Standing.UNCONFIRMED,
    }


def test_answers_are_kept_as_long_as_asks(fleet: Fleet, archive: Archive):
    said(fleet, 0, b"x")
    said(fleet, 1, b"x")
    with fleet.engine.begin() as connection:
        old = symbol_answer.c.machine_id == fleet.machines[0]
        age = func.now() - timedelta(days=91)
        connection.execute(update(symbol_answer).where(old).values(answered_at=age))
    assert retain_symbols(fleet.engine, archive, 90, fetched_bytes=1 << 30).notes == 1
    with fleet.engine.connect() as connection:
        assert connection.scalars(select(symbol_answer.c.machine_id)).all() == [fleet.machines[1]]


@pytest.mark.slow
def test_an_upgrade_keeps_earlier_files_and_requests(fleet: Fleet):
    with fleet.engine.begin() as connection:
        request = claim_request(connection, per_hour=10)
        assert request is not None
        note_answer(connection, request, RequestOutcome.GOT)
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0005")
        connection.execute(
            text(
                "INSERT INTO debug_file (binary_key, kind, quality, sha256, bytes, raw_bytes, origin)"
                " VALUES ('aa', 'symbols', 2, 'x', 1, 1, 'gateway')"
            )
        )
        command.upgrade(config, "head")
        assert migrate.differences(connection) == []
        file = connection.execute(text("SELECT origin, machine_id, rejected FROM debug_file")).one()
        assert tuple(file) == ("gateway", None, None), "it is used as before"
        [state] = requests.requests_of(connection, "aa")
        assert (state.outcome, state.machine, state.attempts) == (RequestOutcome.GOT, request.machine, 1)
        row = connection.execute(text("SELECT requested_at, requested_times FROM symbol_request")).one()
        assert row.requested_times == [row.requested_at]
        assert claim_request(connection, per_hour=1) is None, "the earlier request counts"
