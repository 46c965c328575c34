"""The answer about the instructions of a function."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.functions import NamedFunction
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.table import TableRow
from storage.query.answers.totals import Totals

Addresses = Literal["virtual", "file", "kernel"]


@dataclass(frozen=True, slots=True)
class DisassembledBuild(Answer):
    """A build of the function's binary."""

    key: Annotated[
        str,
        Field(description="Key of the binary: its build-id in hex, or `go:…` or `sha256:…` if it has none."),
    ]
    binary: Annotated[str, Field(description="Name of the binary.")]
    visits: Annotated[int, Field(description="Visits with the function in a stack, in this build.")]
    self_samples: Annotated[int, Field(description="Samples whose innermost function it is, in this build.")]
    self: Annotated[int, Field(description="Units of these samples.")]
    self_seconds: Annotated[float | None, Field(description="Null for events not counted in time.")]
    self_share: Annotated[Share, Field(description="Estimated share of the whole selection.")]


@dataclass(frozen=True, slots=True)
class CaptureSample(Answer):
    """The raw captures that were read: ingested data has functions and lines, but no addresses."""

    visits: Annotated[
        int,
        Field(
            description="Visits of the selection with the function in a stack, in this build or in one that is not known."
        ),
    ]
    chosen: Annotated[
        int,
        Field(
            description="Visits of these that were chosen at random. Their number follows from the limits of captures and "
            "bytes before any capture is read."
        ),
    ]
    read: Annotated[int, Field(description="Captures of the chosen visits that were read.")]
    not_kept: Annotated[int, Field(description="Captures that are deleted because of their age.")]
    unreadable: Annotated[int, Field(description="Captures that are missing from the archive or damaged.")]
    bytes: Annotated[int, Field(description="Compressed size of the captures that were read.")]
    complete: Annotated[bool, Field(description="All `visits` were read, so `samples` are all samples.")]
    stopped: Annotated[
        bool, Field(description="The time limit ended the reading before all chosen captures were read.")
    ]
    weighted: Annotated[
        bool,
        Field(
            description="`share` weights each visit as estimates do. False: visits were not drawn at random, so each sample "
            "counts the same."
        ),
    ]
    sentence: Annotated[str, Field(description="The same for a reader.")]


@dataclass(frozen=True, slots=True)
class CodeOrigin(Answer):
    """The source of the instructions."""

    origin: Annotated[
        str | None,
        Field(
            description="Place of the ELF file: an upload, a path on the API's machine, a debuginfod server's URL. Null: no "
            "instructions are available."
        ),
    ]
    architecture: Annotated[str | None, Field(description="x86-64 or aarch64. Null without instructions.")]
    addresses: Annotated[
        Addresses,
        Field(
            description="virtual: addresses as in the ELF file (`objdump -d`); file: offsets in the file, because no file is "
            "available; kernel: offsets from the kernel's `_stext`."
        ),
    ]
    missing: Annotated[
        str | None,
        Field(
            description="Why there are no instructions, and which upload helps, as sentences. Null: there are."
        ),
    ]


@dataclass(frozen=True, slots=True)
class CodeRange(Answer):
    """A contiguous part of the function's code."""

    symbol: Annotated[
        str,
        Field(description="Name in the symbol table: compilers split functions into `f` and `f.cold`."),
    ]
    start: Annotated[str, Field(description="First address, hex.", examples=["0x1139"])]
    end: Annotated[str, Field(description="Address behind it, hex.")]
    samples: int
    shown_start: Annotated[
        str | None, Field(description="First address in `rows`, hex. Null: the range is not shown.")
    ]
    shown_end: str | None


@dataclass(frozen=True, slots=True)
class InstructionRow(Answer):
    """An instruction; or an address with samples, if no instructions are available."""

    address: Annotated[str, Field(description="Hex.", examples=["0x1139"])]
    bytes: Annotated[str | None, Field(description="Hex. Null without instructions.", examples=["4889e5"])]
    mnemonic: Annotated[
        str | None,
        Field(
            description="`.byte`: these bytes are no instruction. x86-64 is in Intel syntax.",
            examples=["mov"],
        ),
    ]
    operands: Annotated[str | None, Field(examples=["rbp, rsp"])]
    target: Annotated[
        str | None, Field(description="Address that a direct jump or call goes to, hex. Null for others.")
    ]
    target_name: Annotated[
        str | None,
        Field(description="Its function, with the distance from its start.", examples=["work+0x10"]),
    ]
    samples: Annotated[
        int,
        Field(
            description="Samples at the instruction in the captures that were read. Interrupts are taken late, so a slow "
            "instruction's samples may be at the next one."
        ),
    ]
    seconds: Annotated[
        float | None,
        Field(description="These samples as CPU time, as observed. Null for events not counted in time."),
    ]
    share: Annotated[Share, Field(description="Share of the samples in the function's code, weighted.")]
    file: Annotated[str | None, Field(description="Source file. Null: not known.")]
    line: Annotated[int | None, Field(description="Source line. Null: not known.")]
    inlined: Annotated[
        str | None,
        Field(description="Innermost inlined function that the instruction is from. Null: none."),
    ]


@dataclass(frozen=True, slots=True)
class DisassemblyAnswer(Answer):
    """The instructions of a function, with samples."""

    selection: SelectionEcho
    totals: Totals
    functions: Annotated[
        tuple[NamedFunction, ...],
        Field(description="The functions that match, at most the heaviest hundred. The first is shown."),
    ]
    functions_total: int
    itself: Annotated[
        TableRow,
        Field(description="The shown function in all builds, from ingested data. Its key is empty."),
    ]
    builds: Annotated[
        tuple[DisassembledBuild, ...], Field(description="Builds with samples, the heaviest first.")
    ]
    unknown_build_samples: Annotated[
        int,
        Field(description="Samples of the function in visits with several builds of the binary."),
    ]
    build_id: Annotated[str | None, Field(description="Key of the shown build. Null: there is none.")]
    captures: CaptureSample
    code: CodeOrigin
    ranges: tuple[CodeRange, ...]
    samples: Annotated[
        int,
        Field(
            description="Samples at addresses in the function's code in the captures that were read. Unlike `itself`, they "
            "include functions inlined into it. Rows and `samples_hidden` add up to them."
        ),
    ]
    seconds: float | None
    samples_hidden: Annotated[
        int, Field(description="Of these, samples in parts of the function that are not shown.")
    ]
    samples_inside: Annotated[
        int,
        Field(
            description="Of these, samples at an address that is not the start of an instruction. They count at the "
            "instruction around it."
        ),
    ]
    cut: Annotated[
        str | None,
        Field(
            description="Which part is shown if the function is larger than 64 KiB, as a sentence. Null: all of it is shown."
        ),
    ]
    rows: Annotated[tuple[InstructionRow, ...], Field(description="By ascending address.")]
