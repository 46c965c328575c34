"""GIVEN a file of machines WHEN it is read THEN all of it is taken, or every mistake is named with its line."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import CollectorError
from collector.inventory_file import read_inventory
from storage.inventory import NewMachine

names = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=20)
words = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=20)
inventories = st.lists(
    st.builds(
        NewMachine,
        name=names,
        address=st.sampled_from(["unix:/run/g.sock", "node:7071", "[::1]:7071", "10.0.0.1:1"]),
        datacenter=words,
        cluster=words,
        labels=st.dictionaries(st.sampled_from(["rack", "team", "tier"]), words.filter(bool)),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda machine: machine.name,
)


def as_dict(machine):
    return {
        "name": machine.name,
        "address": machine.address,
        "datacenter": machine.datacenter,
        "cluster": machine.cluster,
        "labels": machine.labels,
    }


@given(inventories, st.sampled_from([None, 2]))
def test_json_round_trip(machines, indent):
    assert read_inventory(json.dumps([as_dict(m) for m in machines], indent=indent)) == machines
    assert read_inventory("\n".join(json.dumps(as_dict(m)) for m in machines)) == machines


@given(inventories)
def test_csv_round_trip(machines):
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["name", "address", "datacenter", "cluster", "rack", "team", "tier"])
    for m in machines:
        labels = [m.labels.get(label, "") for label in ("rack", "team", "tier")]
        writer.writerow([m.name, m.address, m.datacenter, m.cluster, *labels])
    assert read_inventory(out.getvalue()) == machines


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    with suppress(CollectorError):
        assert read_inventory(text)


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("", ["line 1: the header has no column 'name'"]),
        ("name,address\n", ["contains no machine"]),
        ("name,address,name\na,h:1,b", ["has a column twice"]),
        ("name,address\na,h:1\n\nb,h:1,x", ["line 4: 3 cells under a header of 2"]),
        (
            "name,address\na,foo\nb,h:99999\nb,h:1\nb,h:2",
            [
                "line 2: Invalid address 'foo'",
                "line 3: Invalid address 'h:99999'",
                "line 5: 'b' is on line 4",
            ],
        ),
        ("name,address,platform\na,h:1,Zen", ["line 2: Invalid label 'platform'"]),
        ("name,address,a b\na,h:1,x", ["line 2: Invalid label 'a b'"]),
        ("name,address\na b,h:1", ["line 2: Invalid name 'a b'"]),
        ("name,address\na,unix:relative", ["line 2: Invalid socket 'unix:relative'"]),
        ("name,address\na,unix:/" + "x" * 200, ["longer than the 107 bytes"]),
        ('[{"name":"a",\n"address":"h:1"},\n{"name":"b"}]', ["line 3: b has no address"]),
        ('[{"name":"a","address":"h:1","rack":"7"}]', ["line 1: Unknown field 'rack'"]),
        ('[{"name":"a","address":"h:1"}', ["not closed"]),
        ('[{"name":"a","address":"h:1"}] trailing', ["not closed by ']', or more follows"]),
        ('[{"name":1,"address":"h:1"}]', ["line 1: name is not a string"]),
        ('[{"name":"a","address":"h:1","labels":[]},\n7]', ["line 2: a machine is an object"]),
        ('[{"name":"a","address":"h:1","labels":"x"}]', ['line 1: "labels" is not an object']),
    ],
)
def test_mistakes_are_named_with_their_line(text, mistakes):
    with pytest.raises(CollectorError) as caught:
        read_inventory(text)
    for mistake in mistakes:
        assert mistake in str(caught.value)


def test_a_long_list_of_mistakes_is_cut():
    text = "name,address\n" + "".join(f"m{n},nowhere\n" for n in range(50))
    with pytest.raises(CollectorError, match="and 30 more"):
        read_inventory(text)
