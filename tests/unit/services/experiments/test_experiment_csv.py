"""GIVEN a file of experiments WHEN it is read THEN all of it is understood, or every fault is told by line and column."""

import csv
import io
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.interference.experiments import Metric, Run
from services.experiments import experiment_csv
from services.experiments.csv_columns import COLUMNS, MOST_NEIGHBOURS
from services.experiments.errors import UnusableExperiments
from services.experiments.experiment_csv import read_experiments
from storage.experiments import PlatformRun

HEAD = ",".join(COLUMNS)
GOOD = f"""{HEAD}
Z80,web,,cpi,0.9,14.1,2.3,4
Z80,feed,,,,55,6.1,
Z80,web,feed;feed,cpi,1.2,,,
"""


def faults(text: str | bytes) -> list[tuple[int, str, str]]:
    with pytest.raises(UnusableExperiments) as caught:
        read_experiments(text.encode() if isinstance(text, str) else text)
    for fault in caught.value.faults:
        assert fault.instead, fault
        assert str(fault).endswith("."), fault
    return [(fault.line, fault.column, fault.what) for fault in caught.value.faults]


def test_a_good_file_is_its_runs() -> None:
    assert read_experiments(GOOD.encode()) == (
        PlatformRun(2, "Z80", Run("web", (), Metric.CPI, 0.9, 14.1, 2.3, 4.0)),
        PlatformRun(3, "Z80", Run("feed", (), None, None, 55.0, 6.1, 1.0)),
        PlatformRun(4, "Z80", Run("web", ("feed", "feed"), Metric.CPI, 1.2)),
    )


def test_the_file_in_the_documents_is_read() -> None:
    text = (Path(__file__).parents[4] / "docs/models.md").read_text()
    example = text[text.index(f"    {HEAD}\n") :].split("\n\n")[0]
    found = read_experiments(textwrap.dedent(example).encode())
    assert [len(each.run.beside) for each in found] == [0, 0, 0, 2, 3]
    for column in COLUMNS:
        assert f"| `{column}` |" in text


def test_what_spreadsheets_make_of_it_is_read_too() -> None:
    plain = read_experiments(GOOD.encode())
    spread = "\ufeff" + GOOD.replace("\n", "\r\n") + ",,,,,,,\r\n\r\n"
    assert read_experiments(spread.encode()) == plain
    padded = GOOD.replace(",", " , ").replace(";", " ; ")
    assert read_experiments(padded.encode()) == plain
    quoted = GOOD.replace("Z80", '"Z80"').replace("feed;feed", '"feed;feed"')
    assert read_experiments(quoted.encode()) == plain
    order = "beside,target,platform,gb_per_s,mlines_per_s,value,metric"
    turned = f"{order}\n,web,Z80,2.3,14.1,0.9,cpi\n,feed,Z80,6.1,55,,\nfeed;feed,web,Z80,,,1.2,cpi\n"
    found = read_experiments(turned.encode())
    assert [run.run for run in found[1:]] == [run.run for run in plain[1:]]
    assert found[0].run.cores == 1.0


ALONE, FEED, MIX = "Z80,web,,cpi,0.9,14.1,2.3,", "Z80,feed,,,,55,6.1,", "Z80,web,feed,cpi,1.2,,,"


@pytest.mark.parametrize(
    ("wrong", "column", "said"),
    [
        ("Z80,web,,cpi,fast,14.1,2.3,", "value", "'fast' is not a number"),
        ("Z80,web,,cpi,nan,14.1,2.3,", "value", "'nan' is not a finite number"),
        ("Z80,web,,cpi,inf,14.1,2.3,", "value", "'inf' is not a finite number"),
        ("Z80,web,,cpi,1_0,14.1,2.3,", "value", "'1_0' is not a number"),
        ("Z80,web,,cpi,0,14.1,2.3,", "value", "'0' is not between"),
        ("Z80,web,,cpi,-1,14.1,2.3,", "value", "'-1' is not between"),
        ("Z80,web,,cpi,0.9,14100000000,2.3,", "mlines_per_s", "is not between 0 and 1e+06"),
        ("Z80,web,,cpi,0.9,14.1,2300000000,", "gb_per_s", "is not between 0 and 100000"),
        ("Z80,web,,cpi,0.9,-1,2.3,", "mlines_per_s", "is not between"),
        ("Z80,web,,cpi,0.9,14.1,2.3,0", "cores", "is not between 0.001"),
        ("Z80,web,,speed,0.9,14.1,2.3,", "metric", "'speed' is not a metric"),
        ("Z80,web,,CPI,0.9,14.1,2.3,", "metric", "'CPI' is not a metric"),
        ("Z80,web,,,0.9,14.1,2.3,", "metric", "the value has no metric"),
        ("Z80,web,,cpi,,14.1,2.3,", "value", "the metric has no value"),
        ("Z80,web,,cpi,0.9,,2.3,", "mlines_per_s", "a run alone needs it"),
        ("Z80,web,,cpi,0.9,14.1,,", "gb_per_s", "a run alone needs it"),
        ("Z80,web,feed,cpi,1.2,3,,", "mlines_per_s", "pressures come from runs alone"),
        ("Z80,web,feed,cpi,1.2,,3,", "gb_per_s", "pressures come from runs alone"),
        ("Z80,web,feed,cpi,1.2,,,2", "cores", "pressures come from runs alone"),
        ("Z80,web,feed,,,,,", "value", "a run beside others needs it"),
        ("Z80,web,feed;,cpi,1.2,,,", "beside", "has an empty name"),
        ("Z80,web,;,cpi,1.2,,,", "beside", "has an empty name"),
        ('Z80,web,"feed,etl",cpi,1.2,,,', "beside", "has a comma"),
        ("Z80,web;x,,cpi,0.9,14.1,2.3,", "target", "a comma or a semicolon"),
        (",web,,cpi,0.9,14.1,2.3,", "platform", "it is empty"),
        ("Z80,,,cpi,0.9,14.1,2.3,", "target", "it is empty"),
        (f"Z80,{'x' * 501},,cpi,0.9,14.1,2.3,", "target", "has 501 characters"),
        ("Z80,w\x07b,,cpi,0.9,14.1,2.3,", "target", "cannot be printed"),
        ('Z80,"w\neb",,cpi,0.9,14.1,2.3,', "target", "cannot be printed"),
        (
            "Z80,w\x9b31meb,,cpi,0.9,14.1,2.3,",
            "target",
            "'w\\x9b31meb' has characters that cannot be printed",
        ),
        ("Z80,w\u202eeb,,cpi,0.9,14.1,2.3,", "target", "'w\\u202eeb' has characters that cannot be printed"),
        (
            "Z\u200b80,web,,cpi,0.9,14.1,2.3,",
            "platform",
            "'Z\\u200b80' has characters that cannot be printed",
        ),
        ("Z80,web:7,,cpi,0.9,14.1,2.3,", "target", "'web:7' has a colon"),
        ("Z80,web,feed:7,cpi,1.2,,,", "beside", "'feed:7' has a colon"),
        (f"Z80,web,{';'.join(['feed'] * (MOST_NEIGHBOURS + 1))},cpi,1.2,,,", "beside", "101 neighbours"),
        ("Z80,web,feed,cpi,1.2", "", "the line has 5 fields, the heading has 8"),
        ("Z80,web,feed,cpi,1.2,,,,", "", "the line has 9 fields, the heading has 8"),
        ("Z80,web,etl,cpi,1.2,,,", "beside", "no run of etl alone on Z80 measures its pressure"),
        ("6502,web,feed,cpi,1.2,,,", "beside", "no run of web alone on 6502 has a value"),
        ("Z80,feed,web,cpi,1.2,,,", "beside", "no run of feed alone on Z80 has a value"),
        ("Z80,web,feed,ipc,1.2,,,", "metric", "the metric is ipc, but cpi in line 2"),
        ("Z80,web,,time,0.9,14.1,2.3,", "metric", "the metric is time, but cpi in line 2"),
        ("Z80,web,,cpi,0.9,14.1,2.3,2", "cores", "web keeps 2 cores busy, but 1 in line 2"),
    ],
)
def test_a_fault_has_its_line_and_its_column(wrong: str, column: str, said: str) -> None:
    (found,) = faults(f"{HEAD}\n{ALONE}\n{FEED}\n{MIX}\n{wrong}\n{MIX}\n")
    line = 6 if "\n" in wrong else 5
    assert found[:2] == (line, column)
    assert said in found[2]


def test_all_faults_are_told_at_once_in_the_order_of_lines() -> None:
    wrong = ["Z80,web,,cpi,x,y,2.3,", *["Z80,web,feed,,,,,"] * 9]
    text = "\n".join((HEAD, ALONE, FEED, MIX, *wrong))
    found = faults(text)
    assert [(line, column) for line, column, _ in found[:3]] == [
        (5, "value"),
        (5, "mlines_per_s"),
        (6, "value"),
    ]
    assert len(found) == 11
    with pytest.raises(
        UnusableExperiments, match=r"Line 5, column value: 'x' is not a number; .* And 6 more\.$"
    ):
        read_experiments(text.encode())
    many = faults("\n".join((HEAD, *["Z80,web,feed,,,,,"] * 5000)))
    assert len(many) == 100


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 0, "the file is empty"),
        ("\n\n", 0, "the file is empty"),
        (f"{HEAD}\n", 0, "the file has no runs"),
        (f"{HEAD}\n{ALONE}\n{FEED}\n", 0, "no run is beside others"),
        (f"{HEAD.replace(',', ';')}\n", 1, "the heading has no comma"),
        (f"{HEAD.replace('value', 'speed')}\n{ALONE}\n", 1, "'speed' is not a column of experiments"),
        (f"{HEAD.replace('value,', '')}\n{ALONE}\n", 1, "the heading lacks value"),
        (f"{HEAD},value\n{ALONE}\n", 1, "the column appears twice"),
        (f"{ALONE}\n{FEED}\n", 1, "'Z80' is not a column of experiments"),
        (f'{HEAD}\n{ALONE}\nZ80,"web,feed\n', 3, "the file is not valid CSV"),
        (f"{HEAD}\n".encode() + b"Z80,w\xe4b,,,,1,1,\n", 2, "the file is not UTF-8"),
    ],
)
def test_what_is_no_file_of_experiments_is_told_once(text: str | bytes, line: int, said: str) -> None:
    (found,) = faults(text)
    assert found[0] == line
    assert said in found[2]


def test_a_file_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_csv, "MOST_ROWS", 3)
    assert len(read_experiments(GOOD.encode())) == 3
    assert "more than 3 runs" in faults(f"{GOOD}{MIX}\n")[0][2]
    monkeypatch.setattr(experiment_csv, "MOST_PLATFORMS", 1)
    assert len(read_experiments(GOOD.encode())) == 3
    ((line, column, said),) = faults(f"{HEAD}\n{ALONE}\n6502,feed,,,,55,6.1,\n6510,feed,,,,55,6.1,\n")
    assert (line, column, said) == (3, "platform", "the file has more than 1 platforms")
    monkeypatch.setattr(experiment_csv, "LARGEST_BYTES", 1 << 20)
    assert "more than 1 MiB" in faults(GOOD + "\n" * (1 << 20))[0][2]


names = st.text(
    st.characters(exclude_characters=",;:", exclude_categories=("C", "Z")),
    min_size=1,
    max_size=9,
)
figures = st.floats(1e-3, 1e4)


@given(st.data())
def test_what_is_written_is_read(data: st.DataObject) -> None:
    known = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    metric = data.draw(st.sampled_from(list(Metric)))
    runs = [Run(name, (), metric, *data.draw(st.tuples(*[figures] * 4))) for name in known]
    mixes = data.draw(st.lists(st.lists(st.sampled_from(known), min_size=1), min_size=1, max_size=5))
    runs += [Run(known[0], tuple(beside), metric, data.draw(figures)) for beside in mixes]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for run in runs:
        cells = (run.value, run.lines, run.gigabytes, run.cores)
        writer.writerow(
            ["Z80", run.target, ";".join(run.beside), metric, *("" if c is None else c for c in cells)]
        )
    assert [found.run for found in read_experiments(out.getvalue().encode())] == runs


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)), st.booleans())
def test_nothing_that_somebody_sends_is_more_than_a_fault(content: bytes, headed: bool) -> None:
    with suppress(UnusableExperiments):
        assert read_experiments(f"{HEAD}\n".encode() + content if headed else content)
