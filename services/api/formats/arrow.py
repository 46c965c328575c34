"""Columns as an Arrow stream."""

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from services.api.formats.forms import Form

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_Query = TypeVar("_Query")


def form(table: Callable[[_Query], pa.Table]) -> Form[_Query]:
    """The Arrow form of an answer; `table` makes its columns."""
    return Form("arrow", MEDIA_TYPE, "arrows", lambda query: as_arrow(table(query)))


def as_arrow(table: pa.Table) -> bytes:
    """The table in Arrow's streaming format, as one uncompressed batch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()
