"""The answer about source lines."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Difference, Share
from storage.query.answers.functions import NamedFunction
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.table import TableRow
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class SourceBuild(Answer):
    """A build with samples in a version of a file."""

    key: Annotated[str, Field(description="Key of the binary, for /source.")]
    binary: Annotated[str, Field(description="Name of the binary.")]


@dataclass(frozen=True, slots=True)
class SourceVersion(Answer):
    """One text of a file. Builds with the same text are one version."""

    file: str
    sha256: Annotated[
        str | None,
        Field(
            description="SHA-256 of the text. Null: no text is stored for these builds, or the build is unknown. All such "
            "builds are one version."
        ),
    ]
    builds: Annotated[
        tuple[SourceBuild, ...],
        Field(description="/source has the text for any of these builds, once it is stored."),
    ]
    self: Annotated[
        int, Field(description="Units of samples whose innermost frame is at one of the version's lines.")
    ]
    self_seconds: float | None
    self_share: Annotated[Share, Field(description="Estimated share of the whole selection.")]
    b_self_share: Annotated[
        Share | None, Field(description="Estimated share of the whole base. Null without a base.")
    ]


@dataclass(frozen=True, slots=True)
class LineRow(TableRow):
    """A line with samples. Its total counts a stack once for each function at the line, recursion or not."""

    version: Annotated[int, Field(description="Index into `versions`.")]
    line: Annotated[int, Field(description="Line number, from 1.")]
    b_self_share: Annotated[
        Share | None,
        Field(description="Estimated share of the base. Null without a base, like the next two fields."),
    ]
    b_total_share: Share | None
    delta: Annotated[
        Difference | None,
        Field(description="total_share - b_total_share. Positive: heavier in the selection."),
    ]


@dataclass(frozen=True, slots=True)
class LinesAnswer(Answer):
    """Source lines with samples, to be laid beside their text."""

    selection: SelectionEcho
    totals: Totals
    functions: Annotated[
        tuple[NamedFunction, ...],
        Field(description="The functions that match, at most the heaviest hundred."),
    ]
    functions_total: int
    itself: Annotated[TableRow, Field(description="All the functions as one row. Its key is empty.")]
    versions: Annotated[
        tuple[SourceVersion, ...],
        Field(description="Texts by file: stored texts first, heavier ones before lighter ones."),
    ]
    rows: Annotated[
        tuple[LineRow, ...],
        Field(
            description="By version, then line: the `limit` lines with the largest total; with a base, with the larger total "
            "of both sides. Their self, `remainder_self` and `without_line` add up to `itself.self`. Figures "
            "without `b_` are 0 for a line that only the base has."
        ),
    ]
    rows_total: int
    remainder_self: Annotated[int, Field(description="Units of self of lines that are not shown.")]
    without_line: Annotated[
        int,
        Field(
            description="Units of self of the functions without a known line: there is no debug information, or the samples "
            "are not ingested with it yet."
        ),
    ]
    base: Annotated[SelectionEcho | None, Field(description="Null without a base, like the next two fields.")]
    base_totals: Totals | None
    base_itself: Annotated[TableRow | None, Field(description="As `itself`, in the base.")]
