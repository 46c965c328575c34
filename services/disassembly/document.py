"""The answer from its parts."""

from typing import TYPE_CHECKING

from services.disassembly.capture_reading import ReadCaptures
from storage.query.answers.disassembly import (
    CaptureSample,
    CodeOrigin,
    CodeRange,
    DisassemblyAnswer,
    InstructionRow,
)
from storage.query.answers.figures import as_seconds
from storage.query.shapes.function_visits import FunctionVisits, ShownBuild

if TYPE_CHECKING:
    from symbolizer.disassembly.disassembler import Listing
    from symbolizer.disassembly.function_ranges import CodeRange as Range
    from symbolizer.disassembly.listing import Row


def answer_of(found: FunctionVisits, captures: ReadCaptures, listing: "Listing") -> DisassemblyAnswer:
    """The answer about a build."""
    assert found.shown is not None, "there is a build"
    sampled, scale = listing.sampled, found.kind.seconds_per_unit
    whole = float(sampled.weight.sum())
    weighted = whole > 0
    whole = whole if weighted else float(sampled.units.sum())
    visible = sum(row.samples for row in listing.rows.rows)
    return _answer(
        found,
        _captures(found, captures, weighted=weighted),
        CodeOrigin(
            origin=listing.origin or None,
            architecture=listing.architecture or None,
            addresses=listing.space,
            missing=_missing(listing, found.shown) or None,
        ),
        ranges=tuple(_range(one, listing) for one in listing.ranges),
        samples=int(sampled.samples.sum()),
        units=int(sampled.units.sum()),
        hidden=int(sampled.samples.sum()) - visible,
        inside=listing.rows.inside,
        cut=_cut(listing),
        rows=tuple(
            _row(row, (row.weight if weighted else row.units) / whole if whole else 0.0, scale)
            for row in listing.rows.rows
        ),
    )


def without_build(found: FunctionVisits) -> DisassemblyAnswer:
    """The answer if no stack has the function, or if its binary is not known."""
    if found.functions:
        name = found.functions[0].binary or "the function"
        why = f"No build of {name} is known, so there is no code to show."
    else:
        why = "No stack of the selection contains the function."
    nothing = CaptureSample(
        visits=found.visits,
        chosen=0,
        read=0,
        not_kept=0,
        unreadable=0,
        bytes=0,
        complete=found.visits == 0,
        stopped=False,
        weighted=found.weighted,
        sentence="No capture was read.",
    )
    return _answer(found, nothing, CodeOrigin(None, None, "virtual", why))


def _answer(
    found: FunctionVisits,
    captures: CaptureSample,
    code: CodeOrigin,
    *,
    ranges: tuple[CodeRange, ...] = (),
    samples: int = 0,
    units: int = 0,
    hidden: int = 0,
    inside: int = 0,
    cut: str | None = None,
    rows: tuple[InstructionRow, ...] = (),
) -> DisassemblyAnswer:
    return DisassemblyAnswer(
        selection=found.selection,
        totals=found.totals,
        functions=found.functions,
        functions_total=found.functions_total,
        itself=found.itself,
        builds=found.builds,
        unknown_build_samples=found.unknown_samples,
        build_id=None if found.shown is None else found.shown.key,
        captures=captures,
        code=code,
        ranges=ranges,
        samples=samples,
        seconds=as_seconds(units, found.kind.seconds_per_unit),
        samples_hidden=hidden,
        samples_inside=inside,
        cut=cut,
        rows=rows,
    )


def _captures(found: FunctionVisits, captures: ReadCaptures, *, weighted: bool) -> CaptureSample:
    complete = captures.read == found.visits
    if complete:
        sentence = f"The captures of all {found.visits:,} visits with the function were read."
    else:
        sentence = (
            f"The captures of {captures.read:,} of {found.visits:,} visits with the function were read, chosen at "
            "random: samples and seconds are those of these captures."
        )
    if captures.not_kept:
        sentence += f" {captures.not_kept:,} of the chosen captures are deleted because of their age."
    if captures.unreadable:
        sentence += (
            f" {captures.unreadable:,} of the chosen captures are missing from the archive or damaged."
        )
    if captures.stopped:
        sentence += " The time limit ended the reading."
    return CaptureSample(
        visits=found.visits,
        chosen=len(found.chosen),
        read=captures.read,
        not_kept=captures.not_kept,
        unreadable=captures.unreadable,
        bytes=captures.bytes,
        complete=complete,
        stopped=captures.stopped,
        weighted=found.weighted and weighted,
        sentence=sentence,
    )


def _missing(listing: "Listing", shown: ShownBuild) -> str:
    if not listing.missing or not listing.upload_helps:
        return listing.missing
    file = "vmlinux" if shown.kind == "kernel" else shown.path or shown.name
    return (
        f"{listing.missing} No instructions are available: upload the binary itself, stripped or not, as it ran: "
        f"`fleetprof symbols upload {file}`."
    )


def _cut(listing: "Listing") -> str | None:
    every, shown = (sum(one.end - one.start for one in part) for part in (listing.ranges, listing.shown))
    if shown == every:
        return None
    return f"The function has {every:,} bytes of code; the {shown:,} bytes with most samples are shown."


def _range(one: "Range", listing: "Listing") -> CodeRange:
    shown = next((part for part in listing.shown if one.start <= part.start < one.end), None)
    return CodeRange(
        symbol=one.symbol,
        start=f"{one.start:#x}",
        end=f"{one.end:#x}",
        samples=int(listing.sampled.inside([one]).samples.sum()),
        shown_start=None if shown is None else f"{shown.start:#x}",
        shown_end=None if shown is None else f"{shown.end:#x}",
    )


def _row(row: "Row", share: float, scale: float | None) -> InstructionRow:
    code = row.instruction
    return InstructionRow(
        address=f"{row.address:#x}",
        bytes=None if code is None else code.code.hex(),
        mnemonic=None if code is None else code.mnemonic,
        operands=None if code is None else code.operands,
        target=None if code is None or code.target is None else f"{code.target:#x}",
        target_name=row.target_name or None,
        samples=row.samples,
        seconds=as_seconds(row.units, scale),
        share=min(share, 1.0),
        file=row.place.file or None,
        line=row.place.line or None,
        inlined=row.place.inlined or None,
    )
