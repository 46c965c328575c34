"""The binary form of a flame graph: columns that a browser can use in place.

All numbers little-endian:

    offset     size  what
    0          4     "FPFL"
    4          4     u32 version, 3; each change of the layout changes it
    8          4     u32 n, nodes
    12         4     u32 f, functions
    16         4     u32 j, bytes of JSON, a multiple of 8
    20         4     u32 0
    24         j     JSON in UTF-8, padded with spaces: the answer without `nodes` and `functions`, with
                     `names` of the functions and distinct `texts`, into which columns below are indices
    24+j       8n    f64 total: estimated core-seconds of the fleet, or units for events not counted
                     in time; without a random design, what was observed
               8n    f64 self
               8f    f64 effective of the functions, NaN for null
               4n    i32 distance back to the parent in nodes, 0 for the root
               4n    i32 index of the function
               4f    i32 id of the functions
               4f    i32 file of the functions, an index into `texts`, as the following are
               4f    i32 binary
               4f    i32 status
               4f    i32 kind
               4f    i32 label, −1 for null

Every f64 column begins at a multiple of 8, as JavaScript's typed arrays require. Nodes are in depth-first
preorder, children by descending total. Functions are columns, too: 4700 of them as JSON objects took 13 ms
of a CPU to encode; as columns they and 20,000 nodes take 3 ms.
"""

import struct
from collections.abc import Iterable, Sequence

import numpy as np

from services.api.encoded_response import as_json
from storage.arrays import Int32
from storage.query.answers.answer import as_document
from storage.query.shapes.flame import FlameTree
from storage.query.stacks.function_names import KINDS, STATUSES, FunctionRow

MEDIA_TYPE = "application/vnd.fleetprof.flame"
_HEADER = struct.Struct("<4s5I")
_MAGIC = b"FPFL"
_VERSION = 3
_ALIGNMENT = 8


def encode_flame(found: FlameTree) -> bytes:
    """The bytes of a flame graph."""
    flame = found.flame
    functions, texts = flame.functions, _Texts()
    columns = _function_columns(functions, flame.labels, texts)
    names = [row.name for row in functions]
    head = as_json({**as_document(found.summary), "names": names, "texts": texts.known})[0]
    head += b" " * (-len(head) % _ALIGNMENT)
    seconds_per_unit = found.kind.seconds_per_unit
    factor = 1.0 if seconds_per_unit is None else seconds_per_unit
    return b"".join(
        (
            _HEADER.pack(_MAGIC, _VERSION, len(flame.total), len(functions), len(head), 0),
            head,
            (flame.total_weight * factor).astype("<f8").tobytes(),
            (flame.self_weight * factor).astype("<f8").tobytes(),
            np.array(flame.effective, "<f8").tobytes(),  # None becomes NaN
            _back(flame.parent).astype("<i4").tobytes(),
            flame.function.astype("<i4").tobytes(),
            *(column.astype("<i4").tobytes() for column in columns),
        )
    )


def _back(parent: Int32) -> Int32:
    """The distance from each node back to its parent: mostly small, so it compresses to a fifth of an index."""
    back = np.arange(len(parent), dtype=np.int32) - parent
    back[:1] = 0
    return back


class _Texts:
    """Distinct texts and their indices."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def known(self) -> list[str]:
        """The texts in the order of their indices."""
        return list(self._places)

    def places(self, texts: Iterable[str]) -> Int32:
        """The indices of the given texts."""
        places = self._places
        return np.array([places.setdefault(text, len(places)) for text in texts], np.int32)


def _function_columns(rows: Sequence[FunctionRow], labels: Sequence[str], texts: _Texts) -> tuple[Int32, ...]:
    """Id, file, binary, status, kind and label of functions; all but the id as indices into `texts`."""
    none = np.full(len(rows), -1, np.int32)
    return (
        np.array([row.id for row in rows], np.int32),
        texts.places(row.file for row in rows),
        texts.places(row.binary for row in rows),
        texts.places(STATUSES[row.status] for row in rows),
        texts.places(KINDS[row.kind] for row in rows),
        np.where([bool(label) for label in labels], texts.places(labels), none) if labels else none,
    )
