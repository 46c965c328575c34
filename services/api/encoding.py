"""The binary form of a flame graph: columns a browser can use where they lie.

All numbers little-endian:

    offset  size  what
    0       4     "FPFL"
    4       4     u32 version, 1
    8       4     u32 n, nodes
    12      4     u32 j, bytes of JSON, a multiple of 8
    16      j     JSON in UTF-8, padded with spaces: the answer without `nodes`
    16+j    8n    f64 total: estimated core-seconds of the fleet, or units for events not counted
                  in time; without a random design, what was observed
            8n    f64 self
            4n    i32 parent, −1 for the root
            4n    i32 function, index into the JSON's `functions`

Every column of f64 begins at a multiple of 8, as JavaScript's typed arrays need. Nodes stand in
depth-first preorder, children by descending total.
"""

import json
import struct
from typing import Any

from storage.query.shapes.flame import Flame

MEDIA_TYPE = "application/vnd.fleetprof.flame"
_HEADER = struct.Struct("<4sIII")
_MAGIC = b"FPFL"
_VERSION = 1
_ALIGNMENT = 8


def encode_flame(summary: dict[str, Any], flame: Flame, seconds_per_unit: float | None) -> bytes:
    """The bytes of a flame graph; `summary` is everything but its nodes."""
    head = json.dumps(summary, ensure_ascii=False, separators=(",", ":")).encode()
    head += b" " * (-len(head) % _ALIGNMENT)
    factor = 1.0 if seconds_per_unit is None else seconds_per_unit
    return b"".join(
        (
            _HEADER.pack(_MAGIC, _VERSION, len(flame.total), len(head)),
            head,
            (flame.total_weight * factor).astype("<f8").tobytes(),
            (flame.self_weight * factor).astype("<f8").tobytes(),
            flame.parent.astype("<i4").tobytes(),
            flame.function.astype("<i4").tobytes(),
        )
    )
