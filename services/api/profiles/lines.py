"""Source lines, for an annotated source: /lines."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.formats.stack_profile import Value
from services.api.parameters import Selected
from services.api.profiles.callers import FunctionId, FunctionName, NamedFunction
from services.api.profiles.estimates import as_seconds
from services.api.profiles.functions import function_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.stack_files import Counted, StackFile, ValueOfStacks, with_stacks
from services.api.profiles.table import TableRow, row_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.shapes.lines import MOST_ROWS, LinesQuestion, SourceLine
from storage.query.shapes.lines import LinesAnswer as FoundLines
from storage.query.shapes.source_versions import SourceVersion
from storage.query.shapes.stack_samples import StackSamplesQuestion
from storage.query.subject import parse_lines_subject

_LONGEST = 1024


class SourceBuild(Answer):
    """A build with samples in a version of a file."""

    key: str = Field(description="Key of the binary, for /source.")
    binary: str = Field(description="Name of the binary.")


class VersionAnswer(Answer):
    """One text of a file. Builds with the same text are one version."""

    file: str
    sha256: str | None = Field(
        description="SHA-256 of the text. Null: no text is stored for these builds, or the build is unknown. All such "
        "builds are one version."
    )
    builds: list[SourceBuild] = Field(
        description="/source has the text for any of these builds, once it is stored."
    )
    self: int = Field(description="Units of samples whose innermost frame is at one of the version's lines.")
    self_seconds: float | None
    self_share: float = Field(description="Estimated share of the whole selection.", ge=0, le=1)


class LineRow(TableRow):
    """A line with samples. Its total counts a stack once for each function at the line, recursion or not."""

    version: int = Field(description="Index into `versions`.")
    line: int = Field(description="Line number, from 1.")


class LinesAnswer(Answer):
    """Source lines with samples, to be laid beside their text."""

    selection: SelectionEcho
    totals: TotalsAnswer
    functions: list[NamedFunction] = Field(
        description="The functions that match, at most the heaviest hundred."
    )
    functions_total: int
    itself: TableRow = Field(description="All the functions as one row. Its key is empty.")
    versions: list[VersionAnswer] = Field(
        description="Texts by file: stored texts first, heavier ones before lighter ones."
    )
    rows: list[LineRow] = Field(
        description="By version, then line: the `limit` lines with the largest total. Their self, `remainder_self` and "
        "`without_line` add up to `itself.self`."
    )
    rows_total: int
    remainder_self: int = Field(description="Units of self of lines that are not shown.")
    without_line: int = Field(
        description="Units of self of the functions without a known line: there is no debug information, or the samples "
        "are not ingested with it yet."
    )


_FORMS = with_stacks(forms_of(LinesAnswer, "rows"))


def lines_document(question: LinesQuestion, found: FoundLines) -> Json:
    """The answer of /lines."""
    lines, scale = found.lines, found.kind.seconds_per_unit
    return {
        "selection": selection_document(question.selection, found.kind),
        "totals": totals_document(found.totals, scale),
        "functions": [function_document(row) for row in lines.functions],
        "functions_total": lines.functions_total,
        "itself": row_document(lines.itself, scale),
        "versions": [_version(version, scale) for version in lines.versions],
        "rows": [_line(line, scale) for line in lines.lines],
        "rows_total": lines.lines_total,
        "remainder_self": lines.remainder_self,
        "without_line": lines.without_line,
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/lines",
        summary="Source lines with samples",
        description="The source lines of a function, or of a file in all binaries or in one, for display beside the "
        "text from /source. `focus` and other filters on frames are refused, because lines are stored apart "
        "from stacks. Files of stacks contain the stacks with the function, or with a function of the file.",
        response_model=LinesAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def lines(
        *,
        request: Request,
        selection: Selected,
        function_id: FunctionId = None,
        function: FunctionName = "",
        file: Annotated[
            str,
            Query(
                description="A source file instead of a function, by its path as in other responses.",
                max_length=_LONGEST,
            ),
        ] = "",
        binary: Annotated[
            str, Query(description="The file in this binary only, by the binary's name.", max_length=_LONGEST)
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of lines.")] = 2000,
        value: ValueOfStacks = Value.ESTIMATE,
    ) -> Response:
        subject = parse_lines_subject(function_id=function_id, function=function, file=file, binary=binary)
        question = LinesQuestion(selection, subject, limit)
        more = {
            "function_id": "" if function_id is None else str(function_id),
            "function": function,
            "file": file,
            "binary": binary,
        }

        def behind() -> StackSamplesQuestion:
            return StackSamplesQuestion(selection, through=subject, lined=True)

        stacks = StackFile(handler.queries.ask, behind, "lines", more, value)
        return await handler.answer(
            request, _FORMS, Counted(lambda: lines_document(question, handler.queries.ask(question)), stacks)
        )


def _version(version: SourceVersion, scale: float | None) -> Json:
    return {
        "file": version.file,
        "sha256": version.sha256 and version.sha256.hex(),
        "builds": [{"key": key, "binary": binary} for key, binary in version.builds],
        "self": version.self,
        "self_seconds": as_seconds(version.self, scale),
        "self_share": version.self_share,
    }


def _line(line: SourceLine, scale: float | None) -> Json:
    return {**row_document(line.row, scale), "version": line.version, "line": line.line}
