"""JSON, Arrow and CSV of a document whose rows are flat."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from services.api.encoded_response import as_json
from services.api.formats import arrow, csv_text
from services.api.formats.forms import Form, Forms
from services.api.formats.row_columns import Rows
from storage.query.answers.answer import Answer, as_document

Document = Callable[[], Answer]
"""Runs the query."""


def forms_of(
    model: type[Answer], rows: str = "", *, as_sent: Callable[[Any], Answer] = lambda document: document
) -> Forms[Document]:
    """The forms of a document that `model` describes; `as_sent` converts it for JSON if rows are sent as columns.

    `rows` names the list of rows; "labels.values" is a list within a list; empty: the document is one row. Raises
    TypeError for a member that no column type can hold.
    """
    flat = Rows(model, tuple(rows.split(".")) if rows else ())
    flat.columns()  # fails at startup if the model fits no columns

    def table(ask: Document) -> pa.Table:
        return flat.table(as_document(ask()))

    return Forms(
        (
            Form("json", "application/json", "json", lambda ask: as_json(as_sent(ask()))[0]),
            arrow.form(table),
            csv_text.form(table),
        )
    )
