"""Pressure stall information."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.machine.pressure import PressureStall, parse_pressure, read_pressure, stalled_us
from tests.fake_sysfs import write

CPU = "some avg10=1.53 avg60=0.87 avg300=0.73 total=100\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


@pytest.mark.parametrize(
    ("text", "stalls"),
    [
        (CPU, {"some": PressureStall(1.53, 100), "full": PressureStall(0.0, 0)}),
        ("full avg10=9.00 avg60=0 avg300=0 total=7\n", {"full": PressureStall(9.0, 7)}),
        ("", {}),
        ("\n\n", {}),
        ("some avg10=nan total=1", {}),
        ("some avg10=1e999 total=1", {}),
        ("some avg10=1", {}),
        ("some total=1", {}),
        ("some avg10=-1 total=1", {}),
        ("some avg10=101 total=1", {}),
        ("some avg10=1 total=-5", {}),
        ("half avg10=1 total=5", {}),
    ],
)
def test_lines(text: str, stalls: dict[str, PressureStall]):
    assert parse_pressure(text) == stalls


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from([*CPU.split(), "\n", " ", "=", "avg10=", "total="])).map("".join)
)
def test_any_text(text: str):
    assert all(0 <= stall.avg10 <= 100 and stall.total_us >= 0 for stall in parse_pressure(text).values())


def test_what_was_stalled_meanwhile(tmp_path: Path):
    write(tmp_path, "pressure/cpu", CPU)
    write(tmp_path, "pressure/io", CPU)
    before = read_pressure(proc=tmp_path)
    assert before.keys() == {"cpu", "io"}
    assert before["cpu"].keys() == {"some"}
    assert before["io"].keys() == {"some", "full"}
    write(tmp_path, "pressure/cpu", CPU.replace("total=100", "total=350"))
    write(tmp_path, "pressure/io", CPU.replace("total=100", "total=90"))
    assert stalled_us(before, read_pressure(proc=tmp_path)) == {"cpu": 250, "io": 0}


def test_a_kernel_without_it(tmp_path: Path):
    assert read_pressure(proc=tmp_path) == {}
