"""A simulated fleet whose machines all run `checkout`, during the roll-out of a release with a planted regression."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from simulation.catalogue import APPLICATIONS
from simulation.fleet import Fleet
from simulation.fleet_plan import FleetPlan
from simulation.stack_table import stack_table
from storage.archive import Archive
from storage.campaigns import Counted, EventPlan
from storage.query.selections.selection import Selection
from tests.simulated_past import ingest_past

MACHINES, SEED, VISITS = 40, 7, 240
BEGIN = datetime(2026, 11, 20, 18, tzinfo=UTC)
ROLL_OUT = BEGIN + timedelta(hours=6)
"""From here on r10389, an odd release, replaces r10388 on one machine after the other."""
END = ROLL_OUT + timedelta(hours=16)
WHOLE = Selection(BEGIN, END)
NOW, BASE = Selection(ROLL_OUT, END), Selection(BEGIN, ROLL_OUT)
APPLICATION, NEWEST, PREVIOUS = "checkout", "r10389", "r10388"
_NUMBERS = {one.name: number for number, one in enumerate(APPLICATIONS)}


def fleet() -> Fleet:
    """The model: `checkout` and `edge-proxy`, whose releases never change anything, on every machine."""
    made = Fleet(MACHINES, seed=SEED, strata=2, smt=False)
    made.base[:, :] = 0.0
    for name, part in ((APPLICATION, 0.2), ("edge-proxy", 0.1)):
        made.base[:, _NUMBERS[name]] = part * made.cpus
    return made


def slower() -> str:
    """The function that every odd release of `checkout` makes slower."""
    table = stack_table(APPLICATIONS[_NUMBERS[APPLICATION]], SEED)
    return table.functions[table.regressed_function].symbol


def ingest(engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Visit the fleet and ingest every capture."""
    plan = FleetPlan(MACHINES, folder / "s", folder / "b", seed=SEED, strata=2, failures=False)
    archive = Archive(f"file://{folder / 'archive'}")
    ingest_past(
        engine, archive, monkeypatch, plan, fleet(),
        events=(EventPlan("cpu", 1000, rate_hz=99.0),), counted=Counted(), over=WHOLE, visits=VISITS, ids=5,
    )  # fmt: skip
