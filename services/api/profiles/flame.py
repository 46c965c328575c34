"""The tree of calls: /flame."""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.encoded_response import as_json
from services.api.formats import arrow, csv_text, flame_columns, profile_files
from services.api.formats.flame_stacks import flame_profile
from services.api.formats.flame_table import flame_table
from services.api.formats.forms import Form, Forms
from services.api.formats.stack_profile import StackProfile, Value
from services.api.parameters import Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_address import address
from storage.errors import BadSelection
from storage.query.answers.flame import FlameAnswer
from storage.query.query_engine import QueryEngine
from storage.query.shapes.flame import MOST_NODES, FlameQuestion

_LONGEST_ID = 10
"""Digits of an id, which has 31 bits."""


@dataclass(frozen=True, slots=True)
class _Query:
    """A request for a flame graph."""

    queries: QueryEngine
    question: FlameQuestion

    def as_json(self) -> bytes:
        return as_json(self.queries.ask(self.question))[0]

    def as_columns(self) -> bytes:
        return flame_columns.encode_flame(self.queries.ask(self.question.tree))

    def table(self) -> pa.Table:
        return flame_table(self.queries.ask(self.question.tree))

    def profile(self) -> StackProfile:
        if self.question.inverted:
            raise BadSelection(
                "An inverted tree has no stacks to export.",
                hint="Omit `invert`, or choose json, arrow or csv.",
                parameter="invert",
            )
        found = self.queries.ask(self.question.tree)
        more = {
            "root": ",".join(map(str, self.question.root)),
            "by": ",".join(self.question.by),
            "nodes": str(self.question.nodes),
        }
        source = address("flame", self.question.selection, found.kind, more)
        return flame_profile(self.question.selection, found, source=f"fleetprof {source}")


_FORMS = Forms(
    (
        Form("json", "application/json", "json", _Query.as_json),
        Form("columns", flame_columns.MEDIA_TYPE, "fpfl", _Query.as_columns),
        arrow.form(_Query.table),
        csv_text.form(_Query.table),
        *profile_files.forms(_Query.profile, lambda _: Value.ESTIMATE),
    )
)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/flame",
        summary="The flame graph of a selection",
        description="The samples of a selection as a prefix tree of their stacks, cut to its heaviest nodes. `Accept: "
        f"{flame_columns.MEDIA_TYPE}` gets the tree as binary columns that need no parsing.",
        response_model=described_by(FlameAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def flame(
        *,
        request: Request,
        selection: Selected,
        nodes: Annotated[int, Query(ge=1, le=MOST_NODES, description="Largest number of nodes.")] = 20_000,
        root: Annotated[
            str,
            Query(
                description="Return the subtree below a node: ids of the functions on the path from the root, separated "
                "by commas. This shows nodes that are cut off the whole tree. Paths of an inverted tree "
                "begin with the innermost function.",
                examples=["17,4,233"],
                max_length=3_000,
            ),
        ] = "",
        invert: Annotated[
            bool,
            Query(
                description="Put callees above their callers, to show the callers of the code that takes the time."
            ),
        ] = False,
        min_share: Annotated[
            float, Query(ge=0, le=1, description="Cut off nodes below this share of the tree's root.")
        ] = 0.0,
        by: Annotated[
            str,
            Query(
                description="Labels, separated by commas. Their values are the first levels of the tree.",
                examples=["application", "datacenter,application"],
                max_length=500,
            ),
        ] = "",
    ) -> Response:
        question = FlameQuestion(
            selection, nodes, path_of(root), invert, min_share, keys_of(by) if by.strip() else ()
        )
        return await handler.answer(request, _FORMS, _Query(handler.queries, question))


def path_of(root: str) -> tuple[int, ...]:
    """The functions that the text names. Raises `BadSelection`."""
    found = []
    for part in root.split(",") if root.strip() else []:
        text = part.strip()
        if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID):
            raise BadSelection(
                f"Invalid path in `root`: {text[:40]!r} is not the id of a function.",
                hint="Write ids of `functions`, separated by commas, for example root=17,4,233.",
                parameter="root",
            )
        found.append(int(text))
    return tuple(found)
