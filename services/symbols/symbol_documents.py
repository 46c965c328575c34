"""Rows of the repository of symbols as JSON documents; `services.api.symbol_models` describes them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from services.symbols.highlight_child import CLASSES
from services.symbols.highlighting import Highlighted
from services.symbols.symbol_service import SymbolService, Uploaded
from storage.query.answers.figures import Interval
from storage.query.selections.times import format_time
from storage.symbols.absences import Absence
from storage.symbols.caches import BuildState
from storage.symbols.candidates import DebugFile
from storage.symbols.kinds import NAMING, Quality
from storage.symbols.missing_symbols import BinarySymbols, SymbolsPage
from storage.symbols.reprocessing import Reprocessing
from storage.symbols.requests import RequestState
from symbolizer.source_text.text import SourceText

Json = dict[str, Any]


def terms(service: SymbolService, *, allowed: bool) -> Json:
    """The limits on uploads, and whether the caller may upload."""
    return {"allowed": allowed, "largest_bytes": service.largest_bytes}


def file(row: DebugFile) -> Json:
    """A stored file."""
    return {
        "key": row.binary_key,
        "sha256": row.sha256.hex(),
        "kind": row.kind.value,
        "variant": row.variant,
        "quality": row.quality.name.lower(),
        "name": row.name,
        "bytes": row.raw_bytes,
        "stored_bytes": row.bytes,
        "origin": row.origin,
        "uploaded_by": row.uploaded_by,
        "added_at": format_time(row.added_at),
        "used_at": _time(row.used_at),
        "rejected": row.rejected,
    }


def known(service: SymbolService, files: Iterable[DebugFile], *, allowed: bool) -> Json:
    """The answer of /debug-files."""
    return {"files": [file(row) for row in files], "upload": terms(service, allowed=allowed)}


def reprocessing(row: Reprocessing) -> Json:
    """A reprocessing and its progress."""
    return {
        "id": row.reprocessing_id,
        "key": row.binary_key,
        "why": row.why,
        "requested_at": format_time(row.requested_at),
        "finished_at": _time(row.finished_at),
        "renamed": row.renamed,
        "captures": row.captures,
        "ingested": row.ingested,
        "failed": row.failed,
        "left": row.left,
    }


def reprocessings(rows: Iterable[Reprocessing]) -> Json:
    """The answer of /reprocessings."""
    return {"reprocessings": [reprocessing(row) for row in rows]}


def uploaded(done: Uploaded) -> Json:
    """The answer to an upload."""
    added, found = done.added, done.inspection
    return {
        "outcome": added.outcome,
        "file": file(added.file),
        "best": added.best,
        "replaced": added.replaced and file(added.replaced),
        "machine": found.machine,
        "functions": found.functions,
        "producer": found.producer,
        "notes": _notes(done),
        "seen": done.is_seen,
        "unnamed": done.unnamed,
        "reprocessing_before": done.reprocessing_before,
    }


def listing(service: SymbolService, page: SymbolsPage, *, allowed: bool) -> Json:
    """The answer of /symbols."""
    return {
        "from": format_time(page.start),
        "to": format_time(page.end),
        "binaries": [_binary(row) for row in page.rows],
        "total": page.total,
        "upload": terms(service, allowed=allowed),
    }


def details(
    service: SymbolService, row: BinarySymbols, absences: Iterable[Absence], *, allowed: bool
) -> Json:
    """The answer of /symbols/KEY."""
    return {
        "binary": _binary(row),
        "files": [file(one) for one in row.files],
        "caches": [_cache(one) for one in row.builds],
        "absences": [_absence(one) for one in absences],
        "requests": [_request(one) for one in row.requests],
        "upload": terms(service, allowed=allowed),
    }


def source(key: str, path: str, found: SourceText) -> Json:
    """The answer of /source."""
    return {
        "binary": key,
        "path": path,
        "text": found.text,
        "sha256": found.sha256.hex(),
        "origin": found.origin,
        "certain": found.is_certain,
    }


def highlighting(found: SourceText, parts: Highlighted) -> Json:
    """The answer of /source/highlighting."""
    return {
        "sha256": found.sha256.hex(),
        "language": parts.language or None,
        "classes": list(CLASSES),
        "lines": parts.lines,
        "missing": parts.missing or None,
    }


def removed(row: DebugFile) -> Json:
    """The answer to the removal of a file."""
    return {"key": row.binary_key, "sha256": row.sha256.hex()}


def _notes(done: Uploaded) -> list[str]:
    """Notes for the uploader."""
    found, added = done.inspection, done.added
    notes = []
    if found.quality == Quality.NONE and found.kind in NAMING:
        notes.append("It names no function. Upload the unstripped file, or its debug file.")
    elif not added.best and added.file.kind in NAMING:
        notes.append("A better file is stored for the same binary; that one is used.")
    if done.lacks:
        notes.append(f"{done.lacks} Upload that, too.")
    if added.replaced is not None:
        notes.append(f"It replaces {added.replaced.name or 'a file'} of {added.replaced.added_at:%Y-%m-%d}.")
    if not done.is_seen and found.kind in NAMING:
        notes.append("No capture contains this binary yet. Its functions are named when one does.")
    return notes


def _binary(row: BinarySymbols) -> Json:
    estimate = row.estimated
    best = next((one for one in row.files if one.kind in NAMING and one.rejected is None), None)
    return {
        "key": row.binary_key,
        "name": row.name,
        "path": row.path,
        "kind": row.kind,
        "status": row.status,
        "reason": row.reason,
        "first_seen": _time(row.first_seen),
        "samples": row.samples,
        "unresolved": row.unresolved,
        "captures": row.captures,
        "machines": row.machines,
        "cpu_seconds": row.cpu_s,
        "unresolved_cpu_seconds": row.unresolved_cpu_s,
        "share": estimate and _interval(estimate.share),
        "cores": _interval(estimate.units.scaled(1.0 / row.estimated_s))
        if estimate and row.estimated_s
        else None,
        "low_confidence": estimate is not None and estimate.low_confidence,
        "quality": best and best.quality.name.lower(),
        "files": len(row.files),
        "building": any(one.building for one in row.builds),
        "disputed": row.disputed,
        "reprocessing": row.reprocessing and reprocessing(row.reprocessing),
    }


def _interval(interval: Interval) -> Json:
    return {"value": interval.value, "lo": interval.lo, "hi": interval.hi}


def _cache(row: BuildState) -> Json:
    cache = row.cache
    return {
        "producer": row.producer,
        "built_at": cache and format_time(cache.built_at),
        "built_from": cache.source_sha256.hex() if cache and cache.source_sha256 else None,
        "bytes": cache and cache.raw_bytes,
        "cpu_seconds": cache and cache.build_cpu_s,
        "building": row.building,
        "failure": row.failure,
        "failed_until": _time(row.failed_until),
    }


def _absence(row: Absence) -> Json:
    return {"kind": row.kind, "source": row.source, "reason": row.reason, "until": format_time(row.until)}


def _request(row: RequestState) -> Json:
    return {
        "kind": row.kind.value,
        "machine": row.machine,
        "requested_at": format_time(row.requested_at),
        "outcome": row.outcome.value,
        "detail": row.detail,
        "attempts": row.attempts,
        "again_at": _time(row.again_at),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)
