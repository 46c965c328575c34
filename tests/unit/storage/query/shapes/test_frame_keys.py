"""GIVEN keys of a table WHEN they are split THEN those that another one implies are gone."""

import pytest

from storage.errors import BadSelection
from storage.query.shapes.frame_keys import split_keys


@pytest.mark.parametrize(
    ("by", "labels", "frames"),
    [
        ("application", ("application",), ()),
        ("function", (), ("function",)),
        ("binary,function,file", (), ("function",)),
        ("binary,file", (), ("file", "binary")),
        ("line", (), ("file", "line")),
        ("line,binary", (), ("file", "binary", "line")),
        ("version,line,function,application,file", ("version", "application"), ("function", "line")),
    ],
)
def test_keys_are_labels_and_frame_keys_in_their_order(by: str, labels: tuple, frames: tuple):
    keys = split_keys(by.split(","))
    assert (keys.labels, keys.frames) == (labels, frames)
    assert keys.by_line == ("line" in by)
    assert keys.frame == ("+".join(frames) or None)


@pytest.mark.parametrize("by", [[], ["a", "a"], list("abcdefg")])
def test_none_or_too_many_are_refused(by: list[str]):
    with pytest.raises(BadSelection) as caught:
        split_keys(by)
    assert caught.value.parameter == "by"
