"""JSON, Arrow and CSV of a document whose rows are flat."""

from collections.abc import Callable

import pyarrow as pa
from pydantic import BaseModel

from services.api.answer import Json
from services.api.encoded_response import as_json
from services.api.formats import arrow, csv_text
from services.api.formats.forms import Form, Forms
from services.api.formats.row_columns import Rows

Document = Callable[[], Json]
"""Asks, and makes the document."""


def forms_of(
    model: type[BaseModel], rows: str = "", *, as_sent: Callable[[Json], Json] = lambda document: document
) -> Forms[Document]:
    """The forms of a document that `model` describes; `as_sent` makes its JSON of it, where rows are sent as columns.

    `rows` names the list of its rows, "labels.values" one within another; empty: the document is one row.
    Raises TypeError where a member is nothing that a column holds.
    """
    flat = Rows(model, tuple(rows.split(".")) if rows else ())
    flat.columns()  # a model that fits no columns shows when the program starts

    def table(ask: Document) -> pa.Table:
        return flat.table(ask())

    return Forms(
        (
            Form("json", "application/json", "json", lambda ask: as_json(as_sent(ask()))[0]),
            arrow.form(table),
            csv_text.form(table),
        )
    )
