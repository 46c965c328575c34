"""Which images samples went through, against a loop over stacks and their frames."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.landing.observations import _samples_through

STACKS = st.lists(st.lists(st.integers(0, 19), max_size=6), max_size=12)


@pytest.mark.parametrize("images", [1, 3, 64, 65, 200])
@given(stacks=STACKS, seed=st.integers(0, 1000))
def test_a_stack_counts_once_for_each_image_in_it(images: int, stacks: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = rng.integers(-1, images, 20)
    image[:2] = images - 1, -1  # the last one, and none
    per_stack = rng.integers(0, 1 << 40, (2, len(stacks)))
    expected = np.zeros((2, images), np.int64)
    for frames, samples in zip(stacks, per_stack.T, strict=True):
        for which in {int(image[frame]) for frame in frames} - {-1}:
            expected[:, which] += samples
    flat = np.array([frame for frames in stacks for frame in frames], np.int64)
    length = np.array([len(frames) for frames in stacks], np.int64)
    assert _samples_through(image, flat, length, per_stack, images).tolist() == expected.tolist()
