"""GIVEN chunks that were decoded WHEN they are asked for again THEN they are as they were written last."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.query.facts.chunk_cache import NOTHING, Decoded, decoded

some_profiles = st.dictionaries(
    st.integers(1, 40),
    st.tuples(
        st.integers(1, 3), st.lists(st.tuples(st.integers(1, 99), st.integers(1, 1 << 40)), max_size=4)
    ),
    max_size=8,
)
"""Version and facts by id."""


def of(profiles: dict[int, Any]) -> Decoded:
    rows = sorted(profiles.items())
    facts = [fact for _, (_, found) in rows for fact in found]
    return decoded(
        np.array([id_ for id_, _ in rows], np.int64),
        np.array([version for _, (version, _) in rows], np.int64),
        np.array([10 * id_ for id_, _ in rows], np.int64),
        np.array([len(found) for _, (_, found) in rows], np.int64),
        np.array([stack for stack, _ in facts], np.int64),
        np.array([samples for _, samples in facts], np.int64),
    )


@given(some_profiles, some_profiles, st.data())
def test_what_is_joined_has_the_newer_of_each(older, newer, data):
    day = NOTHING.joined(of(older)).joined(of(newer))
    now = older | newer
    assert day.profile.tolist() == sorted(now)
    asked = sorted(data.draw(st.sets(st.sampled_from(sorted(now)))) if now else set())
    expected = [fact for id_ in asked for fact in now[id_][1]]
    stacks, samples = day.facts(np.array(asked, np.int64))
    assert list(zip(stacks.tolist(), samples.tolist(), strict=True)) == expected
    assert day.bytes_of(np.array([*asked, 99], np.int64)) == 10 * sum(asked)
    ids = np.arange(1, 42)
    versions = np.array([data.draw(st.integers(1, 3)) for _ in ids])
    assert day.has(ids, versions).tolist() == [
        id_ in now and now[id_][0] == version
        for id_, version in zip(ids.tolist(), versions.tolist(), strict=True)
    ]
