"""Changes campaigns and requests visits; every change is logged with its caller."""

from typing import Final

import structlog
from sqlalchemy import Connection, Engine, func, select

from collector import schedule_round
from collector.default_campaign import ensure_by_hand
from collector.event_names import COUNTS_TIME
from collector.plan import checked
from services.fleet.answers import ChangedCampaign, RequestedVisit
from services.fleet.campaign_changes import (
    CampaignChanges,
    changed,
    check_resumable,
    definition_of,
    differences,
    note_on_pace,
)
from services.fleet.errors import CollectorAway, VisitRefused
from storage import campaigns, collector_leases, inventory, visit_requests
from storage.campaigns import EventPlan, State
from storage.query.selections.times import format_time
from storage.query.shapes.campaigns import read_campaigns
from storage.query.shapes.named_machine import find_machine

MOST_REQUESTED: Final = 20
"""Requested visits that have not ended, at a time: others would wait for a slot of the collector, and be too late."""

_log = structlog.get_logger("fleetprof.fleet")


class FleetService:
    """The campaigns and machines of one database. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        """The caller keeps ownership of the engine."""
        self._engine = engine

    def change(self, name: str, changes: CampaignChanges, *, by: str) -> ChangedCampaign:
        """Change a campaign, or create one; `by` is for the log.

        Raises `BadCampaign`, `DrawsNothing`, `BadPlan`, `DatabaseError`.
        """
        with self._engine.begin() as connection:
            before, existing = definition_of(connection, name)
            after = changed(before, changes)
            stored = campaigns.create_or_update(connection, after)
            answer = ChangedCampaign(
                created=existing is None,
                changed=existing is None or after != before,
                note=note_on_pace(before, stored),
                campaign=read_campaigns(connection, [stored])[0],
            )
        _log.info(
            "campaign changed",
            campaign=name,
            by=by,
            created=answer.created,
            changes=differences(before, after),
        )
        return answer

    def stop(self, name: str, why: str, *, by: str) -> ChangedCampaign:
        """Pause a campaign, and cancel its visits that have not begun. Raises `UnknownCampaign`, `DatabaseError`."""
        return self._set_state(name, State.PAUSED, why, by)

    def resume(self, name: str, *, by: str) -> ChangedCampaign:
        """Run a campaign again. Raises `DrawsNothing`, `UnknownCampaign`, `DatabaseError`."""
        check_resumable(name)
        return self._set_state(name, State.RUNNING, "", by)

    def request_visit(
        self, machine: str, *, event: str, duration_s: float, rate_hz: float, period: int, by: str
    ) -> RequestedVisit:
        """Have a collector visit this machine now; the visit counts in no result of the fleet.

        `rate_hz` applies to events that are sampled by time, unless `period` is positive. Raises `BadPlan`,
        `UnknownMachine`, `VisitRefused`, `CollectorAway`, `DatabaseError`.
        """
        by_time = event in COUNTS_TIME and not period
        plan = EventPlan(event, round(duration_s * 1000), rate_hz if by_time else 0.0, period)
        events = checked([plan])
        with self._engine.begin() as connection:
            visit_requests.lock(connection)
            self._check(connection, machine)
            now = connection.execute(select(func.clock_timestamp())).scalar_one()
            campaign = ensure_by_hand(connection)
            found = inventory.find(connection, machine)
            scheduled = schedule_round.by_hand(connection, campaign, found, now)
            visit_requests.add(connection, scheduled.visit_id, events, by)
        visit_id = str(scheduled.visit_id)
        _log.info(
            "visit requested", machine=machine, by=by, visit_id=visit_id, samples=event, seconds=duration_s
        )
        return RequestedVisit(
            visit_id=visit_id,
            machine=machine,
            campaign=campaign.name,
            planned_at=format_time(now),
            event=event,
            duration_s=plan.duration_ms / 1000,
            progress=f"/api/v1/visits?visit_id={visit_id}",
        )

    def _check(self, connection: Connection, machine: str) -> None:
        machine_id = find_machine(connection, machine)
        if not inventory.find(connection, machine).enabled:
            raise VisitRefused(
                f"Machine {machine} is disabled: its operator does not want it to be visited.",
                hint=f"Enable it first: fleetprof machines enable {machine}",
            )
        if not collector_leases.running(connection):
            raise CollectorAway("No collector runs, so nothing would make the visit.")
        unfinished = visit_requests.unfinished(connection)
        for visit_id, of_machine in unfinished.items():
            if of_machine == machine_id:
                raise VisitRefused(
                    f"The requested visit {visit_id} of {machine} has not ended.", hint="Wait for its end."
                )
        if len(unfinished) >= MOST_REQUESTED:
            raise VisitRefused(
                f"{len(unfinished)} requested visits have not ended; the limit is {MOST_REQUESTED}.",
                hint="Wait for the end of one of them.",
            )

    def _set_state(self, name: str, state: State, why: str, by: str) -> ChangedCampaign:
        with self._engine.begin() as connection:
            is_new = campaigns.set_state(connection, name, state, why)
            found = campaigns.get(connection, name)
            answer = ChangedCampaign(
                created=False,
                changed=is_new,
                note="" if is_new else f"{name} was {found.state} already.",
                campaign=read_campaigns(connection, [found])[0],
            )
        _log.info("campaign's state set", campaign=name, by=by, state=state.value, why=why, changed=is_new)
        return answer
