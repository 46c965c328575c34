"""GIVEN times at several frequencies in a query WHEN they are asked about THEN the answer is a document, or says why there is none."""

from collections.abc import Sequence

import pytest

from services.api.analysis.frequency_parameters import FrequencyParameters
from services.api.analysis.frequency_runs import runs_of
from services.views.reports.frequency_times import frequency_times
from storage.errors import BadSelection
from storage.query.answers.answer import adapter
from storage.query.answers.frequency_times import FrequencyTimesAnswer
from storage.query.models.frequency_options import Wanted
from storage.query.models.frequency_times import Timed, TimesQuestion
from tests.unit.services.views.reports.test_report_envelope import text_of

USUAL = Wanted()


def asked(
    text: str,
    wanted: Wanted = USUAL,
    memory: Sequence[float | None] = (None, None),
    part: float = 1.0,
) -> FrequencyTimesAnswer:
    answer = TimesQuestion(runs_of(text), wanted, *memory, part).answer()
    of_json = adapter(FrequencyTimesAnswer)
    assert of_json.validate_json(of_json.dump_json(answer, by_alias=True)) == answer
    return answer


def test_runs_are_pairs_or_triples() -> None:
    assert runs_of("1200:18.3, 2400:10.1:3200,") == (Timed(1200, 18.3), Timed(2400, 10.1, 3200))
    assert runs_of("") == ()


@pytest.mark.parametrize(("text", "at"), [("x", 0), ("1:2,3", 4), ("1:2,3:4:5:6", 4), ("1:2,,3:s", 5)])
def test_a_mistake_is_pointed_at(text: str, at: int) -> None:
    with pytest.raises(BadSelection, match="is not a frequency and a time") as error:
        runs_of(text)
    assert (error.value.at, error.value.parameter) == (at, "runs")


def test_what_follows_from_times() -> None:
    answer = asked("1000:12,1500:8.6666667,2000:7", FrequencyParameters(mhz="500", performance=0.8).wanted)
    assert answer.because is None
    assert answer.base_mhz == 2000
    assert answer.on_chip_cycles.value == pytest.approx(10e9)
    assert answer.fixed_seconds.value == pytest.approx(2)
    (at,) = answer.slowdowns
    assert at.slowdown.value == pytest.approx(22 / 7 - 1)
    assert at.seconds.value == pytest.approx(22)
    assert (at.naive, at.at_memory) == (3, None)
    assert answer.lowest_mhz.value == pytest.approx(10_000 / (7 / 0.8 - 2))
    assert answer.held_out_error == pytest.approx(0, abs=1e-6)
    assert answer.naive_error > 0.05
    text = text_of(frequency_times(answer))
    assert "each frequency predicted from the others" in text
    assert "lowest MHz that keeps 80.0 %" in text


def test_another_memory_is_assumed_or_fitted() -> None:
    assumed = asked("1000:12,2000:7", memory=(3200.0, 6400.0), part=0.5)
    assert assumed.memory.waiting == pytest.approx(0.75)
    assert assumed.slowdowns[0].at_memory.value == pytest.approx(-0.5 / 7)
    assert any("assumed" in limit for limit in assumed.limits)
    # The runs may say at which frequency it ran, too.
    same = asked("1000:12:3200,2000:7:3200", memory=(None, 6400.0), part=0.5)
    assert same.slowdowns == assumed.slowdowns
    times = {(f, m): 10_000 / f + 1 + 3200 / m for f in (1000, 2000) for m in (1600, 3200)}
    fitted = asked(",".join(f"{f}:{t}:{m}" for (f, m), t in times.items()), memory=(None, 6400.0))
    assert fitted.memory is None
    assert fitted.memory_cycles.value == pytest.approx(3.2e9)
    assert fitted.slowdowns[0].at_memory.value == pytest.approx(6.5 / 7 - 1)
    assert not any("assumed" in limit for limit in fitted.limits)
    assert "with memory of 6,400 MHz" in text_of(frequency_times(fitted))


SEVERAL = "1000:12:1600,2000:7:1600,1000:11:3200,2000:6:3200"


def test_the_memory_of_the_base_is_told() -> None:
    fitted = asked(SEVERAL)
    assert (fitted.base_mhz, fitted.base_memory_mhz) == (2000, 3200)
    assert "at 2,000 MHz, memory at 3,200, does not scale" in text_of(frequency_times(fitted))
    assert asked("1000:12:1600,2000:7:1600").base_memory_mhz == 1600
    assert asked("1000:12,2000:7", memory=(2400.0, None)).base_memory_mhz == 2400
    assert asked("1000:12,2000:7").base_memory_mhz is None
    assert asked(SEVERAL, memory=(3200.0, None)).base_memory_mhz == 3200


def test_why_there_is_no_lowest_frequency() -> None:
    any_ = asked("1000:10,1000:10.1,2000:10.02,2000:10.12", memory=(3200.0, 1600.0))
    assert any_.lowest_mhz is any_.lowest_at_memory_mhz is None
    assert any_.lowest_because.reason == "unbounded"
    assert any_.lowest_at_memory_because.reason == "unreachable"
    text = text_of(frequency_times(any_))
    assert "any frequency keeps 90.0 %" in text
    assert "no frequency keeps 90.0 %" in text
    assert "0 MHz that" not in text
    slow = asked("1000:12,2000:11", FrequencyParameters(performance=1.0).wanted, memory=(3000.0, 1000.0))
    assert slow.lowest_because is None
    assert slow.lowest_at_memory_because.detail.startswith("No frequency makes it 1 times as fast")
    assert "No frequency makes it" in text_of(frequency_times(slow))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "too_little"),
        ("1000:12", "too_little"),
        ("1000:12,1000:12.1", "constant"),
        ("1000:12,2000:nan", "not_a_number"),
        ("1000:12,2000:0", "not_a_number"),
        ("1000:12,2000:13", "contradictory"),
        ("1000:12,2000:5", "contradictory"),
        ("1000:12:800,2000:7:1600,3000:5:2400", "constant"),
    ],
)
def test_why_there_is_no_answer(text: str, reason: str) -> None:
    answer = asked(text)
    assert answer.because.reason == reason
    assert answer.on_chip_cycles is answer.lowest_mhz is None
    assert (answer.slowdowns, answer.rows) == ((), ())
    assert f"No result ({reason})" in text_of(frequency_times(answer))


@pytest.mark.parametrize(
    ("text", "memory", "part", "parameter"),
    [
        (SEVERAL, (1600.0, None), 1.0, "memory_mhz"),  # the fastest ran at 3200
        (SEVERAL, (2400.0, 6400.0), 1.0, "memory_mhz"),
        ("1000:12:1600,2000:7:1600", (3200.0, 6400.0), 1.0, "memory_mhz"),
        (SEVERAL, (None, 6400.0), 0.5, "memory_part"),
    ],
)
def test_what_the_runs_contradict(
    text: str, memory: tuple[float | None, float | None], part: float, parameter: str
) -> None:
    with pytest.raises(BadSelection) as error:
        asked(text, memory=memory, part=part)
    assert error.value.parameter == parameter


@pytest.mark.parametrize(
    ("text", "memory", "parameter"),
    [
        ("1000:12:800,2000:7", (None, None), "runs"),
        ("1000:12,2000:7", (None, 3200.0), "memory_mhz"),
        ("1000:12,2000:7", (0.5, 3200.0), "memory_mhz"),
        (",".join(["1000:12"] * 1001), (None, None), "runs"),
    ],
)
def test_a_mistake(text: str, memory: tuple[float | None, float | None], parameter: str) -> None:
    with pytest.raises(BadSelection) as error:
        asked(text, memory=memory)
    assert error.value.parameter == parameter
