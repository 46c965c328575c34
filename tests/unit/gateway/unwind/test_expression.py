import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.unwind.expression import CannotEvaluate, evaluate

MASK = 2**64 - 1


def compute(expression: str, registers=None, memory=None, initial=None) -> int:
    def register(number):
        try:
            return (registers or {})[number]
        except KeyError:
            raise CannotEvaluate("lost") from None

    return evaluate(bytes.fromhex(expression), register, (memory or {}).__getitem__, initial)


def test_the_plt_of_gnu_ld():
    # breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus: CFA is 8 further once the index is pushed.
    plt = "77 08 80 00 3f 1a 3b 2a 33 24 22"
    assert compute(plt, {7: 1000, 16: 0x400000}) == 1008
    assert compute(plt, {7: 1000, 16: 0x40000A}) == 1008
    assert compute(plt, {7: 1000, 16: 0x40000B}) == 1016
    assert compute(plt, {7: 1000, 16: 0x40001F}) == 1016


def test_a_realigned_stack():
    assert compute("76 78 06", {6: 0x7000}, {0x6FF8: 0x8000}) == 0x8000


def test_openssl_perlasm():
    # breg7 248; deref; plus_uconst 8
    assert compute("77 f8 01 06 23 08", {7: 0x1000}, {0x10F8: 0x5000}) == 0x5008


def test_the_initial_value_is_the_cfa():
    assert compute("", initial=77) == 77
    assert compute("12 22", initial=5) == 10


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("08 ff", 255),
        ("09 ff", MASK),
        ("0b fe ff", MASK - 1),
        ("0c ff ff ff ff", 0xFFFFFFFF),
        ("0e ff ff ff ff ff ff ff ff", MASK),
        ("10 80 01", 128),
        ("11 7f", MASK),
        ("35 32 1c", 3),
        ("35 32 1e", 10),
        ("37 32 1d", 1),
        ("09 f9 32 1b", MASK - 2),  # −7 / 2 is −3
        ("31 1f", MASK),
        ("30 20", MASK),
        ("09 fb 19", 5),
        ("31 08 40 24", 0),
        ("09 ff 08 3f 26", MASK),
        ("35 33 27", 6),
        ("35 33 21", 7),
        ("09 ff 31 2d", 1),
        ("09 ff 31 2b", 0),
        ("31 31 29", 1),
        ("31 32 2e", 1),
        ("31 32 2c", 1),
        ("31 32 16 1c", 1),
        ("31 32 14 1c 1c", 0),
        ("31 32 33 17 13", 1),
        ("31 32 33 15 02", 1),
        ("31 28 01 00 35 36", 6),  # the branch is taken over lit5
        ("30 28 01 00 35", 5),
        ("2f 01 00 35 36 96", 6),
    ],
)
def test_operations(expression, value):
    assert compute(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "22",
        "12",
        "70 00",
        "31 30 1b",
        "31 30 1d",
        "08",
        "2f fd ff",
        "2f 80 7f",
        "e0",
        "03 00",
        "15 05",
        "92 20 00",
    ],
)
def test_what_cannot_be_evaluated(expression):
    with pytest.raises(CannotEvaluate):
        compute(expression)


def test_a_growing_stack_is_refused():
    with pytest.raises(CannotEvaluate):
        compute("30" * 200)


@settings(deadline=None)
@given(st.binary(max_size=64))
def test_any_bytes_end(data):
    try:
        value = evaluate(data, lambda number: number, lambda address: address)
    except CannotEvaluate:
        return
    assert 0 <= value <= MASK
