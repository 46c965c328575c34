"""OpenAPI models of the answers about symbols; `services.symbols.symbol_documents` makes the answers."""

from typing import Literal

from pydantic import Field

from services.api.answer import Answer
from services.api.profiles.estimates import IntervalAnswer
from services.api.profiles.functions import StatusName

FileKindName = Literal["executable", "debuginfo", "symbols", "kallsyms", "altlink", "split"]
QualityName = Literal["dwarf", "symtab", "dynsym", "none"]


class UploadTerms(Answer):
    """What the caller may upload."""

    allowed: bool = Field(description="The caller's role is operator, which uploading needs.")
    largest_bytes: int = Field(description="Of one file, unpacked.")


class SymbolFile(Answer):
    """A file with symbols that is stored: a candidate for a binary's names."""

    key: str = Field(
        description="The binary it belongs to.", examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"]
    )
    sha256: str = Field(description="Of the file.")
    kind: FileKindName
    variant: str = Field(description="Which of several that stand beside each other; commonly empty.")
    quality: QualityName = Field(
        description="dwarf: names, lines and inlined calls; symtab: names; dynsym: exported names; none: no names."
    )
    name: str = Field(description="Base name it was uploaded under.")
    bytes: int = Field(description="Of the file.")
    stored_bytes: int = Field(description="What it takes in the archive, compressed.")
    origin: str = Field(
        description="upload, the URL it is from, or the machines whose gateways gave it: `two machines: A, B` gave the "
        "same, `one machine: A` is the only one that ran the binary; gateway: one, before two were needed."
    )
    uploaded_by: str = Field(description="As far as it is known.")
    added_at: str
    used_at: str | None = Field(description="Last time it was read, to the half day; null: not yet.")
    rejected: str | None = Field(description="Why it is not used, a sentence; null: it may be.")


class KnownFiles(Answer):
    """Which of the files that were asked about are stored."""

    files: list[SymbolFile]
    upload: UploadTerms


class ReprocessingAnswer(Answer):
    """Captures that are reprocessed because a binary's symbols became better."""

    id: int
    key: str = Field(description="The binary's.")
    why: str = Field(description="A sentence.")
    asked_at: str
    finished_at: str | None = Field(description="Null: it is under way.")
    renamed: int = Field(description="Functions that were named at once, in place.")
    captures: int = Field(description="To be reprocessed, for lines and inlined calls.")
    ingested: int = Field(description="Of these, reprocessed by now.")
    failed: int = Field(description="Of these, quarantined or gone from the archive.")
    left: int = Field(description="Of these, still to be ingested.")


class Reprocessings(Answer):
    """Reprocessings: those under way first, then the latest."""

    reprocessings: list[ReprocessingAnswer]


class UploadAnswer(Answer):
    """What an upload was recognised as, and what became of it."""

    outcome: Literal["new", "known", "restored"] = Field(
        description="known: the same file was stored already; restored: it was, but rejected until now."
    )
    file: SymbolFile
    best: bool = Field(description="It is the one that names this binary's functions from now on.")
    replaced: SymbolFile | None = Field(description="The one that did until now.")
    machine: str = Field(description="Processor architecture; empty for kallsyms.", examples=["x86-64"])
    functions: int = Field(description="Functions that its symbol tables name.")
    producer: str = Field(description="Compiler, as its DWARF says; may be empty.")
    notes: list[str] = Field(description="What else is needed, or to be expected; sentences.")
    seen: bool = Field(description="A capture holds the binary.")
    unnamed: int = Field(
        description="Functions of this binary that had no name from debug information when it came."
    )
    reprocessing_before: int = Field(
        description="The binary's newest reprocessing before this upload; one with a greater id comes of it. 0: none."
    )


class BinarySymbols(Answer):
    """A binary, what hides behind the names it lacks, and what is stored for it."""

    key: str
    name: str = Field(examples=["libz.so.1"])
    path: str = Field(description="Where it was first seen; empty before it ran anywhere.")
    kind: str = Field(
        description="file, kernel, module, vdso, anonymous or unknown; empty before it ran anywhere."
    )
    status: StatusName
    reason: str = Field(description="Why it is not full, a sentence; may be empty.")
    first_seen: str | None = Field(description="Null: it was not seen in any capture yet.")
    samples: int = Field(description="Samples with a frame in it, of any event.")
    unresolved: int = Field(description="Of those, with a frame in it that has no name.")
    captures: int = Field(description="Captures that hold it.")
    machines: int = Field(description="Machines where it hides samples; all it ran on if it hides none.")
    cpu_seconds: float = Field(description="CPU time of the samples with a frame in it, as observed.")
    unresolved_cpu_seconds: float = Field(description="CPU time that it hides, as observed.")
    share: IntervalAnswer | None = Field(
        description="Share of the fleet's CPU time that it hides; null without a random design, like `cores`."
    )
    cores: IntervalAnswer | None = Field(
        description="The same as cores of the fleet busy with it on average."
    )
    low_confidence: bool = Field(description="Too few visits contribute for a narrow interval to be honest.")
    quality: QualityName | None = Field(
        description="Of the best file that is stored for it and may be used; null: there is none."
    )
    files: int = Field(description="Files that are stored for it.")
    building: bool = Field(description="A lookup table is being built for it.")
    disputed: bool = Field(
        description="Gateways of two machines gave different symbols of it; none is used, and there are no others."
    )
    reprocessing: ReprocessingAnswer | None = Field(description="Its last; null: never.")


class SymbolsAnswer(Answer):
    """Binaries by what they hide."""

    start: str = Field(alias="from", description="Visits drawn since then count.")
    to: str
    binaries: list[BinarySymbols]
    total: int = Field(description="Binaries there are, of which `binaries` is a page.")
    upload: UploadTerms


class CacheState(Answer):
    """A lookup table that was built from a debug file."""

    producer: str = Field(description="Program, version and format.")
    built_at: str | None = Field(description="Null: it was not built yet.")
    built_from: str | None = Field(description="SHA-256 of the debug file; null: not known.")
    bytes: int | None
    cpu_seconds: float | None = Field(description="That the build took.")
    building: bool = Field(description="A build is under way.")
    failure: str = Field(description="Of the last build, a sentence; empty: it did not fail.")
    failed_until: str | None = Field(description="The same file is not built again before.")


class AbsenceState(Answer):
    """A place that is known not to have the binary's symbols."""

    kind: str
    source: str
    reason: str
    until: str = Field(description="It is not asked again before.")


class SymbolRequestAnswer(Answer):
    """A machine that was asked for the binary's symbols."""

    kind: FileKindName
    machine: str
    asked_at: str
    outcome: Literal["asked", "got", "unconfirmed", "disputed", "absent", "refused", "failed"] = Field(
        description="unconfirmed: it is used once another machine gives the same; disputed: another gave something else."
    )
    detail: str
    attempts: int = Field(description="Machines asked so far.")
    again_at: str | None = Field(description="Another may be asked from then on; null: no more.")


class BinaryAnswer(Answer):
    """Everything that is known of one binary's symbols."""

    binary: BinarySymbols
    files: list[SymbolFile] = Field(description="The best first, rejected ones last.")
    caches: list[CacheState]
    absences: list[AbsenceState]
    asks: list[SymbolRequestAnswer]
    upload: UploadTerms


class RemovedFile(Answer):
    """A file with symbols that is not stored any more."""

    key: str
    sha256: str


class SourcesAnswer(Answer):
    """What became of uploaded sources."""

    key: str
    files: int
    bytes: int
    skipped: int = Field(description="Files whose names cannot be stored: no UTF-8, or over 1024 bytes.")


class SourceAnswer(Answer):
    """A source file as the binary was built from it."""

    binary: str
    path: str
    text: str = Field(description="Read as UTF-8, or as Latin-1 where it is none.")
    sha256: str = Field(description="Of the file.")
    origin: str = Field(
        description="Where it was found: the store, a debuginfod server's URL, or a checkout."
    )
    certain: bool = Field(description="False for a checkout, which may have moved on since the build.")
