"""GIVEN a simulated fleet WHEN the real collector, symbolizer and store meet it THEN they find what the model says."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest

from collector.inventory_file import read_inventory
from collector.machine_description import describe
from collector.plan import plan_message
from collector.visit import Visitor, VisitResult
from simulation import machine_facts
from simulation.binaries import SymbolFolder
from simulation.fleet import Fleet, slot_of
from simulation.fleet_plan import FleetPlan, inventory
from simulation.gateways import Simulation, serve
from simulation.outcomes import NEVER, Failures, Fate, fate
from simulation.socket_paths import socket_of
from storage.campaigns import EventPlan
from storage.ingest.decode_capture import decode_capture
from storage.schema import Outcome

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]

AT = 1_763_380_800.0
FLEET = Fleet(20, seed=7)
LARGER = Fleet(80, seed=7)
CPU = (EventPlan("cpu", 1000, rate_hz=99.0),)
PATIENCE_S = 60.0
SHORT_S = 6.0
"""For visits that shall end by silence; long enough to connect on a busy machine."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder PostgreSQL's own user can enter too, with a path short enough for sockets."""
    made = Path(tempfile.mkdtemp(prefix="fpsim-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def visits(
    folder: Path,
    failures: Failures,
    wanted: list[tuple[int, UUID]],
    *,
    events: tuple[EventPlan, ...] = CPU,
    patience: Callable[[int], float] = lambda _number: PATIENCE_S,
    fleet: Fleet = FLEET,
) -> list[VisitResult]:
    """Visit machines of a fleet that is served here; `patience` is for a visit by its place in `wanted`."""

    async def main() -> list[VisitResult]:
        stop, ready = asyncio.Event(), asyncio.Event()
        simulation = Simulation(fleet, SymbolFolder(folder / "symbols"), failures, clock=lambda: AT)
        addresses = [socket_of(folder, machine) for machine in range(fleet.size)]
        served = asyncio.create_task(serve(simulation, range(fleet.size), addresses, stop, ready.set))
        await ready.wait()

        async def one(number: int, machine: int, visit: UUID) -> VisitResult:
            seconds = patience(number)
            plan = plan_message(visit, events, campaign="fleet")
            return await Visitor(first_reply_s=seconds).visit(addresses[machine], plan, deadline_s=seconds)

        try:
            return await asyncio.gather(*(one(number, *visit) for number, visit in enumerate(wanted)))
        finally:
            stop.set()
            await served

    return asyncio.run(main())


def test_visits_end_as_the_model_says(folder):
    failures = Failures(away=0.15, garbage=0.25, silent=0.05, busiest=1.0)
    utilisation = LARGER.at(slot_of(AT)).utilisation
    wanted = [(machine, uuid4()) for machine in range(LARGER.size)]
    fates = [
        fate(
            LARGER, failures, machine, visit.bytes, slot=slot_of(AT), utilisation=float(utilisation[machine])
        )
        for machine, visit in wanted
    ]
    silent = {number for number, way in enumerate(fates) if way in {Fate.SILENT, Fate.HANGS}}
    found = visits(
        folder,
        failures,
        wanted,
        patience=lambda number: SHORT_S if number in silent else PATIENCE_S,
        fleet=LARGER,
    )
    assert [visited.outcome for visited in found] == [way.outcome for way in fates]
    assert len(set(fates)) > 4
    for (machine, _), way, visited in zip(wanted, fates, found, strict=True):
        if way in {Fate.REFUSES, Fate.BREAKS, Fate.HANGS}:
            assert visited.utilisation == pytest.approx(utilisation[machine]), (
                "a failed visit informs the estimate"
            )
        assert (visited.received is not None) == (way is Fate.ANSWERS)


def test_every_machine_brings_a_capture_of_itself(folder):
    found = visits(folder, NEVER, [(machine, uuid4()) for machine in range(FLEET.size)])
    for machine, visited in enumerate(found):
        assert visited.outcome is Outcome.ANSWERED, visited.detail
        assert visited.received is not None
        capture = decode_capture(visited.received.blob)
        assert capture.machine == machine_facts.describe(FLEET, machine)
        assert visited.seconds == 1.0
        assert visited.utilisation == capture.system.utilisation
    shares = [visited.utilisation for visited in found if visited.utilisation is not None]
    assert np.corrcoef(shares, FLEET.at(slot_of(AT)).utilisation)[0, 1] > 0.8


def test_a_visit_is_served_once(folder):
    visit = uuid4()
    first, second = visits(folder, NEVER, [(4, visit), (4, visit)])
    assert {first.outcome, second.outcome} == {Outcome.ANSWERED, Outcome.REFUSED}
    assert "REPEATED" in (first.detail or second.detail)


def test_plans_are_refused_as_a_gateway_refuses_them(folder):
    virtual = next(m for m in range(FLEET.size) if not machine_facts.has_counters(FLEET, m))
    (found,) = visits(folder, NEVER, [(virtual, uuid4())], events=(EventPlan("cycles", 500, rate_hz=99.0),))
    assert found.outcome is Outcome.REFUSED
    assert "UNSUPPORTED" in found.detail


def test_a_long_window_is_believed(folder):
    (found,) = visits(folder, NEVER, [(3, uuid4())], events=(EventPlan("cpu", 1500, rate_hz=99.0),))
    assert (found.outcome, found.seconds) == (Outcome.ANSWERED, 1.5)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "services", *arguments]


def environment(folder: Path, **more: str) -> dict[str, str]:
    bare = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    return bare | {"FLEETPROF_STATE_DIR": str(folder)} | more


def test_the_command_serves_and_says_who_and_what_is_true(folder):
    with subprocess.Popen(
        command("simulate", "--machines", "24", "--inventory", "-", "--truth", str(folder / "truth.json")),
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline() for _ in range(25)]
        assert "24 simulated machines listen" in process.stderr.readline()
        machines = read_inventory("".join(lines))
        told = [asyncio.run(describe(machine.address)).hostname for machine in machines]
        assert told == [machine.name for machine in machines]
        process.terminate()
        assert process.wait(60) == 0
    found = json.loads((folder / "truth.json").read_text())
    assert found["machines"] == 24
    assert sum(row["self_share"] for row in found["functions"]) == pytest.approx(1.0)
    assert sum(found["applications"].values()) == pytest.approx(found["units"])
    assert found["core_seconds"] == pytest.approx(found["cores"] * (found["to"] - found["from"]))
    assert not list((folder / "simulated" / "run" / "fleet").glob("*.ready"))


def test_numbers_that_make_no_fleet_are_refused_in_one_sentence(folder):
    ended = subprocess.run(
        command("simulate", "--machines", "4"),
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert ended.stderr.splitlines() == ["fleetprof: 4 machines are too few for 8 strata."]


def test_up_shows_a_fleet_and_leaves_the_environments_database_alone(folder):
    done = subprocess.run(
        command("up", "--simulate", "60", "--for", "15s", "--rows", "12", "--port", "0"),
        env=environment(folder, DATABASE_URL="postgresql://unused@/nowhere?host=/nonexistent"),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all data is simulated" in done.stdout.replace("\n", " ")
    assert re.search(r"100\.0 % symbolized · 100\.0 % of stacks complete", done.stdout), done.stdout
    assert "memcpy" in done.stdout
    assert [entry.name for entry in folder.iterdir()] == ["simulated"]
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert [line for line in running.splitlines() if str(folder) in line] == []


def test_the_plan_is_the_inventory(folder):
    machines = inventory(FleetPlan(30, sockets=folder / "s", symbols=folder / "b"))
    assert len({machine.address for machine in machines}) == len({machine.name for machine in machines}) == 30
    assert {machine.cluster for machine in machines} == {"simulated"}
