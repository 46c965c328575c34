"""Columns as CSV (RFC 4180, lines end with a line feed): for spreadsheets, and for pipes.

A header, then the rows and nothing else. Texts stand in quotes, null is nothing between the commas.
A spreadsheet takes a text that begins with =, +, -, @ or a control character for a formula and runs it,
and names come from binaries of strangers; such a text gets an apostrophe in front, which spreadsheets
take for "this is a text". Who needs names to the letter takes Arrow or JSON.
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
    """The form of an answer that `table` makes columns of."""
    return Form("csv", MEDIA_TYPE, "csv", lambda query: as_csv(table(query)), parameters=_PARAMETERS)


def as_csv(table: pa.Table) -> bytes:
    """The table's columns, lists and structures among them as JSON."""
    from pyarrow import csv  # noqa: PLC0415 - 4 MB with `compute`, for an API that is asked for JSON alone

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
