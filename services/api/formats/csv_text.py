"""Columns as CSV (RFC 4180, lines end with a line feed), for spreadsheets and pipes.

The file is a header and the rows. Texts are quoted; null is an empty field. A spreadsheet runs a text that begins with
=, +, -, @ or a control character as a formula, and names come from untrusted binaries. So such a text gets a leading
apostrophe, which marks a text in spreadsheets. Arrow and JSON have the unchanged names.
"""

import io
import json
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa

from services.api.formats.forms import Form

MEDIA_TYPE = "text/csv"
_PARAMETERS = "; charset=utf-8; header=present"
_Query = TypeVar("_Query")
_FORMULA = r"\A(\s*[=+\-@\t\r＝＋－＠])"


def form(table: Callable[[_Query], pa.Table]) -> Form[_Query]:
    """The CSV form of an answer; `table` makes its columns."""
    return Form("csv", MEDIA_TYPE, "csv", lambda query: as_csv(table(query)), parameters=_PARAMETERS)


def as_csv(table: pa.Table) -> bytes:
    """The table as CSV; lists and structures are written as JSON."""
    from pyarrow import csv  # noqa: PLC0415 - 4 MB with `compute`, for an API that may serve JSON only

    columns = [_plain(table.column(name)) for name in table.column_names]
    plain = pa.Table.from_arrays(columns, names=table.column_names)
    sink = io.BytesIO()
    csv.write_csv(plain, sink, csv.WriteOptions(quoting_style="needed"))
    return sink.getvalue()


def _plain(column: "pa.ChunkedArray[Any]") -> "pa.ChunkedArray[Any]":
    if pa.types.is_nested(column.type):
        texts = [
            None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            for value in column.to_pylist(maps_as_pydicts="strict")
        ]
        column = pa.chunked_array([pa.array(texts, pa.string())])
    elif pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_string(column.type):
        return column
    import pyarrow.compute as pc  # noqa: PLC0415 - see `as_csv`

    return pc.replace_substring_regex(column, pattern=_FORMULA, replacement=r"'\1")
