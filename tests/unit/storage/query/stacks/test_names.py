"""GIVEN names as arrays WHEN they are looked up THEN they are what a dictionary says, mapped or not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.stacks.name_table import NamedFunction, Texts, names_of

a_text = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=6)


@given(st.lists(a_text, max_size=30), st.data())
def test_texts_are_those_that_were_put_in(texts: list[str], data: st.DataObject):
    found = Texts.of(texts)
    assert [found[number] for number in range(len(found))] == texts
    some = sorted(data.draw(st.sets(st.integers(0, len(texts) - 1)))) if texts else []
    assert list(found.some(np.array(some, np.int64))) == [texts[number] for number in some]
    ordered = sorted(set(texts), key=str.encode)
    for text in (*texts, data.draw(a_text)):
        number = Texts.of(ordered).number(text)
        assert (ordered[number] == text) if text in ordered else number == -1


def test_many_scattered_texts_are_those_that_were_put_in():
    texts = [f"text {number}" for number in range(9000)]
    for step in (1, 3, 7):
        some = np.arange(0, 9000, step)
        assert list(Texts.of(texts).some(some)) == texts[::step]


a_function = st.builds(
    NamedFunction,
    name=a_text,
    file=st.sampled_from(("", "a.c", "b.c", "é")),
    binary=st.sampled_from(("", "a.c", "prog")),
    status=st.sampled_from(list(Status)).map(int),
    kind=st.sampled_from(list(Kind)).map(int),
    keyed=st.booleans(),
    canonical=st.just(0),
)


@given(st.dictionaries(st.integers(1, 60), a_function, max_size=20), st.data())
def test_functions_are_called_what_their_rows_say(rows: dict[int, NamedFunction], data: st.DataObject):
    called = {id_: data.draw(st.sampled_from(list(rows))) for id_ in rows}
    functions = Functions(
        names_of(
            {
                id_: NamedFunction(r.name, r.file, r.binary, r.status, r.kind, r.keyed, called[id_])
                for id_, r in rows.items()
            }
        )
    )
    ids = np.array(data.draw(st.lists(st.sampled_from([0, *rows]), max_size=30)), np.int64)
    assert functions.rows(ids) == [
        FunctionRow(id_, r.name, r.file, r.binary, Status(r.status), Kind(r.kind))
        if (r := rows.get(id_))
        else FunctionRow(0, "all", "", "", Status.FULL, Kind.MARKER)
        for id_ in ids.tolist()
    ]
    assert functions.canonical(ids).tolist() == [called.get(id_, 0) for id_ in ids.tolist()]
    sought = data.draw(a_text)
    assert functions.matching(ids, lambda name: sought in name).tolist() == [
        id_ > 0 and sought in rows[id_].name for id_ in ids.tolist()
    ]
    assert [functions.text(number) for number in functions.file(ids).tolist()] == [
        rows[id_].file if id_ else "" for id_ in ids.tolist()
    ]
    texts = {number: functions.text(number) for number in (*functions.file(ids), *functions.binary(ids))}
    assert len(set(texts.values())) == len(texts), "equal texts have one number"
