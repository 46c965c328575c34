"""A decoder of the binary flame graph that shares nothing with the encoder."""

import json
import math
import struct
from typing import Any

FUNCTION_COLUMNS = ("id", "file", "binary", "status", "kind", "label")


def decode(data: bytes) -> tuple[dict[str, Any], list[tuple[float, float, int, int]]]:
    """The JSON answer's members but `nodes`, and the nodes."""
    assert data[:4] == b"FPFL"
    version, nodes, functions, size, zero = struct.unpack("<5I", data[4:24])
    assert (version, zero, size % 8) == (3, 0, 0)
    assert len(data) == 24 + size + 24 * nodes + 32 * functions
    head = json.loads(data[24 : 24 + size].decode("utf-8"))
    at = 24 + size

    def column(length: int, kind: str) -> tuple[Any, ...]:
        nonlocal at
        found = struct.unpack_from(f"<{length}{kind}", data, at)
        at += struct.calcsize(f"<{length}{kind}")
        return found

    total, own, effective = column(nodes, "d"), column(nodes, "d"), column(functions, "d")
    back, function = column(nodes, "i"), column(nodes, "i")
    assert back[0] == 0
    parent = [-1, *(node - back[node] for node in range(1, nodes))]
    columns = {name: column(functions, "i") for name in FUNCTION_COLUMNS}
    names, texts = head.pop("names"), head.pop("texts")
    assert len(texts) == len(set(texts))
    head["functions"] = [
        {
            "id": columns["id"][k],
            "name": names[k],
            **{text: texts[columns[text][k]] for text in ("file", "binary", "status", "kind")},
            "label": None if columns["label"][k] < 0 else texts[columns["label"][k]],
            "effective": None if math.isnan(effective[k]) else effective[k],
        }
        for k in range(functions)
    ]
    return head, list(zip(total, own, parent, function, strict=True))
