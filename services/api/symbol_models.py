"""OpenAPI models of the answers about symbols; `services.symbols.symbol_documents` makes the answers."""

from typing import Literal

from pydantic import Field

from services.api.api_model import ApiModel
from storage.query.answers.figures import Interval
from storage.query.answers.functions import StatusName

FileKindName = Literal["executable", "debuginfo", "symbols", "kallsyms", "altlink", "split"]
QualityName = Literal["dwarf", "symtab", "dynsym", "none"]


class UploadTerms(ApiModel):
    """The caller's right to upload, and the limit."""

    allowed: bool = Field(description="True: the caller has the role operator, which uploads need.")
    largest_bytes: int = Field(description="Limit of one uncompressed file.")


class SymbolFile(ApiModel):
    """A file with symbols that is stored: a candidate for a binary's names."""

    key: str = Field(
        description="Key of the file's binary.", examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"]
    )
    sha256: str = Field(description="SHA-256 of the file.")
    kind: FileKindName
    variant: str = Field(
        description="Variant, if several files of a kind are used side by side; usually empty."
    )
    quality: QualityName = Field(
        description="dwarf: names, lines and inlined calls; symtab: names; dynsym: exported names; none: no names."
    )
    name: str = Field(description="Base name of the uploaded file.")
    bytes: int = Field(description="Size of the file.")
    stored_bytes: int = Field(description="Compressed size in the archive.")
    origin: str = Field(
        description="Source of the file: upload, its URL, or the machines whose gateways sent it. `two machines: A, B`: "
        "both sent the same. `one machine: A`: only A ran the binary. gateway: one machine, before two were "
        "required."
    )
    uploaded_by: str = Field(description="The uploader, if known.")
    added_at: str
    used_at: str | None = Field(description="Last use, to the half day. Null: not used yet.")
    rejected: str | None = Field(
        description="The reason why the file is not used, as a sentence. Null: it may be used."
    )


class KnownFiles(ApiModel):
    """The requested files that are stored."""

    files: list[SymbolFile]
    upload: UploadTerms


class ReprocessingAnswer(ApiModel):
    """Captures that are reprocessed because a binary's symbols became better."""

    id: int
    key: str = Field(description="Key of the binary.")
    why: str = Field(description="The reason, as a sentence.")
    requested_at: str
    finished_at: str | None = Field(description="Null: not finished.")
    renamed: int = Field(description="Functions that got a name at once, in place.")
    captures: int = Field(description="Captures to be reprocessed, for lines and inlined calls.")
    ingested: int = Field(description="Captures that are reprocessed.")
    failed: int = Field(description="Captures that are quarantined or no longer in the archive.")
    left: int = Field(description="Captures that still wait for reprocessing.")


class Reprocessings(ApiModel):
    """Reprocessings: those under way first, then the latest."""

    reprocessings: list[ReprocessingAnswer]


class UploadAnswer(ApiModel):
    """The recognised content of an upload, and its effect."""

    outcome: Literal["new", "known", "restored"] = Field(
        description="known: the same file was already stored; restored: it was stored but rejected until now."
    )
    file: SymbolFile
    best: bool = Field(description="This file now gives the names of the binary's functions.")
    replaced: SymbolFile | None = Field(description="The file that gave the names before.")
    machine: str = Field(description="Processor architecture; empty for kallsyms.", examples=["x86-64"])
    functions: int = Field(description="Functions with a name in its symbol tables.")
    producer: str = Field(description="Compiler, from its DWARF; may be empty.")
    notes: list[str] = Field(description="Further needs and expected effects, as sentences.")
    seen: bool = Field(description="A capture contains the binary.")
    unnamed: int = Field(
        description="Functions of this binary without a name from debug information before the upload."
    )
    reprocessing_before: int = Field(
        description="The binary's newest reprocessing before this upload; the upload caused those with a greater id. 0: "
        "none."
    )


class BinarySymbols(ApiModel):
    """A binary, its samples without names, and the files stored for it."""

    key: str
    name: str = Field(examples=["libz.so.1"])
    path: str = Field(description="Path where it was first seen. Empty: not seen in any capture yet.")
    kind: str = Field(
        description="file, kernel, module, vdso, anonymous or unknown. Empty: not seen in any capture yet."
    )
    status: StatusName
    reason: str = Field(description="The reason why the status is not full, as a sentence; may be empty.")
    first_seen: str | None = Field(description="Null: not seen in any capture yet.")
    samples: int = Field(description="Samples of any event with a frame in it.")
    unresolved: int = Field(description="Samples with a frame in it that has no name.")
    captures: int = Field(description="Captures that contain it.")
    machines: int = Field(
        description="Machines with such samples without names. If there are none: all machines that ran it."
    )
    cpu_seconds: float = Field(description="Observed CPU time of the samples with a frame in it.")
    unresolved_cpu_seconds: float = Field(
        description="Observed CPU time of the samples with a frame in it that has no name."
    )
    share: Interval | None = Field(
        description="Share of the fleet's CPU time that runs through its frames without names. Null without a random "
        "design, like `cores`."
    )
    cores: Interval | None = Field(description="The same as the mean number of busy cores.")
    low_confidence: bool = Field(
        description="Low confidence: too few visits contribute for a narrow interval."
    )
    quality: QualityName | None = Field(
        description="Quality of its best stored file that is not rejected. Null: there is none."
    )
    files: int = Field(description="Number of files stored for it.")
    building: bool = Field(description="A lookup table is being built for it.")
    disputed: bool = Field(
        description="Gateways of two machines sent different symbols for it. None is used, and there are no other "
        "symbols."
    )
    reprocessing: ReprocessingAnswer | None = Field(description="Its last reprocessing. Null: none.")


class SymbolsAnswer(ApiModel):
    """Binaries by their samples without names."""

    start: str = Field(alias="from", description="Start of the time range: visits drawn since then count.")
    to: str
    binaries: list[BinarySymbols]
    total: int = Field(description="Number of binaries, of which `binaries` is a page.")
    upload: UploadTerms


class CacheState(ApiModel):
    """A lookup table that was built from a debug file."""

    producer: str = Field(description="Program, version and format of the builder.")
    built_at: str | None = Field(description="Null: not built yet.")
    built_from: str | None = Field(description="SHA-256 of the debug file; null: not known.")
    bytes: int | None
    cpu_seconds: float | None = Field(description="CPU time of the build.")
    building: bool = Field(description="A build is under way.")
    failure: str = Field(description="Error of the last build, a sentence. Empty: no error.")
    failed_until: str | None = Field(description="The same file is not rebuilt before this time.")


class AbsenceState(ApiModel):
    """A source that does not have the binary's symbols."""

    kind: str
    source: str
    reason: str
    until: str = Field(description="Earliest time of the next query.")


class SymbolRequestAnswer(ApiModel):
    """A machine that was queried for the binary's symbols."""

    kind: FileKindName
    machine: str
    requested_at: str
    outcome: Literal["pending", "got", "unconfirmed", "disputed", "absent", "refused", "failed"] = Field(
        description="unconfirmed: used once another machine sends the same; disputed: another machine sent something "
        "else."
    )
    detail: str
    attempts: int = Field(description="Machines queried so far.")
    again_at: str | None = Field(description="Earliest time to query another machine. Null: no more.")


class BinaryAnswer(ApiModel):
    """Everything that is known of one binary's symbols."""

    binary: BinarySymbols
    files: list[SymbolFile] = Field(description="The best first, rejected ones last.")
    caches: list[CacheState]
    absences: list[AbsenceState]
    requests: list[SymbolRequestAnswer]
    upload: UploadTerms


class RemovedFile(ApiModel):
    """A deleted file with symbols."""

    key: str
    sha256: str


class SourcesAnswer(ApiModel):
    """The result of an upload of sources."""

    key: str
    files: int
    bytes: int
    skipped: int = Field(
        description="Number of files with names that cannot be stored: not UTF-8, or over 1024 bytes."
    )
    sampled: bool = Field(description="Some profile has the binary. False: the key may be wrong.")


class SourceAnswer(ApiModel):
    """A source file as the binary was built from it."""

    binary: str
    path: str
    text: str = Field(description="The text, decoded as UTF-8 or else as Latin-1.")
    sha256: str = Field(description="SHA-256 of the file.")
    origin: str = Field(
        description="Source of the text: the store, a debuginfod server's URL, or a checkout."
    )
    certain: bool = Field(description="False for a checkout, which may have changed since the build.")


class HighlightingAnswer(ApiModel):
    """The syntax of a source file."""

    sha256: str = Field(description="SHA-256 of the file, as in the answer with its text.")
    language: str | None = Field(description="Pygments' name of the language. Null: not known.")
    classes: list[str] = Field(
        description="Classes of parts; `lines` has positions in this list. The empty class has no colour."
    )
    lines: list[list[int]] = Field(
        description="For each line length, in UTF-16 code units, and class of its parts in turn. The rest of a line is "
        "of the empty class. Lines end with LF or CRLF.",
        examples=[[[3, 1, 5, 0], []]],
    )
    missing: str | None = Field(description="Why there are no lines. Null: there are.")
