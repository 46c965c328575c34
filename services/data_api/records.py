"""Conversion of visits, designs and captures into protobuf records."""

from datetime import UTC, datetime

from fleetpb import data_pb2
from storage.data.capture_stream import RawCapture, Trouble
from storage.data.profile_facts import VisitFacts
from storage.data.stream_query import StreamSelection
from storage.data.stream_weights import DayWeights
from storage.data.visit_page import Seen
from storage.data.visit_rows import VisitRow
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status

_TROUBLE = {
    Trouble.EXPIRED: data_pb2.RECORD_EXPIRED,
    Trouble.MISSING: data_pb2.RECORD_MISSING,
    Trouble.CORRUPT: data_pb2.RECORD_CORRUPT,
    Trouble.TOO_LARGE: data_pb2.RECORD_TOO_LARGE,
}
_KIND = {
    Kind.USER: data_pb2.VisitProfiles.USER,
    Kind.KERNEL: data_pb2.VisitProfiles.KERNEL,
    Kind.MARKER: data_pb2.VisitProfiles.MARKER,
}
_SYMBOLS = {
    Status.UNKNOWN: data_pb2.VisitProfiles.UNKNOWN,
    Status.BINARY_ONLY: data_pb2.VisitProfiles.BINARY_ONLY,
    Status.SYMTAB: data_pb2.VisitProfiles.SYMTAB,
    Status.FULL: data_pb2.VisitProfiles.FULL,
}


def visit_record(asked: StreamSelection, seen: Seen, most_bytes: int) -> data_pb2.ProfileRecord:
    """A visit's profiles; a record of status `TOO_LARGE` without them if it would exceed `most_bytes`."""
    facts, status, detail = seen.facts, data_pb2.RECORD_OK, ""
    if seen.expired:
        status, detail = data_pb2.RECORD_EXPIRED, seen.expired
    elif facts.damage:
        status, detail = data_pb2.RECORD_CORRUPT, facts.damage
    profiles = data_pb2.VisitProfiles(
        status=status,
        detail=detail,
        generation=seen.visit.capture.generation,
        event=asked.kind.event,
        unit=asked.kind.unit,
        gauge=asked.kind.gauge,
        has_stacks=asked.stacks,
        watched_seconds=seen.watched_s,
        weight=seen.weight.weight,
        utilisation_class=seen.weight.utilisation_class,
        group=seen.weight.group,
        design=seen.design,
        strings=[""],
    )
    _describe(profiles.visit, seen.visit, asked.selection.campaign)
    if seen.visit.capture.ingested_at is not None:
        profiles.landed_at.FromDatetime(_utc(seen.visit.capture.ingested_at))
    _fill(profiles, facts)
    record = data_pb2.ProfileRecord(visit=profiles)
    if (size := record.ByteSize()) > most_bytes:
        for column in ("functions", "stacks", "profiles"):
            record.visit.ClearField(column)
        record.visit.strings[:] = [""]
        record.visit.status = data_pb2.RECORD_TOO_LARGE
        record.visit.size = size
        record.visit.detail = f"The record has {size:,} bytes. Set max_record_bytes above that."
    return record


def design_record(weights: DayWeights) -> data_pb2.ProfileRecord:
    """The design that a day's weights were computed from."""
    strata = weights.strata
    visits, watched_s = weights.cells
    covered = float(strata.covered_s[0]) if len(strata.covered_s) else 0.0
    design = data_pb2.DayDesign(
        day=weights.day.isoformat(),
        design=weights.number,
        covered_seconds=covered,
        visits=len(weights.watched),
    )
    for row, stratum in enumerate(strata.stratum.tolist()):
        for klass in range(visits.shape[1]):
            if strata.drawn[row, klass] or visits[row, klass] or klass == 0:
                design.cells.add(
                    stratum=stratum,
                    utilisation_class=klass,
                    population=float(strata.population[row]),
                    drawn=float(strata.drawn[row, klass]),
                    visits=float(visits[row, klass]),
                    watched_seconds=float(watched_s[row, klass]),
                    weight=float(weights.weights.weight[row, klass]),
                    group=int(weights.weights.group[row, klass]),
                )
    return data_pb2.ProfileRecord(design=design)


def capture_record(raw: RawCapture, campaign: str) -> data_pb2.CaptureRecord:
    """A capture, or the reason why it is missing."""
    row = raw.visit.capture
    status = data_pb2.RECORD_OK if raw.trouble is None else _TROUBLE[raw.trouble]
    detail = "" if raw.trouble is None else raw.trouble.value
    if raw.trouble is Trouble.TOO_LARGE:
        detail = f"The capture has {row.size:,} bytes. Set max_record_bytes some kilobytes above that."
    found = data_pb2.VisitCapture(
        status=status,
        detail=detail,
        capture=raw.blob,
        sha256=row.sha256,
        size=row.size,
        raw_bytes=row.raw_size,
        generation=row.generation,
    )
    found.archived_at.FromDatetime(_utc(row.archived_at))
    _describe(found.visit, raw.visit, campaign)
    return data_pb2.CaptureRecord(capture=found)


def _describe(info: data_pb2.VisitInfo, row: VisitRow, campaign: str) -> None:
    info.visit_id = str(row.id)
    info.campaign = campaign
    info.machine = row.machine
    info.day = row.day.isoformat()
    info.drawn_at.FromDatetime(_utc(row.drawn_at))
    info.by_hand = row.by_hand
    info.probability = row.probability
    info.stratum = row.stratum
    info.datacenter, info.platform = row.datacenter, row.platform
    info.thinning = row.thinning
    info.population, info.drawn = row.population, row.drawn
    info.cluster, info.kernel = row.cluster, row.kernel
    info.seconds = row.seconds
    if row.utilisation is not None:
        info.utilisation = row.utilisation


def _fill(profiles: data_pb2.VisitProfiles, facts: VisitFacts) -> None:
    strings: dict[str, int] = {"": 0}

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings))

    # By columns: a record may have thousands of functions, and one call per cell was half of its cost.
    table = profiles.functions
    table.name.extend([number(function.name) for function in facts.functions])
    table.file.extend([number(function.file) for function in facts.functions])
    table.binary.extend([number(function.binary) for function in facts.functions])
    table.kind.extend([_KIND[function.kind] for function in facts.functions])
    table.symbols.extend([_SYMBOLS[function.status] for function in facts.functions])
    profiles.stacks.functions.extend(facts.stack_functions.tolist())
    profiles.stacks.length.extend(facts.stack_length.tolist())
    for profile in facts.profiles:
        profiles.profiles.add(
            segment=profile.segment,
            period=profile.period,
            labels=[number(text) for pair in profile.labels.items() for text in pair],
            stack=profile.stack.tolist(),
            samples=profile.samples.tolist(),
        )
    profiles.strings[:] = strings


def _utc(moment: datetime) -> datetime:
    """The time as protobuf takes it: naive UTC."""
    return moment.astimezone(UTC).replace(tzinfo=None)
