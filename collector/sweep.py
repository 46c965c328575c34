"""The collector's work besides visits: finishes abandoned visits and captures, and manages storage.

Any number of collectors may sweep the same store; everything here may be done twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, auto
from hashlib import sha256
from uuid import UUID

import structlog
from sqlalchemy import Engine

from collector.plan import LONGEST_S, MARGIN_S, TTL_S
from collector.reply import MAX_BLOB_BYTES, MAX_RAW_BYTES
from storage import captures, collector_leases, coverage, partitions, quarantine, visit_history, visits
from storage.archive import Archive, capture_key
from storage.captures import Due, NewCapture
from storage.dictionary_sweep.errors import SweepOvertaken
from storage.dictionary_sweep.seal_stacks import seal_stacks
from storage.dictionary_sweep.sweep import sweep_if_due
from storage.errors import ArchiveUnavailable, BadCapture, BlobMissing, BlobTooLarge, VisitEnded
from storage.ingest.decode_capture import NEWEST_FORMAT, decode_capture
from storage.retention.retain import Keep, retain
from storage.schema import Outcome
from storage.symbols import answers, reprocessing
from storage.symbols.improved_binaries import improved
from storage.work_partitions import partition_of

MAX_START_DELAY_S = 60.0
"""A visit is called off if it cannot start within this time after the moment it was drawn for."""
LOST_AFTER = timedelta(seconds=MAX_START_DELAY_S + TTL_S + LONGEST_S + MARGIN_S + 300)
"""Age at which open visits are lost that no lease covers (visits on request), or that a running collector failed to
record: the longest possible visit, and five minutes."""
ADOPT_AFTER = timedelta(seconds=30)
"""Age of visits whose captures are adopted: a running collector has written the row long before."""
PARTITIONS_AHEAD = 3
"""Days of partitions that exist ahead of today."""
_BATCH = 1000

_log = structlog.get_logger("collector")


def send_due(engine: Engine, dispatch: Callable[[list[Due]], int]) -> int:
    """Send tasks again for captures that wait to be ingested; the number sent."""
    with engine.connect() as connection:
        waiting = captures.due(connection, limit=_BATCH)
    return dispatch(waiting)


def reprocess_improved(engine: Engine) -> int:
    """Queue more captures with improved binaries for reprocessing, as fast as workers finish them; their number."""
    with engine.begin() as connection:
        return len(reprocessing.feed(connection))


def announce_improved(engine: Engine, announce: Callable[[list[str]], int]) -> int:
    """Send tasks for binaries whose better symbols have not been used yet; the number sent."""
    with engine.connect() as connection:
        keys = improved(connection, limit=_BATCH)
    return announce(keys)


def withdraw_symbols(engine: Engine, since: datetime | None) -> datetime:
    """Withdraw symbols that a single machine sent once another machine runs the binary; the next call's `since`."""
    with engine.begin() as connection:
        withdrawn, until = answers.withdraw(connection, since)
    for one in withdrawn:
        _log.info(
            "symbols of a single machine withdrawn",
            key=one.binary_key,
            machine=one.machine,
            also_runs_on=one.other,
        )
    return until


def retry_readable(engine: Engine) -> int:
    """Retry captures that an older program quarantined because it could not read their format; their number."""
    with engine.begin() as connection:
        return quarantine.retry_readable(connection, NEWEST_FORMAT)


def adopt(engine: Engine, archive: Archive, *, before: datetime, now: datetime) -> list[UUID]:
    """Finish visits whose collector died after it archived the capture and before it recorded it.

    Checks open visits drawn for a moment before `before`. Those with a capture in the archive get its row
    and are returned.
    """
    with engine.connect() as connection:
        open_visits = visit_history.unfinished(connection, before, limit=_BATCH)
    return [
        visit_id
        for visit_id, day in open_visits
        if _adopted(engine, archive, visit_id, day, now) is _Known.ADOPTED
    ]


def end_orphans(
    engine: Engine, archive: Archive, judge: UUID, length: timedelta, *, now: datetime
) -> tuple[list[UUID], int]:
    """End the open visits of collectors with expired leases: the adopted visits, and the number of lost ones.

    A visit whose capture is in the archive is adopted. While the archive is unavailable, visits stay open that may
    have one. `judge` and `length` are the lease of this collector. The covered time of their rounds ends with the
    last renewal of their collector.
    """
    adopted: list[UUID] = []
    lost, seen = 0, list[UUID]()
    while True:
        with engine.connect() as connection:
            found = collector_leases.orphans(connection, judge, length, limit=_BATCH, beyond=seen)
        gone = []
        for orphan in found:
            known = (
                _Known.NO if orphan.in_future else _adopted(engine, archive, orphan.visit_id, orphan.day, now)
            )
            if known is _Known.ADOPTED:
                adopted.append(orphan.visit_id)
            elif known is _Known.NO:
                gone.append(orphan)
        seen += [orphan.visit_id for orphan in found]
        with engine.begin() as connection:
            lost += visits.lose(connection, [orphan.visit_id for orphan in gone])
            for campaign_id in {orphan.campaign_id for orphan in gone if orphan.in_future}:
                signs = [orphan.last_sign or now for orphan in gone if orphan.campaign_id == campaign_id]
                coverage.end_time(connection, campaign_id, max(signs))
            if len(found) < _BATCH:
                collector_leases.forget(connection)
                return adopted, lost


def give_up(engine: Engine, *, now: datetime) -> int:
    """End as lost the open visits that are too old for any collector to be working on them; their number."""
    with engine.begin() as connection:
        return visits.abandon(connection, now - LOST_AFTER)


def clear_orphans(engine: Engine, archive: Archive) -> int:
    """Delete blobs that belong to no capture; the number deleted."""
    with engine.begin() as connection:
        swept = captures.sweep_orphans(connection, archive)
    if swept.unknown:
        _log.warning("the archive contains captures that are not in this database", captures=swept.unknown)
    return len(swept.deleted)


def create_partitions(engine: Engine, today: date) -> None:
    """Create the partitions of the days around `today`: yesterday's visits are still ingested."""
    with engine.begin() as connection:
        partitions.ensure(connection, [today + timedelta(days=n) for n in range(-1, PARTITIONS_AHEAD + 1)])


def drop_old(engine: Engine, archive: Archive, today: date, keep: Keep, stopping: Callable[[], bool]) -> None:
    """Drop data that is older than `keep` allows, and log it."""
    done = retain(engine, archive, today, keep, stopping=stopping)
    for old in done.dropped:
        _log.info("day dropped", day=old.day.isoformat())
        if old.waiting:
            _log.error(
                "a day was dropped before all its visits were merged into cells",
                day=old.day.isoformat(),
                missing=old.waiting,
            )
    if done.kept_back is not None:
        _log.warning(
            "a day past its retention time stays until it is merged into cells",
            day=done.kept_back.day.isoformat(),
            waiting=done.kept_back.waiting,
        )
    if done.busy:
        _log.warning("facts past their retention time stay: other queries read facts without a pause")
    if done.raw.captures:
        _log.info("raw captures deleted", captures=done.raw.captures, never_ingested=done.raw.never_ingested)
    if done.cells or done.visits:
        _log.info(
            "history dropped", before=done.cells_horizon.isoformat(), cells=done.cells, visits=done.visits
        )
    if done.symbols.debug_files or done.symbols.caches or done.symbols.sources or done.symbols.blobs:
        _log.info(
            "old symbols deleted",
            debug_files=done.symbols.debug_files,
            caches=done.symbols.caches,
            sources=done.symbols.sources,
            blobs=done.symbols.blobs,
        )


def free_dictionaries(engine: Engine, now: datetime, stopping: Callable[[], bool]) -> None:
    """Seal stacks when many are new; delete unused dictionary rows once a week; log both."""
    if sealed := seal_stacks(engine, stopping=stopping):
        _log.info("stacks sealed", stacks=sealed)
    try:
        swept = sweep_if_due(engine, now, stopping=stopping)
    except SweepOvertaken as error:
        _log.info("another process sweeps the dictionaries", why=str(error))
        return
    if swept is not None:
        _log.info(
            "dictionaries swept", facts=swept.facts, seconds=round(swept.scan_s, 1), freed=dict(swept.freed)
        )
        if swept.corrupt:
            _log.error("cannot decode stored facts", blobs=swept.corrupt)


class _Known(Enum):
    """Result of looking for an open visit's capture in the archive."""

    ADOPTED = auto()
    """The capture was found, and its row is written."""
    NO = auto()
    """There is no capture that can be ingested."""
    UNDECIDED = auto()
    """The archive is unavailable, or another collector has ended the visit."""


@dataclass(frozen=True, slots=True)
class _Found:
    capture: NewCapture
    seconds: float
    utilisation: float | None


def _adopted(engine: Engine, archive: Archive, visit_id: UUID, day: date, now: datetime) -> _Known:
    try:
        found = _in_archive(archive, visit_id, day)
        with engine.begin() as connection:
            ended = captures.record(connection, found.capture) and visits.finish(
                connection,
                visit_id,
                outcome=Outcome.ANSWERED,
                detail="The capture was found in the archive after its collector had ended.",
                ended_at=now,
                seconds=found.seconds,
                utilisation=found.utilisation,
            )
    except BlobMissing:
        return _Known.NO
    except (ArchiveUnavailable, BadCapture, BlobTooLarge, VisitEnded) as error:
        _log.info("a capture was not adopted", visit_id=str(visit_id), why=str(error))
        return _Known.NO if isinstance(error, BadCapture | BlobTooLarge) else _Known.UNDECIDED
    return _Known.ADOPTED if ended else _Known.UNDECIDED


def _in_archive(archive: Archive, visit_id: UUID, day: date) -> _Found:
    key = capture_key(day, visit_id)
    blob = archive.get(key, limit=MAX_BLOB_BYTES)
    capture = decode_capture(blob, max_raw_bytes=MAX_RAW_BYTES)
    return _Found(
        NewCapture(
            visit_id=visit_id,
            day=day,
            blob=key,
            bytes=len(blob),
            raw_bytes=capture.ByteSize(),
            sha256=sha256(blob).digest(),
            samples=sum(segment.samples for segment in capture.segments),
            partition=partition_of(capture),
        ),
        seconds=max((segment.duration_ns for segment in capture.segments), default=0) / 1e9,
        utilisation=capture.system.utilisation if capture.HasField("system") else None,
    )
