"""The binary flame graph, read by a decoder that shares nothing with the encoder, says what the JSON says."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.api.formats.flame_columns import encode_flame
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.answers.answer import as_document
from storage.query.facts.visit_scan import SampleType
from storage.query.shapes.flame_nodes import Flame
from storage.query.stacks.function_names import FunctionRow
from tests.flame_columns import decode
from tests.flame_trees import tree_of

nodes = st.lists(
    st.tuples(st.integers(0, 2**50), st.integers(0, 2**50), st.integers(-1, 2**31 - 1)), min_size=1
)
texts = st.text(max_size=5)
functions = st.lists(
    st.tuples(
        st.builds(
            FunctionRow,
            st.integers(-(2**31), 2**31 - 1),
            st.text(),
            texts,
            texts,
            st.sampled_from(Status),
            st.sampled_from(Kind),
        ),
        st.none() | st.floats(0, 1e300),
        texts,
    )
)


@given(nodes, functions, st.booleans(), st.sampled_from(["nanoseconds", "count"]))
def test_what_is_encoded_is_decoded(
    rows: list[tuple[int, int, int]],
    called: list[tuple[FunctionRow, float | None, str]],
    labelled: bool,
    unit: str,
):
    rows[0] = (*rows[0][:2], -1)
    total, own, parent = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    function = np.arange(len(rows), dtype=np.int32)
    flame = Flame(
        total=total,
        self=own,
        total_weight=total * 1.5,
        self_weight=own * 1.5,
        parent=parent.astype(np.int32),
        function=function,
        functions=tuple(row for row, _, _ in called),
        effective=tuple(effective for _, effective, _ in called),
        pruned_nodes=0,
        pruned_share=0.0,
        labels=tuple(label for _, _, label in called) if labelled else (),
    )
    tree = tree_of(flame, SampleType("cpu", unit, 1))
    head, found = decode(encode_flame(tree))
    assert head == {
        **as_document(tree.summary),
        "functions": [
            {
                "id": row.id,
                **{name: getattr(row, name) for name in ("name", "file", "binary")},
                "status": row.status.name.lower(),
                "kind": row.kind.name.lower(),
                "label": (label or None) if labelled else None,
                "effective": effective,
            }
            for row, effective, label in called
        ],
    }
    factor = 1e-9 if unit == "nanoseconds" else 1.0
    assert found == [(t * 1.5 * factor, s * 1.5 * factor, p, i) for i, (t, s, p) in enumerate(rows)]
