"""Writes the Parquet files of one table and day: each is built in memory and put whole.

A file has at most a few million rows, some 20 MB. This bounds the memory for a day of any size, and readers can divide
the files among threads.
"""

import hashlib
import io
from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from storage.segments.location import Lake, folder_of
from storage.segments.manifest import File
from storage.segments.tables import TABLES

ROWS_A_FILE = 4_000_000
_ROWS_A_GROUP = 1 << 19
_LEVEL = 3
_STEPS = "DELTA_BINARY_PACKED"
_ASCENDING: Mapping[str, str] = MappingProxyType(
    {
        "stack_id": _STEPS,
        "function_id": _STEPS,
        "value_id": _STEPS,
        "label_set_id": _STEPS,
        "machine_id": _STEPS,
    }
)
"""Integer columns that mostly differ little from the row before."""


class TableWriter:
    """Writes a table of a day; `close` puts the files, which readers ignore until the manifest is written."""

    def __init__(
        self, lake: Lake, table: str, day: date, stamp: str, *, rows_a_file: int = ROWS_A_FILE
    ) -> None:
        self._lake = lake
        self._folder = folder_of(table, day)
        self._stamp = stamp
        self._schema = TABLES[table]
        self._rows_a_file = rows_a_file
        self._files: list[File] = []
        self._buffer = io.BytesIO()
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0

    def add(self, columns: Sequence[Any]) -> None:
        """Add rows: a value of every column, as Arrow-compatible arrays in the schema's order.

        Each call makes one or more row groups. Raises `LakeUnavailable`.
        """
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        if not table.num_rows:
            return
        if self._writer is None:
            self._writer = self._open()
        self._writer.write_table(table, row_group_size=_ROWS_A_GROUP)
        self._rows += table.num_rows
        if self._rows >= self._rows_a_file:
            self._finish()

    def close(self) -> tuple[File, ...]:
        """Put the remaining rows; return the table's files, at least one, so that its columns are always known."""
        if self._writer is None and not self._files:
            self._writer = self._open()
        if self._writer is not None:
            self._finish()
        return tuple(self._files)

    def _open(self) -> pq.ParquetWriter:
        names = self._schema.names
        steps = {name: _ASCENDING[name] for name in names if name in _ASCENDING and name == names[0]}
        if "stack_id" in names:
            steps["stack_id"] = _STEPS
        return pq.ParquetWriter(
            self._buffer,
            self._schema,
            compression="zstd",
            compression_level=_LEVEL,
            use_dictionary=[name for name in self._leaves() if name not in steps],  # type: ignore[arg-type]  # a list is documented
            column_encoding=dict(steps) or None,
            store_schema=False,  # Arrow's own schema: useless to other readers, and costs bytes
            version="2.6",
        )

    def _leaves(self) -> list[str]:
        """Names of Parquet's leaf columns: a list's values have their own."""
        return [
            f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name
            for field in self._schema
        ]

    def _finish(self) -> None:
        assert self._writer is not None
        self._writer.close()
        data = self._buffer.getbuffer()
        name = f"{self._stamp}-{len(self._files):05d}.parquet"
        self._lake.put(f"{self._folder}/{name}", data)
        self._files.append(File(name, self._rows, len(data), hashlib.sha256(data).hexdigest()))
        self._buffer, self._writer, self._rows = io.BytesIO(), None, 0
