"""Collapsed stacks and speedscope's files, read back."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.api.formats import collapsed, speedscope
from services.api.formats.stack_profile import LEFT_OUT, NO_FRAMES, NO_VALUE, Value
from storage.ingest.marker_frames import Kind
from tests.stack_tables import GROUPS, Made, made

VALUES = st.sampled_from(list(Value))


def expected(case: Made, value: Value, written) -> Counter:
    """Sums by the frames that a reader should see."""
    found: Counter = Counter()
    for fact in case.facts:
        labels = [text or NO_VALUE for text in GROUPS[fact.group]] if case.grouped else []
        frames = tuple(written(case.functions[id_ - 1]) for id_ in fact.stack)
        count = {
            Value.SAMPLES: fact.samples,
            Value.OBSERVED: 10 * fact.samples,
            Value.ESTIMATE: 10 * fact.samples * fact.factor,
        }[value]
        found[
            (*(label.replace(";", ":") if written is line_name else label for label in labels), *frames)
        ] += count
    return found


def line_name(row) -> str:
    name = re.sub("[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", row.name).replace(";", ":").strip()
    clean = (name or NO_FRAMES).encode("utf-8", "replace").decode()
    return clean + ("_[k]" if row.kind == Kind.KERNEL else "")


def scope_name(row) -> str:
    return (row.name or NO_FRAMES).encode("utf-8", "replace").decode()


def alike(found: Counter, wanted: Counter, case: Made, left_out: float) -> None:
    tolerance = len(case.facts) + 1  # estimates are rounded, stack by stack
    if case.most == 1000:
        assert found.keys() == wanted.keys()
        assert all(abs(found[key] - wanted[key]) <= tolerance for key in found)
    assert sum(found.values()) + left_out == pytest.approx(sum(wanted.values()), abs=tolerance)


@settings(deadline=None, max_examples=40)
@given(made(), VALUES)
def test_lines_hold_every_stack(case: Made, value: Value) -> None:
    text = b"".join(collapsed.lines(case.profile, value)).decode()
    found: Counter = Counter()
    left_out = 0
    for line in text.split("\n")[:-1]:
        path, _, count = line.rpartition(" ")
        assert re.fullmatch("[0-9]+", count)
        if path == LEFT_OUT:
            left_out = int(count)
        else:
            found[tuple(path.split(";"))] += int(count)
    assert text == "" or text.endswith("\n")
    alike(found, expected(case, value, line_name), case, left_out)


@settings(deadline=None, max_examples=40)
@given(made(), VALUES)
def test_speedscope_has_every_stack(case: Made, value: Value) -> None:
    file = json.loads(b"".join(speedscope.parts(case.profile, value)))
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    (profile,) = file["profiles"]
    assert profile["unit"] == ("none" if value is Value.SAMPLES else "nanoseconds")
    assert profile["endValue"] == sum(profile["weights"])
    names = [frame["name"] for frame in file["shared"]["frames"]]
    found: Counter = Counter()
    left_out = 0
    for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
        stack = tuple(names[number] for number in sample)
        if stack == (LEFT_OUT,):
            left_out = weight
        else:
            found[stack] += weight
    alike(found, expected(case, value, scope_name), case, left_out)


@settings(deadline=None, max_examples=40)
@given(made())
def test_lines_stand_in_order(case: Made) -> None:
    once = b"".join(collapsed.lines(case.profile, Value.SAMPLES))
    assert once == b"".join(collapsed.lines(case.profile, Value.SAMPLES))
