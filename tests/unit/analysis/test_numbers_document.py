"""GIVEN the example of docs/numbers.md WHEN it is computed again THEN the document says what comes out."""

import re
from pathlib import Path

import numpy as np
import pytest

from analysis import estimate, moments
from analysis.arrays import Float
from analysis.moments import Moments
from analysis.partly_ingested import Drawn, Ingested, weigh_pieces
from analysis.weights import CLASSES, Frame, weigh

DOCUMENT = (Path(__file__).parents[3] / "docs/numbers.md").read_text()
TEXT = " ".join(DOCUMENT.split())
STRATA = {"web": 0, "batch": 1}
QUARTERS = {"0–25 %": 1, "25–50 %": 2, "50–75 %": 3, "75–100 %": 4}
HZ = 100
Visit = tuple[int, int, float, float, float]
"""Stratum, class, x, y, weight."""


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    """Every row of the example's table."""
    rows = re.findall(
        r"^\| (web|batch) \| ([^|]+) \| ([\d.]+) \| ([\d.]+) \| ([\d ]+) \|$", DOCUMENT, re.MULTILINE
    )
    return [
        (STRATA[stratum], QUARTERS[quarter], float(x), float(y), float(weight.replace(" ", "")))
        for stratum, quarter, x, y, weight in rows
    ]


@pytest.fixture(scope="module")
def computed(visits: list[Visit]) -> tuple[Float, Moments]:
    ingested = np.zeros((2, CLASSES))
    for visit in visits:
        ingested[visit[0], visit[1]] += 1
    drawn = ingested.copy()
    drawn[STRATA["batch"], 4] += 2
    drawn[STRATA["web"], 0] += 1
    assert f"drew {int(drawn.sum())} visits" in TEXT
    frame = Frame(
        stratum=np.array([0, 1]),
        day=np.zeros(2, np.int64),
        population=np.array([300.0, 100.0]),
        covered_s=np.full(2, 7200.0),
        drawn=drawn,
        visits=ingested,
        watched_s=5 * ingested,
    )
    weights = weigh(frame)
    stratum, klass = (np.array([visit[place] for visit in visits]) for place in (0, 1))
    x, y = (np.array([visit[place] for visit in visits]) for place in (2, 3))
    seen = np.flatnonzero(y)
    found = moments.from_visits(
        weights.weight[stratum, klass],
        weights.group[stratum, klass],
        weights,
        x=x,
        row=np.zeros(len(seen), np.int64),
        visit=seen,
        y=y[seen],
        rows=1,
    )
    return weights.weight[stratum, klass], found


def test_the_table_is_read(visits: list[Visit]) -> None:
    assert len(visits) == 8


def test_weights(visits: list[Visit], computed: tuple[Float, Moments]) -> None:
    assert computed[0] == pytest.approx([weight for *_, weight in visits])


def test_estimates(visits: list[Visit], computed: tuple[Float, Moments]) -> None:
    _, found = computed
    raw = sum(y for *_, y, _ in visits) / sum(x for *_, x, _, _ in visits)
    assert said(f"the fleet spent {spaced(found.x)} core-seconds")
    assert said(f"{spaced(found.y[0])} of them in `parse`: a share of {found.y[0] / found.x:.2%}")
    assert said(f"the plain quotient of the samples would be {raw:.2%}", ignore_case=True)


def test_variance(visits: list[Visit], computed: tuple[Float, Moments]) -> None:
    _, found = computed
    share = found.y[0] / found.x
    variance = (found.vyy[0] - 2 * share * found.vxy[0] + share**2 * found.vxx) / found.x**2
    assert said(f"a standard error of {100 * np.sqrt(variance):.2f} percentage points")
    assert said(f"if it had {share * (1 - share) / variance:.0f} samples")
    assert said(f"They shrink the {share * (1 - share) / variance:.0f} samples to")
    assert said(f"the visits had {spaced(HZ * sum(x for *_, x, _, _ in visits))}, at {HZ} Hz")


def test_interval(computed: tuple[Float, Moments]) -> None:
    _, found = computed
    shares, totals = estimate.shares(found), estimate.totals(found)
    assert said(f"{found.contributing[0]:.2f} visits contribute")
    assert said(f"enough for {found.df:.0f} degrees of freedom")
    assert said(f"{shares.value[0]:.2%} of {shares.effective[0]:.1f} samples")
    assert said(f"goes from {shares.lo[0]:.2%} to {shares.hi[0]:.2%}")
    assert said(f"{spaced(totals.lo[0])} … {spaced(totals.hi[0])} core-seconds")
    assert not shares.low_confidence[0]


def test_constants_are_the_codes() -> None:
    assert said(f"Below {estimate.FEW:.0f} contributing visits a row is marked `low_confidence`")
    assert said(f"it gets {estimate.DEGREES:.0f}·d degrees of freedom")


def said(sentence: str, *, ignore_case: bool = False) -> bool:
    sentence = sentence.replace("%", " %") if " %" not in sentence else sentence
    return sentence.lower() in TEXT.lower() if ignore_case else sentence in TEXT


def spaced(number: float) -> str:
    """A whole number with its thousands apart."""
    return f"{round(number):,}".replace(",", " ")


def test_steps_of_a_day_of_which_a_part_has_ingested() -> None:
    found = re.findall(
        r"^\| (first|second) hour \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| ([\d ]+) \| ([\d ]+) \| ([\d ]+) \|$",
        DOCUMENT,
        re.MULTILINE,
    )
    table = np.array([[int(cell.replace(" ", "")) for cell in row[1:]] for row in found])
    number, waiting, ingested, cpu, of_day, in_step, core_s = table.T
    assert (number - waiting).tolist() == ingested.tolist()
    visits = int(ingested.sum())
    frame = Frame(
        stratum=np.zeros(1, np.int64),
        day=np.zeros(1, np.int64),
        population=np.array([300.0]),
        covered_s=np.array([7200.0]),
        drawn=number.sum() * np.eye(1, CLASSES, 2),
        visits=visits * np.eye(1, CLASSES, 2),
        watched_s=5 * visits * np.eye(1, CLASSES, 2),
    )
    nothing, two = np.zeros(int(number.sum()), np.int64), np.full(int(number.sum()), 2)
    drawn = Drawn(nothing, two, np.repeat([0, 1], number), np.repeat([False, False, True], [12, 4, 8]))
    step = np.repeat([0, 1], ingested)
    weighed = weigh_pieces(
        frame, drawn, Ingested(nothing[:visits], two[:visits], step, np.full(visits, 5.0)), {(0, 1): 3600.0}
    )
    assert weigh(frame).weight[0, 2] == pytest.approx(of_day[0])
    assert weighed.weight == pytest.approx(np.repeat(in_step, ingested))
    assert in_step * cpu == pytest.approx(core_s)
    by_day = of_day * cpu
    assert all(f"{value:,}".replace(",", " ") in TEXT for value in by_day.tolist())
    assert by_day / core_s == pytest.approx([1.5, 0.5])
    assert (core_s / 3600).tolist() == [600, 720]
