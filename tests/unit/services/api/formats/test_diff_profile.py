"""Collapsed stacks of two selections."""

from dataclasses import replace

import numpy as np

from services.api.formats import diff_profile
from services.api.formats.stack_profile import StackProfile, Value
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks.function_names import FunctionRow
from tests.stack_tables import Fact, Made

ROWS = tuple(
    FunctionRow(id_, name, "", "prog", Status.FULL, kind)
    for id_, name, kind in ((1, "a;b", Kind.USER), (2, "read", Kind.KERNEL), (3, "c", Kind.USER))
)


def compared(*facts: Fact) -> StackProfile:
    """A profile whose second group is the base."""
    made = Made(ROWS, facts, grouped=True).profile
    sign = np.where(made.table.group == 1, -1, 1)
    return replace(made, values=tuple(replace(v, of_row=v.of_row * sign) for v in made.values))


def test_a_line_has_the_base_and_then_the_selection() -> None:
    profile = compared(
        Fact((1,), 0, 3, 2.0), Fact((1,), 1, 5, 1.0), Fact((1, 2), 1, 4, 1.0), Fact((3,), 0, 7, 1.0)
    )
    for value, text in (
        (Value.SAMPLES, "a:b 5 3\na:b;read_[k] 4 0\nc 0 7\n"),
        (Value.ESTIMATE, "a:b 50 60\na:b;read_[k] 40 0\nc 0 70\n"),
    ):
        assert b"".join(diff_profile.lines(profile, value)).decode() == text


def test_what_is_nothing_on_both_sides_has_no_line() -> None:
    assert b"".join(diff_profile.lines(compared(Fact((1,), 0, 0, 1.0)), Value.SAMPLES)) == b""
    assert list(diff_profile.lines(compared(), Value.SAMPLES)) == []
