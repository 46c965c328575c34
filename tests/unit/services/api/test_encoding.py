"""The binary flame graph, read by a decoder that shares nothing with the encoder."""

import json
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.api.encoding import encode_flame
from storage.query.shapes.flame import Flame


def decode(data: bytes) -> tuple[dict, list[tuple[float, float, int, int]]]:
    assert data[:4] == b"FPFL"
    version, count, size = struct.unpack("<3I", data[4:16])
    assert version == 1
    assert size % 8 == 0
    assert len(data) == 16 + size + 24 * count
    head = json.loads(data[16 : 16 + size].decode("utf-8"))
    at = 16 + size
    total = struct.unpack_from(f"<{count}d", data, at)
    own = struct.unpack_from(f"<{count}d", data, at + 8 * count)
    parent = struct.unpack_from(f"<{count}i", data, at + 16 * count)
    function = struct.unpack_from(f"<{count}i", data, at + 20 * count)
    return head, list(zip(total, own, parent, function, strict=True))


nodes = st.lists(
    st.tuples(st.integers(0, 2**50), st.integers(0, 2**50), st.integers(-1, 2**31 - 1)), min_size=1
)


@given(nodes, st.text(), st.sampled_from([None, 1e-9]))
def test_what_is_encoded_is_decoded(rows: list[tuple[int, int, int]], name: str, scale: float | None):
    total, own, parent = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    function = np.arange(len(rows), dtype=np.int32)
    flame = Flame(
        total=total,
        self=own,
        total_weight=total * 1.5,
        self_weight=own * 1.5,
        parent=parent.astype(np.int32),
        function=function,
        functions=(),
        effective=(),
        pruned_nodes=0,
        pruned_share=0.0,
    )
    head, found = decode(
        encode_flame({"functions": [{"name": name.encode("utf-8", "replace").decode()}]}, flame, scale)
    )
    assert head == {"functions": [{"name": name.encode("utf-8", "replace").decode()}]}
    factor = scale or 1.0
    assert found == [(t * 1.5 * factor, s * 1.5 * factor, p, i) for i, (t, s, p) in enumerate(rows)]
