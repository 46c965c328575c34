"""Texts of sysfs: every one is understood as the kernel means it, or refused."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadFormat
from gateway.perf.sysfs_formats import Field, parse_format, parse_id, parse_scale, parse_unit


@st.composite
def fields(draw: st.DrawFn) -> Field:
    """A term whose bits lie in up to four ranges, in any order."""
    cuts = sorted(draw(st.sets(st.integers(0, 64), min_size=2, max_size=8)))
    ranges = [(low, high - 1) for low, high in zip(cuts[::2], cuts[1::2], strict=False)]
    return Field(
        draw(st.sampled_from(["config", "config1", "config2"])), tuple(draw(st.permutations(ranges)))
    )


def spelled(field: Field) -> str:
    parts = [str(low) if low == high else f"{low}-{high}" for low, high in field.ranges]
    return f"{field.word}:{','.join(parts)}\n"


@given(fields())
def test_a_format_is_read_as_it_is_written(field: Field):
    assert parse_format(spelled(field)) == field


@given(fields(), st.data())
def test_the_bits_of_a_value_come_back_from_their_places(field: Field, data: st.DataObject):
    value = data.draw(st.integers(0, (1 << field.width) - 1))
    placed = field.place(value)
    assert placed & ~field.mask == 0
    back, shift = 0, 0
    for low, high in field.ranges:
        for bit in range(low, high + 1):
            back |= (placed >> bit & 1) << shift
            shift += 1
    assert back == value


@given(fields(), st.integers(0, 1 << 80))
def test_a_value_that_does_not_fit_is_refused_not_cut(field: Field, more: int):
    with pytest.raises(BadFormat):
        field.place((1 << field.width) + more)


def test_amds_event_numbers_have_their_upper_bits_elsewhere():
    assert parse_format("config:0-7,32-35\n").place(0x1A0) == 0x1_0000_00A0


@pytest.mark.parametrize("text", ["", "config", "config:", "config3:0-7", "config:7-0", "config:0-64", "config:0-7,3", "config:0,", "bits:0"])  # fmt: skip
def test_what_is_no_place_of_a_term(text: str):
    with pytest.raises(BadFormat):
        parse_format(text)


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("6.103515625e-5\n", 2.0**-14),
        ("2.3283064365386962890625e-10\n", 2.0**-32),
        ("1", 1.0),
        ("0.5", 0.5),
        (".5", 0.5),
    ],
)
def test_scales_of_real_machines(text: str, scale: float):
    assert parse_scale(text) == scale


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_a_scale_is_the_number_it_says(scale: float):
    assert math.isclose(parse_scale(repr(scale)), scale)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("MiB\n", ("bytes", 2.0**20)), ("Joules\n", ("joules", 1.0)), ("Furlongs\n", ("Furlongs", 1.0))],
)
def test_units_of_real_machines_are_ours(text: str, unit: tuple[str, float]):
    assert parse_unit(text) == unit


@given(st.text(max_size=100))
def test_any_text_is_understood_or_refused(text: str):
    for read in (parse_format, parse_scale, parse_unit, parse_id):
        with suppress(BadFormat):
            read(text)


@pytest.mark.parametrize("text", ["", "-1", "x", "4294967296", "1" * 5000, "٣", "1 2"])
def test_what_is_no_number_of_an_event(text: str):
    with pytest.raises(BadFormat):
        parse_id(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1e400", "1e", ".", "0x1", "1_0"])
def test_what_is_no_scale(text: str):
    with pytest.raises(BadFormat):
        parse_scale(text)
