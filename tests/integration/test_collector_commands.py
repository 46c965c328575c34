"""The commands that name machines, set campaigns and visit by hand, on a real PostgreSQL."""

import io
import json
import sys
import threading
import time
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from collector import sweep
from collector.default_campaign import ensure_default_campaign
from services.cli import main
from storage import campaigns, captures, coverage, inventory, quarantine
from storage.archive import Archive
from storage.campaigns import Counted, EventPlan, State
from storage.ingest.decode_capture import NEWEST_FORMAT
from storage.query.shapes.status import read_status
from storage.schema import visit
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.ingestion import Ingester
from tests import fake_gateways
from tests.fake_gateways import serving
from tests.pending_captures import PendingCaptures, a_capture

pytestmark = pytest.mark.integration


@pytest.fixture
def fleetprof(database_url, tmp_path, monkeypatch, capsys):
    """Run a command; its exit code, standard output and standard error."""
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    monkeypatch.setenv("FLEETPROF_STATE_DIR", str(tmp_path))
    monkeypatch.delenv("FLEETPROF_REDIS_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["fleetprof", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


class TestMachines:
    def test_add_list_disable_remove(self, fleetprof, engine):
        assert fleetprof("machines", "list")[1].startswith("The inventory is empty. Add a machine")
        code, out, _ = fleetprof(
            "machines", "add", "web-1", "web-1.example:7071", "--datacenter", "fra", "--label", "rack=r12"
        )
        assert (code, out) == (0, "web-1 is in the inventory. Test it: fleetprof visit web-1 --for 5s\n")
        assert "not described yet" in fleetprof("machines", "list")[1]
        assert fleetprof("machines", "disable", "web-1")[0] == 0
        (machine,) = json.loads(fleetprof("machines", "list", "--json")[1])
        assert machine["labels"] == {"rack": "r12"}
        assert machine["datacenter"] == "fra"
        assert machine["enabled"] is False
        assert fleetprof("machines", "enable", "web-1")[0] == 0
        assert fleetprof("machines", "remove", "web-1")[0] == 0
        with engine.connect() as connection:
            assert inventory.machines(connection, enabled_only=False) == []

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("arguments", "code", "said"),
        [
            (["machines", "add", "a", "nowhere"], 1, "expected host:port"),
            (["machines", "add", "a", "h:1", "--label", "rack"], 2, "expected KEY=VALUE"),
            (["machines", "add", "a", "h:1", "--label", "kernel=6"], 1, "Invalid label"),
            (["machines", "remove", "nobody"], 1, "fleetprof machines list"),
            (["machines", "disable", "nobody"], 1, "fleetprof machines list"),
            (["machines", "import", "/nonexistent.csv"], 2, "/nonexistent.csv"),
        ],
    )
    def test_mistakes_say_what_to_do(self, fleetprof, arguments, code, said):
        ended, _, err = fleetprof(*arguments)
        assert ended == code
        assert said in err
        assert "Traceback" not in err

    def test_twice_needs_replace(self, fleetprof, engine):
        fleetprof("machines", "add", "a", "h:1")
        code, _, err = fleetprof("machines", "add", "a", "h:2")
        assert (code, "already" in err) == (1, True)
        assert fleetprof("machines", "add", "a", "h:2", "--replace")[0] == 0
        with engine.connect() as connection:
            assert inventory.find(connection, "a").address == "h:2"

    def test_import_takes_all_or_nothing(self, fleetprof, engine, tmp_path):
        file = tmp_path / "fleet.csv"
        file.write_text("name,address,rack\na,h:1,r1\nb,nowhere,r1\n")
        code, _, err = fleetprof("machines", "import", str(file))
        assert code == 1
        assert "line 3: Invalid address 'nowhere'" in err
        with engine.connect() as connection:
            assert inventory.machines(connection) == []
        code, out, _ = fleetprof("machines", "import", "-", stdin='[{"name": "a", "address": "h:1"}]')
        assert (code, out) == (0, "1 machine is in the inventory.\n")
        file.write_text("name,address\nb,h:2\na,h:1\n")
        code, _, err = fleetprof("machines", "import", str(file))
        assert (code, "'a'" in err) == (1, True)
        with engine.connect() as connection:
            assert [machine.name for machine in inventory.machines(connection)] == ["a"]


class TestCampaigns:
    def test_a_new_one_is_like_fleet_but_for_what_is_said(self, fleetprof, engine):
        assert "There is no campaign" in fleetprof("campaigns", "list")[1]
        code, out, _ = fleetprof(
            "campaigns", "set", "kernel", "--machines", "kernel=6.18.1", "--every", "5m", "--rate", "999", "--stop-at", "20"
        )  # fmt: skip
        assert code == 0
        assert "Stored kernel; it is running" in out
        with engine.connect() as connection:
            definition = campaigns.get(connection, "kernel").definition
        assert definition.period_s == 300
        assert definition.events[0].rate_hz == 999
        assert definition.events[0].duration_ms == 5000
        assert definition.select_machines == {"kernel": "6.18.1"}
        assert definition.failure_threshold == 0.2
        assert fleetprof("campaigns", "set", "kernel", "--for", "2s", "--all-machines")[0] == 0
        shown = json.loads(fleetprof("campaigns", "show", "kernel", "--json")[1])
        assert shown["events"][0]["duration_ms"] == 2000
        assert shown["period_s"] == 300
        assert shown["select_machines"] == {}
        listed = fleetprof("campaigns", "list")[1]
        assert "cpu 999 Hz for 2s" in listed

    def test_another_pace_of_visits_says_when_it_holds(self, fleetprof, engine):
        assert "full hour" not in fleetprof("campaigns", "set", "fleet", "--visits", "3")[1], (
            "it has never drawn"
        )
        with engine.begin() as connection:
            campaign = campaigns.get(connection, "fleet")
            assert campaigns.begin_round(connection, campaign.campaign_id, 7)
        assert "full hour" not in fleetprof("campaigns", "set", "fleet", "--visits", "6", "--every", "2m")[1]
        assert "from the next full hour on" in fleetprof("campaigns", "set", "fleet", "--visits", "7")[1]

    def test_a_plan_of_several_events(self, fleetprof, engine, tmp_path):
        plan = tmp_path / "plan.json"
        plan.write_text(
            '[{"event": "cpu", "duration_ms": 1000, "rate_hz": 99}, {"event": "faults", "duration_ms": 1, "period": 7}]'
        )
        assert fleetprof("campaigns", "set", "two", "--plan", str(plan))[0] == 0
        assert "faults every 7 for 1ms" in fleetprof("campaigns", "show", "two")[1]
        plan.write_text('[{"event": "cpu", "duration": 1}]')
        code, _, err = fleetprof("campaigns", "set", "two", "--plan", str(plan))
        assert (code, "Invalid plan" in err) == (2, True)
        plan.write_text('[{"event": "cpu", "duration_ms": 1000, "rate_hz": 99, "period": 7}]')
        code, _, err = fleetprof("campaigns", "set", "two", "--plan", str(plan))
        assert (code, "takes one of them" in err) == (1, True)

    def test_events_by_name_and_what_is_counted_besides(self, fleetprof, engine):
        code, _, said = fleetprof(
            "campaigns", "set", "waits", "--event", "context-switches", "--event", "tracepoint:sched:sched_wakeup@13",
            "--in-turn", "--for", "2s", "--counter", "l2-lines-in", "--cgroups", "8",
        )  # fmt: skip
        assert code == 0, said
        with engine.connect() as connection:
            definition = campaigns.get(connection, "waits").definition
        assert definition.events == (
            EventPlan("context-switches", 2000),
            EventPlan("tracepoint:sched:sched_wakeup", 2000, period=13, turn=1),
        )
        assert definition.counted == Counted(("l2-lines-in",), 8)
        assert fleetprof("campaigns", "set", "waits", "--visits", "3")[0] == 0
        with engine.connect() as connection:
            assert campaigns.get(connection, "waits").definition.counted == definition.counted
        shown = fleetprof("campaigns", "show", "waits")[1]
        assert "context-switches for 2s, tracepoint:sched:sched_wakeup every 13 for 2s" in shown
        assert "counts too  l2-lines-in, 8 control groups" in shown

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("options", "why"),
        [
            (["--event", "Faults"], "those look like page-faults"),
            (["--event", "page-faults@99hz"], "does not count time"),
            (["--event", "cpu@often"], "after the @"),
            (["--counter", "tracepoint:sched"], "does not look like tracepoint:sched:sched_switch"),
            (["--flat"], "add --event"),
        ],
    )
    def test_events_that_no_gateway_knows_are_refused(self, fleetprof, engine, options, why):
        code, _, said = fleetprof("campaigns", "set", "odd", *options)
        assert code
        assert why in " ".join(said.replace("│", " ").split())

    def test_stop_and_resume(self, fleetprof, engine):
        fleetprof("campaigns", "set", "fleet")
        assert "is paused" in fleetprof("campaigns", "stop", "fleet", "--why", "maintenance")[1]
        with engine.connect() as connection:
            stopped = campaigns.get(connection, "fleet")
        assert (stopped.state, stopped.state_why) == (State.PAUSED, "maintenance")
        assert "maintenance" in fleetprof("campaigns", "show", "fleet")[1]
        assert "is running" in fleetprof("campaigns", "resume", "fleet")[1]
        assert "was already running" in fleetprof("campaigns", "resume", "fleet")[1]
        assert fleetprof("campaigns", "resume", "nobody")[0] == 1
        assert fleetprof("campaigns", "resume", "by-hand")[0] == 2

    def test_a_length_without_unit_is_refused(self, fleetprof):
        code, _, err = fleetprof("campaigns", "set", "fleet", "--every", "60")
        assert (code, "10s, 2m" in err) == (2, True)


class TestVisit:
    def test_without_a_worker_the_capture_is_kept_and_that_is_said(self, fleetprof, engine, server_directory):
        with serving(server_directory / f"{time.monotonic_ns()}") as gateway:
            fleetprof("machines", "add", "m1", gateway.address)
            code, out, err = fleetprof("visit", "m1", "--for", "50ms", "--wait", "10ms", "--json")
        assert code == 1
        said = json.loads(out)
        assert (said["outcome"], said["ingested"], said["samples"]) == ("answered", False, 7)
        assert "No broker is configured" in err
        (plan,) = gateway.plans
        assert (plan.events[0].duration_ms, plan.events[0].rate_hz, plan.campaign) == (50, 99.0, "by-hand")

    def test_a_machine_that_is_down(self, fleetprof, engine):
        fleetprof("machines", "add", "m1", "unix:/nonexistent/g.sock")
        code, _, err = fleetprof("visit", "m1", "--for", "50ms")
        assert code == 1
        assert "m1: unreachable." in err
        with engine.connect() as connection:
            assert connection.scalar(select(visit.c.outcome)) == "unreachable"

    def test_refusals_and_mistakes(self, fleetprof, engine, server_directory):
        from fleetpb.gateway_pb2 import Refusal

        def refuses(_plan, _context):
            yield fake_gateways.refusal(Refusal.NOT_ALLOWED, "the operator allows 49 Hz")

        with serving(server_directory / f"{time.monotonic_ns()}", refuses) as gateway:
            fleetprof("machines", "add", "m1", gateway.address)
            code, _, err = fleetprof("visit", "m1", "--for", "50ms")
        assert code == 1
        assert "m1: refused. NOT_ALLOWED: the operator allows 49 Hz" in err
        assert fleetprof("visit", "nobody")[0] == 1
        assert fleetprof("visit", "m1", "--for", "10")[0] == 2
        code, _, err = fleetprof("visit", "m1", "--for", "2h")
        assert (code, "the limit of a visit is 600 s" in err) == (1, True)

    @pytest.mark.slow
    def test_ingested_it_prints_the_table_of_that_visit_alone(self, fleetprof, server_directory, worker):
        with serving(server_directory / f"{time.monotonic_ns()}") as gateway:
            fleetprof("machines", "add", "m1", gateway.address)
            assert fleetprof("visit", "m1", "--for", "50ms")[0] == 0
            code, out, err = fleetprof("visit", "m1", "--for", "50ms", "--json")
            assert code == 0, err
            table = json.loads(out)["table"]
            assert (table["totals"]["samples"], table["totals"]["visits"]) == (7, 1)
            code, out, err = fleetprof("visit", "m1", "--for", "50ms")
            assert code == 0, err
            assert "7 samples" in out
            assert "proc" in out


class TestCaptures:
    def test_what_was_quarantined_is_shown_and_tried_again(self, fleetprof, engine, archive):
        assert fleetprof("captures", "list")[:2] == (0, "Every capture is ingested.\n")
        waiting = PendingCaptures(engine, archive)
        bad, newer, waits = (waiting.archive() for _ in range(3))
        with engine.begin() as connection:
            captures.quarantined(connection, bad, "It is damaged.")
            captures.quarantined(connection, newer, "It has format 2.", newer_format=2)
        listed = json.loads(fleetprof("captures", "list", "--quarantined", "--json")[1])
        assert {(one["visit_id"], one["why"], one["newer_format"]) for one in listed} == {
            (str(bad), "It is damaged.", None),
            (str(newer), "It has format 2.", 2),
        }
        assert str(waits) in fleetprof("captures", "list")[1]
        assert str(waits) not in fleetprof("captures", "list", "--quarantined")[1]
        code, out, err = fleetprof("captures", "retry", str(bad), str(waits))
        assert (code, out) == (1, "Retrying 1 capture.\n")
        assert "1 of the given captures were not quarantined" in err
        assert fleetprof("captures", "retry", "--all")[:2] == (0, "Retrying 1 capture.\n")
        assert set(waiting.due()) == {bad, newer, waits}
        assert fleetprof("captures", "list", "--quarantined")[1] == "No capture is quarantined.\n"

    @pytest.mark.parametrize("arguments", [[], ["--all", "b2f1c1de-93a4-4ad4-a1f9-111111111111"]])
    def test_what_to_try_again_is_said_in_one_way(self, fleetprof, arguments):
        assert fleetprof("captures", "retry", *arguments)[0] == 2

    def test_a_newer_program_tries_what_it_can_read(self, engine, archive):
        waiting = PendingCaptures(engine, archive)
        damaged, second, third = (waiting.archive() for _ in range(3))
        with engine.begin() as connection:
            captures.quarantined(connection, damaged, "It is damaged.")
            for visit_id, layout in ((second, 2), (third, 3)):
                captures.quarantined(connection, visit_id, "It is too new.", newer_format=layout)
            assert quarantine.retry_readable(connection, 1) == 0
            assert quarantine.retry_readable(connection, 2) == 1
            assert quarantine.retry_readable(connection, 2) == 0
        assert waiting.due() == [second]


def test_a_worker_of_before_an_upgrade_quarantines_what_the_next_one_ingests(engine, archive, tmp_path):
    waiting = PendingCaptures(engine, archive)
    message = a_capture(uuid4())
    message.format = NEWEST_FORMAT + 1
    visit_id = waiting.archive(message.SerializeToString(), visit_id=UUID(bytes=message.visit_id))
    ingester = Ingester(engine, archive, Resolver(LocalFiles(), tmp_path / "symbols"))
    assert ingester.ingest(visit_id) is None
    assert waiting.row(visit_id).newer_format == NEWEST_FORMAT + 1
    with pytest.MonkeyPatch.context() as upgraded:
        upgraded.setattr("storage.ingest.decode_capture.NEWEST_FORMAT", NEWEST_FORMAT + 1)
        upgraded.setattr("collector.sweep.NEWEST_FORMAT", NEWEST_FORMAT + 1)
        assert sweep.retry_readable(engine) == 1
        assert ingester.ingest(visit_id).outcome == "ingested"


def test_a_campaign_says_that_its_visits_are_thinned(fleetprof, engine):
    with engine.begin() as connection:
        campaign = ensure_default_campaign(connection)
        ids = inventory.stratum_ids(connection, [("", "")], thinning=2)
        coverage.note_populations(
            connection, campaign.campaign_id, {ids["", ""]: 5}, [int(time.time() // 3600)]
        )
        status = read_status(connection)
    assert [one.drawn_share for one in status.campaigns] == [0.25]
    assert "0.25 of its planned visits are drawn" in fleetprof("campaigns", "list")[1]
    assert "0.25 of its planned visits are drawn" in fleetprof("campaigns", "show", "fleet")[1]
    assert json.loads(fleetprof("campaigns", "list", "--json")[1])[0]["drawn_share"] == 0.25


@pytest.fixture
def worker(engine, tmp_path) -> Iterator[None]:
    """Ingests what is due, as the symbolizer's worker does, without a broker."""
    ingester = Ingester(
        engine, Archive(str(tmp_path / "archive")), Resolver(LocalFiles(), tmp_path / "symbols")
    )
    stop = threading.Event()

    def work():
        while not stop.wait(0.05):
            with engine.connect() as connection:
                due = captures.due(connection, limit=10)
            for one in due:
                ingester.ingest(one.visit_id)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join(30)
