"""Results about symbols as tables in a terminal."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.terminal import seconds, share
from storage.symbols.keys import sentence

AnswerJson = Mapping[str, Any]

QUALITIES = {
    "dwarf": "names and lines",
    "symtab": "names, no lines",
    "dynsym": "exported names",
    "none": "no names",
}
KINDS = {
    "executable": "binary",
    "debuginfo": "debug file",
    "symbols": "symbol table",
    "kallsyms": "kernel's functions",
    "altlink": "dwz file",
    "split": "split DWARF",
}
OUTCOMES = {
    "pending": "no response yet",
    "got": "received",
    "unconfirmed": "received, not used until another machine confirms it",
    "disputed": "received, but it differs from that of another machine",
    "absent": "the machine no longer has it",
    "refused": "the gateway does not share symbols",
    "failed": "failed",
}
_LONG_KEY = 20


def size(count: int) -> str:
    """Bytes in powers of ten, as file managers print them: `1.4 MB`."""
    value, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    digits = 0 if units[0] == "bytes" or value >= 99.5 else 1 if value >= 9.95 else 2
    return f"{value:.{digits}f} {units[0]}"


def short(key: str) -> str:
    """A short key: the beginning of a build-id, any other key in full."""
    return f"{key[:12]}…" if len(key) >= _LONG_KEY and set(key) <= set("0123456789abcdef") else key


def recognised(row: AnswerJson) -> str:
    """Description of a stored file: `debug file of 9f86d081884c…, names and lines`."""
    return f"{KINDS[row['kind']]} of {short(row['key'])}, {QUALITIES[row['quality']]}"


def progress(reprocessing: AnswerJson) -> str:
    """Progress of reprocessing captures with better symbols."""
    parts = []
    if reprocessing["renamed"]:
        parts.append(
            f"{reprocessing['renamed']:,} function{'s' * (reprocessing['renamed'] != 1)} named at once"
        )
    if reprocessing["captures"]:
        done = reprocessing["ingested"] + reprocessing["failed"]
        many = f"{reprocessing['captures']:,} capture{'s' * (reprocessing['captures'] != 1)}"
        parts.append(f"{done:,} of {many} reprocessed" if reprocessing["left"] else f"{many} reprocessed")
    if reprocessing["failed"]:
        parts.append(f"{reprocessing['failed']:,} of them failed")
    return ", ".join(parts) or "nothing to be reprocessed"


def listing(answer: AnswerJson) -> RenderableType:
    """Binaries by the CPU time of their unnamed code."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("hides", justify="right", no_wrap=True, width=8)
    table.add_column("95 %", justify="right", no_wrap=True, width=13, style="dim")
    table.add_column("cores", justify="right", no_wrap=True, width=6)
    table.add_column("samples", justify="right", no_wrap=True, width=8)
    table.add_column("machines", justify="right", no_wrap=True, width=8)
    table.add_column("binary", no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column("key", no_wrap=True, overflow="ellipsis", width=13, style="dim")
    table.add_column("stored", no_wrap=True, width=15)
    table.add_column("missing, or in progress", no_wrap=True, overflow="ellipsis", ratio=3)
    for row in answer["binaries"]:
        hidden, interval = row["share"], ""
        if hidden is not None:
            interval = f"{100 * hidden['lo']:.1f}–{100 * hidden['hi']:.1f}" + (
                " ?" if row["low_confidence"] else ""
            )
        table.add_row(
            share(hidden["value"]) if hidden else seconds(row["unresolved_cpu_seconds"]) + " s",
            interval,
            f"{row['cores']['value']:.2f}" if row["cores"] else "–",
            f"{row['unresolved']:,}",
            f"{row['machines']:,}",
            Text(sentence(row["name"])),
            Text(short(row["key"])),
            QUALITIES[row["quality"]] if row["quality"] else "nothing",
            Text(sentence(_state(row))),
        )
    return table


def details(answer: AnswerJson) -> RenderableType:
    """Everything about one binary."""
    binary = answer["binary"]
    lines: list[RenderableType] = [
        Text(sentence(binary["name"] or binary["key"]), style="bold"),
        Text(f"  key         {binary['key']}"),
    ]
    facts = [
        ("path", binary["path"]),
        ("status", binary["status"] + (f": {binary['reason']}" if binary["reason"] else "")),
        (
            "samples",
            f"{binary['samples']:,} in the last day, {binary['unresolved']:,} of them without a function name",
        ),
    ]
    if binary["share"] is not None:
        hidden = binary["share"]
        facts.append(
            (
                "hides",
                f"{share(hidden['value'])} of the fleet's CPU time ({share(hidden['lo'])}–{share(hidden['hi'])})",
            )
        )
    if binary["reprocessing"] is not None:
        last = binary["reprocessing"]
        facts.append(("last change", f"{last['why']} {when(last['requested_at'])}: {progress(last)}"))
    lines += [Text(f"  {name:<11} {sentence(value)}") for name, value in facts if value]
    lines.append(_files(answer) if answer["files"] else Text("No symbol file is stored."))
    lines += [Text(sentence(line)) for line in _attempts(answer)]
    return Group(*lines)


def _files(answer: AnswerJson) -> RenderableType:
    table = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        title="Stored files, best first",
        title_justify="left",
    )
    for heading in ("file", "has", "size", "from", "since", "SHA-256"):
        table.add_column(heading, justify="right" if heading == "size" else "left", overflow="fold")
    for row in answer["files"]:
        has = f"{KINDS[row['kind']]}, {QUALITIES[row['quality']]}"
        if row["rejected"] is not None:
            has = f"not used: {row['rejected']}"
        origin = row["origin"] + (f" by {row['uploaded_by']}" if row["uploaded_by"] else "")
        table.add_row(
            Text(row["name"]), Text(has), size(row["bytes"]), Text(origin), when(row["added_at"]), row["sha256"][:12],
            style="" if row["rejected"] is None else "dim",
        )  # fmt: skip
    return table


def _attempts(answer: AnswerJson) -> list[str]:
    lines = []
    for cache in answer["caches"]:
        if cache["building"]:
            lines.append("A lookup table is being built.")
        if cache["built_at"]:
            cost = "" if cache["cpu_seconds"] is None else f", in {cache['cpu_seconds']:.1f} s of CPU time"
            lines.append(
                f"A lookup table of {size(cache['bytes'] or 0)} was built {when(cache['built_at'])}{cost}."
            )
        if cache["failure"]:
            lines.append(f"The last build failed: {cache['failure']}")
    for request in answer["requests"]:
        detail = f" ({request['detail']})" if request["detail"] else ""
        lines.append(
            f"Request to {request['machine']} at {when(request['requested_at'])}: {OUTCOMES[request['outcome']]}{detail}."
        )
    lines += [
        f"{absence['source']} has no {absence['kind']}: {absence['reason']} Next attempt after {when(absence['until'])}."
        for absence in answer["absences"]
    ]
    return lines


def when(moment: str) -> str:
    """A time of an answer, to the minute: `2026-11-21 04:05 UTC`."""
    return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M} UTC"


def _state(row: AnswerJson) -> str:
    if row["disputed"]:
        return "Two machines sent different symbols."
    if row["reprocessing"] is not None and row["reprocessing"]["left"]:
        return progress(row["reprocessing"])
    if row["building"]:
        return "Lines are being read."
    return first_sentence(row["reason"])


def first_sentence(text: str) -> str:
    """The first sentence, which is the reason; the others list where symbols were searched."""
    return text.partition(". ")[0].rstrip(".") + "." if text else ""
