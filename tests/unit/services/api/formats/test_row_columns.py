"""GIVEN documents and the models that describe them WHEN their rows become columns THEN nothing changes but the form."""

import csv
import io
import json
from dataclasses import dataclass
from typing import Literal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.api.formats.arrow import as_arrow
from services.api.formats.csv_text import as_csv
from services.api.formats.row_columns import METADATA, Rows
from storage.query.answers.answer import Answer, Share


@dataclass(frozen=True, slots=True)
class Interval(Answer):
    value: float
    lo: float


@dataclass(frozen=True, slots=True)
class Row(Answer):
    key: dict[str, str]
    function_id: int | None
    share: Share
    from_: str
    state: Literal["on", "off"]
    low_confidence: bool
    estimate: Interval | None
    points: tuple[Interval, ...]
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Document(Answer):
    by: tuple[str, ...]
    rows: tuple[Row, ...]
    rows_total: int


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
INTERVALS = st.fixed_dictionaries({"value": st.floats(0, 1e9), "lo": st.floats(0, 1)})
ROWS = st.fixed_dictionaries(
    {
        "key": st.fixed_dictionaries({"application": TEXTS, "binary": TEXTS}),
        "function_id": st.none() | st.integers(-(2**63), 2**63 - 1),
        "share": st.floats(0, 1),
        "from": TEXTS,
        "state": st.sampled_from(["on", "off"]),
        "low_confidence": st.booleans(),
        "estimate": st.none() | INTERVALS,
        "points": st.lists(INTERVALS, max_size=2),
        "counts": st.dictionaries(TEXTS, st.integers(0, 9), max_size=2),
    }
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "by": st.just(["application", "binary"]),
        "rows": st.lists(ROWS, max_size=4),
        "rows_total": st.integers(0, 9),
    }
)
TABLE = Rows(Document, ("rows",))


@settings(deadline=None, max_examples=40)
@given(DOCUMENTS)
def test_columns_hold_what_the_document_says(document: dict) -> None:
    with pa.ipc.open_stream(as_arrow(TABLE.table(document))) as stream:
        table = stream.read_all()
    assert json.loads(table.schema.metadata[METADATA]) == {k: v for k, v in document.items() if k != "rows"}
    rows = [
        {
            "key": {"application": row["application"], "binary": row["binary"]},
            "function_id": row["function_id"],
            "share": row["share"],
            "from": row["from"],
            "state": row["state"],
            "low_confidence": row["low_confidence"],
            "estimate": None
            if row["estimate.value"] is None
            else {"value": row["estimate.value"], "lo": row["estimate.lo"]},
            "points": row["points"],
            "counts": dict(row["counts"]),
        }
        for row in table.to_pylist()
    ]
    assert rows == document["rows"]


@settings(deadline=None, max_examples=40)
@given(DOCUMENTS)
def test_columns_are_the_same_for_every_answer(document: dict) -> None:
    assert TABLE.table(document).schema.equals(TABLE.table({**document, "rows": []}).schema)


def test_a_function_is_five_columns_even_if_there_is_none() -> None:
    table = TABLE.table({"by": ["application", "function"], "rows": [], "rows_total": 0})
    assert table.column_names[:6] == ["application", "function", "file", "binary", "status", "kind"]
    assert table.schema.field("function").type == pa.dictionary(pa.int32(), pa.string())
    assert table.schema.field("function_id").type == pa.int64()


def test_a_label_with_the_name_of_a_column_has_a_column_of_its_own() -> None:
    row = {"key": {"share": "eu", "host": "a"}, "share": 0.5}
    table = TABLE.table({"by": ["share", "host"], "rows": [row], "rows_total": 1})
    assert table.column("key.share").to_pylist() == ["eu"]
    assert (table.column("share").to_pylist(), table.column("host").to_pylist()) == ([0.5], ["a"])


@settings(deadline=None, max_examples=40)
@given(DOCUMENTS)
def test_csv_reads_as_it_was_but_for_formulas(document: dict) -> None:
    text = as_csv(TABLE.table(document)).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(document["rows"])
    for found, row in zip(rows, document["rows"], strict=True):
        for name, value in (*row["key"].items(), ("from", row["from"])):
            assert found[name] in {value, f"'{value}"}
            assert not found[name].lstrip().startswith(("=", "+", "-", "@"))
        assert float(found["share"]) == row["share"]
        assert found["low_confidence"] == str(row["low_confidence"]).lower()
        assert json.loads(found["points"]) == row["points"]
        assert found["function_id"] == ("" if row["function_id"] is None else str(row["function_id"]))


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ('=HYPERLINK("http://x")', """'=HYPERLINK(""http://x"")"""),
        (" \t=1", "' \t=1"),
        ("-[Cls foo]", "'-[Cls foo]"),
        ("a=1", "a=1"),
        ("std::less<int, char>", "std::less<int, char>"),
        ("two\nlines", "two\nlines"),
        ("", ""),
    ],
)
def test_names_are_no_formulas(name: str, cell: str) -> None:
    @dataclass(frozen=True)
    class Named(Answer):
        name: str | None

    @dataclass(frozen=True)
    class All(Answer):
        rows: tuple[Named, ...]

    rows = Rows(All, ("rows",))
    assert as_csv(rows.table({"rows": [{"name": name}, {"name": None}]})).decode() == f'"name"\n"{cell}"\n\n'


def test_rows_within_rows_and_documents_that_are_one_row() -> None:
    @dataclass(frozen=True)
    class Value(Answer):
        value: str

    @dataclass(frozen=True)
    class Label(Answer):
        name: str
        values: tuple[Value, ...]
        more: int

    @dataclass(frozen=True)
    class Labels(Answer):
        labels: tuple[Label, ...]
        total: int

    document = {
        "labels": [
            {"name": "a", "values": [{"value": "x"}, {"value": "y"}], "more": 1},
            {"name": "b", "values": [], "more": 0},
        ],
        "total": 7,
    }
    values = Rows(Labels, ("labels", "values")).table(document)
    assert values.to_pylist() == [
        {"name": "a", "more": 1, "value": "x"},
        {"name": "a", "more": 1, "value": "y"},
    ]
    whole = Rows(Labels, ()).table(document).to_pylist()
    assert whole == [document]


def test_a_name_that_is_no_unicode_fails_no_answer() -> None:
    row = {
        "key": {"application": "caf\udce9", "binary": ""},
        "function_id": 1,
        "share": 0.5,
        "from": "",
        "state": "on",
        "low_confidence": False,
        "estimate": None,
        "points": [],
        "counts": {"\udce9": 1},
    }
    document = {"by": ["application", "binary"], "rows": [row], "rows_total": 1}
    found = TABLE.table(document).to_pylist()[0]
    assert (found["application"], found["counts"]) == ("caf?", [("?", 1)])


def test_models_that_fit_no_columns_are_told_at_once() -> None:
    @dataclass(frozen=True)
    class Odd(Answer):
        many: tuple[Interval, ...]
        odd: bytes

    with pytest.raises(TypeError, match="bytes"):
        Rows(Odd, ()).columns()
    with pytest.raises(TypeError, match="not a list"):
        Rows(Odd, ("odd",)).columns()


def test_others_read_the_stream() -> None:
    document = {
        "by": ["function"],
        "rows_total": 1,
        "rows": [
            {
                "key": {"function": "malloc", "file": "", "binary": "libc", "status": "full", "kind": "user"},
                "function_id": 3,
                "share": 0.25,
                "from": "x",
                "state": "on",
                "low_confidence": True,
                "estimate": None,
                "points": [{"value": 1.0, "lo": 0.5}],
                "counts": {"a": 1},
            }
        ],
    }
    with duckdb.connect() as connection, pa.ipc.open_stream(as_arrow(TABLE.table(document))) as reader:
        connection.register("answer", reader)
        found = connection.execute('SELECT function, share, "estimate.value" FROM answer').fetchall()
    assert found == [("malloc", 0.25, None)]
