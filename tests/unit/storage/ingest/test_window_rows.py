"""Which images samples went through, against a loop over stacks and their frames."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.ingest.window_rows import _FEW_IMAGES, _samples_through

STACKS = st.lists(st.lists(st.integers(0, 19), max_size=6), max_size=12)


@pytest.mark.slow
@pytest.mark.parametrize("images", [1, 3, 64, 65, 200, _FEW_IMAGES, _FEW_IMAGES + 1])
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


@pytest.mark.parametrize(("images", "most"), [(_FEW_IMAGES, _FEW_IMAGES // 64), (500_000, 0)])
def test_a_capture_of_many_mappings_takes_few_passes_over_its_frames(
    images: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = 0
    real = np.unpackbits

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal passes
        passes += 1
        return real(*args, **kwargs)

    monkeypatch.setattr(np, "unpackbits", counted)
    one = np.ones(1, np.int64)
    found = _samples_through(one - 1, one - 1, one, np.array([[3], [5]]), images)
    assert found[:, 0].tolist() == [3, 5]
    assert passes == most
