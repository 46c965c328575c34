import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.dictionary_sweep.marks import Marks

ids = st.lists(st.integers(-1, 60), max_size=60)


@given(st.integers(0, 40), st.lists(ids, max_size=5), st.sets(st.integers(1, 40)))
def test_unused_is_what_no_batch_had(highest: int, batches: list[list[int]], there: set[int]) -> None:
    marks = Marks({"stack": highest, "function": 3})
    for batch in batches:
        marks.use("stack", np.array(batch, np.int64))
    present = sorted(id_ for id_ in there if id_ <= highest)
    used = {id_ for batch in batches for id_ in batch}
    assert marks.unused("stack", np.array(present, np.int64)).tolist() == [
        i for i in present if i not in used
    ]
    assert marks.unused("function", np.array([1, 2, 3], np.int64)).tolist() == [1, 2, 3]
