"""Visits that are requested over the API: taken by one collector, which makes them like those of rounds."""

from dataclasses import replace
from datetime import timedelta

import structlog
from sqlalchemy import Engine

from collector import visit_records
from collector.default_campaign import ensure_by_hand
from collector.lease import Lease
from collector.schedule_round import ScheduledVisit
from collector.sweep import MAX_START_DELAY_S
from storage import inventory, visit_requests
from storage.errors import UnknownMachine
from storage.visit_requests import RequestedVisit

_log = structlog.get_logger("collector")


def claim(engine: Engine, lease: Lease) -> list[ScheduledVisit]:
    """Take the waiting requests, to be made at once.

    Requests that waited longer than a visit may, and those of machines that were removed meanwhile, end as lost.
    """
    with engine.connect() as connection:
        if not visit_requests.waits(connection):
            return []
    lease.renew()  # it may have run out while the database was away: other collectors must not end these visits
    scheduled, refused = [], list[tuple[RequestedVisit, str]]()
    with engine.begin() as connection:
        campaign = ensure_by_hand(connection)
        longest_wait = timedelta(seconds=MAX_START_DELAY_S)
        for request in visit_requests.claim(connection, lease.collector_id, longest_wait):
            if request.late:
                why = f"No collector took the request within {MAX_START_DELAY_S:.0f} s."
                refused.append((request, why))
                continue
            try:
                machine = inventory.find(connection, request.machine)
            except UnknownMachine:
                refused.append((request, "The machine was removed from the inventory after the request."))
                continue
            plan = replace(campaign, definition=replace(campaign.definition, events=request.events))
            scheduled.append(ScheduledVisit(request.visit, machine, plan))
    for request, why in refused:
        visit_records.call_off(engine, [request.visit], why)
        _log.warning("requested visit not made", machine=request.machine, why=why)
    for one in scheduled:
        _log.info("requested visit taken", machine=one.machine.name, visit_id=str(one.visit_id))
    return scheduled
