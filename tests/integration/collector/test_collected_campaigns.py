"""GIVEN campaigns that stop, or select machines WHEN a collector runs THEN it calls nobody else."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from collector import schedule_round
from collector.events import CampaignStopped
from collector.schedule import round_at, round_start
from storage import campaigns, inventory
from storage.campaigns import State
from storage.inventory import NewMachine
from tests.fake_gateways import serving
from tests.integration.collector.running_collector import (
    QUICK,
    a_collector,
    campaign_of,
    define,
    eventually,
    running,
)

pytestmark = pytest.mark.integration


@pytest.mark.slow
def test_the_brake_stops_a_campaign_and_resuming_forgets(engine, archive, sockets, sent):
    events = []
    braked = replace(QUICK, failure_threshold=0.5, failure_window=10)
    define(engine, braked, NewMachine("m1", f"unix:{sockets / 'g'}"))
    with running(a_collector(engine, archive, sent.append, watcher=events.append)):
        eventually(lambda: campaign_of(engine).state == State.STOPPED)
        why = campaign_of(engine).state_why
        assert "5 of the last 5 visits failed" in why
        assert "unreachable" in why
        assert "fleetprof campaigns resume fleet" in why
        eventually(lambda: CampaignStopped("fleet", why) in events)
        with serving(sockets / "g"):
            with engine.begin() as connection:
                campaigns.set_state(connection, "fleet", State.RUNNING, "")
            eventually(lambda: sent)
            assert campaign_of(engine).state == State.RUNNING
    assert sum(isinstance(event, CampaignStopped) for event in events) == 1


def test_a_campaign_draws_only_the_machines_it_selects(engine):
    chosen = replace(QUICK, select_machines={"rack": "r1", "datacenter": "fra"})
    define(
        engine,
        chosen,
        NewMachine("right", "h:1", datacenter="fra", labels={"rack": "r1"}),
        NewMachine("rack only", "h:1", labels={"rack": "r1"}),
        NewMachine("datacenter only", "h:1", datacenter="fra"),
        NewMachine("disabled", "h:1", datacenter="fra", labels={"rack": "r1"}),
    )
    with engine.begin() as connection:
        inventory.set_enabled(connection, "disabled", enabled=False)
        fleet = campaigns.get(connection, "fleet")
        now = round_start(round_at(datetime.now(UTC), QUICK.period_s), QUICK.period_s)
        drawn = schedule_round.draw_round(connection, fleet, now, np.random.default_rng(1))
        again = schedule_round.draw_round(connection, fleet, now, np.random.default_rng(1))
    assert drawn is not None
    assert [(one.machine.name, one.visit.population) for one in drawn] == [("right", 1)]
    assert again is None, "the round is drawn already"


def test_a_stopped_campaign_calls_nobody(engine, archive, sockets, sent):
    """Also not the machines of a round that was drawn before."""
    with serving(sockets / "g") as gateway:
        define(engine, replace(QUICK, period_s=3600), NewMachine("m1", gateway.address))
        with engine.begin() as connection:
            begins = round_start(round_at(datetime.now(UTC), 3600), 3600)
            drawn = schedule_round.draw_round(
                connection, campaigns.get(connection, "fleet"), begins, np.random.default_rng(1)
            )
            campaigns.set_state(connection, "fleet", State.PAUSED, "by a test")
        at_once = replace(drawn[0], visit=replace(drawn[0].visit, drawn_at=datetime.now(UTC)))
        from collector import visit_records

        assert "paused" in visit_records.open_visit(engine, at_once, datetime.now(UTC))
