"""GIVEN a text that names functions WHEN it is read THEN it means those, or what is wrong is pointed at."""

import numpy as np
import pytest

from storage.errors import BadSelection
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.subject import Subject, parse_lines_subject, parse_subject

ROWS = (("crc32", "crc.c", "libz"), ("crc32", "crc.c", "gzip"), ("operator={}", "", "libz"), ("main", "", ""))


@pytest.fixture
def functions() -> Functions:
    made = Functions()
    made._grow(len(ROWS) + 2)
    for id_, (name, file, binary) in enumerate(ROWS, 1):
        made._put(FunctionRow(id_, name, file, binary, Status.FULL, Kind.USER), id_, keyed=False)
    made._put(FunctionRow(5, "libz+0x40", "", "libz", Status.BINARY_ONLY, Kind.USER), 1, keyed=True)
    return made


def meant(functions: Functions, subject: Subject) -> list[int]:
    ids = np.arange(len(ROWS) + 1)
    return ids[subject.among(functions, ids)].tolist()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("crc32", [1, 2]),
        ("operator={}", [3]),
        ('{function="crc32",binary="gzip"}', [2]),
        ('{file!=""}', [1, 2]),
        ('{binary=~"lib.*"}', [1, 3]),
        ('{function!~"crc.*"}', [3, 4]),
        ("all", []),
    ],
)
def test_a_name_is_whole_and_matchers_stand_in_braces(functions: Functions, text: str, ids: list[int]):
    assert meant(functions, parse_subject(function=text)) == ids


def test_an_id_is_what_the_function_is_called_now(functions: Functions):
    assert meant(functions, Subject(2)) == [2]
    assert meant(functions, Subject(5)) == [1]
    assert meant(functions, Subject(2_000_000_000)) == []


def test_a_file_is_one_of_all_binaries_or_of_one(functions: Functions):
    assert meant(functions, parse_lines_subject(file="crc.c")) == [1, 2]
    assert meant(functions, parse_lines_subject(file="crc.c", binary="libz")) == [1]


@pytest.mark.parametrize(
    ("asked", "parameter", "at"),
    [
        ({}, "function", None),
        ({"function": "f", "function_id": 1}, "function", None),
        ({"function_id": 0}, "function_id", None),
        ({"function_id": 1 << 31}, "function_id", None),
        ({"function": '{file="a",application="x"}'}, "function", 10),
        ({"function": "{}"}, "function", 0),
        ({"function": '{function="x'}, "function", 10),
        ({"function": '{self.function="x"}'}, "function", 1),
    ],
)
def test_what_means_nothing_is_refused(asked: dict, parameter: str, at: int | None):
    with pytest.raises(BadSelection) as caught:
        parse_subject(**asked)
    assert (caught.value.parameter, caught.value.at) == (parameter, at)


@pytest.mark.parametrize(
    "asked", [{"binary": "lib"}, {"file": "a", "function": "f"}, {"file": "a", "function_id": 1}, {}]
)
def test_lines_of_nothing_are_refused(asked: dict):
    with pytest.raises(BadSelection):
        parse_lines_subject(**asked)
