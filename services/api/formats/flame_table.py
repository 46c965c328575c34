"""A flame graph as typed columns, one row per node."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from services.api.formats.row_columns import METADATA
from storage.query.answers.answer import as_document
from storage.query.shapes.flame import FlameTree
from storage.query.shapes.flame_nodes import Flame
from storage.query.stacks.function_names import KINDS, STATUSES


def flame_table(found: FlameTree) -> pa.Table:
    """The nodes in the answer's order, so that `parent` is a row number; the rest is metadata.

    Numbers are those of /flame; texts are dictionary-encoded.
    """
    flame, seconds_per_unit = found.flame, found.kind.seconds_per_unit
    factor = 1.0 if seconds_per_unit is None else seconds_per_unit
    functions = flame.functions
    texts: dict[str, Sequence[str | None]] = {
        "label": [label or None for label in flame.labels] or [None] * len(functions),
        "function": [row.name for row in functions],
        "file": [row.file for row in functions],
        "binary": [row.binary for row in functions],
        "status": [STATUSES[row.status] for row in functions],
        "kind": [KINDS[row.kind] for row in functions],
    }
    columns: dict[str, pa.Array[Any]] = {
        "parent": pa.array(flame.parent.astype(np.int32)),
        **{name: _by_function(flame, values) for name, values in texts.items()},
        "function_id": pa.array(np.array([row.id for row in functions], np.int64)[flame.function]),
        "total": pa.array(flame.total_weight * factor),
        "self": pa.array(flame.self_weight * factor),
        "pruned": pa.array(flame.pruned_weight * factor),
        "effective": _taken(pa.array(flame.effective, pa.float64()), flame),
    }
    text = json.dumps(as_document(found.summary), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    table = pa.table(columns)
    return table.replace_schema_metadata({METADATA: text.encode("utf-8", "replace")})


def _by_function(flame: Flame, texts: Sequence[str | None]) -> "pa.Array[Any]":
    known = [None if text is None else text.encode("utf-8", "replace").decode() for text in texts]
    return _taken(pa.array(known, pa.string()).dictionary_encode(), flame)


def _taken(of_functions: "pa.Array[Any]", flame: Flame) -> "pa.Array[Any]":
    return of_functions.take(flame.function)
