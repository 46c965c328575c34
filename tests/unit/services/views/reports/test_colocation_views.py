"""GIVEN answers about interference, placement and events WHEN they are shown in a terminal THEN doubt and baseline stand beside the figure."""

import io
from dataclasses import replace
from typing import Any

from rich.console import Console, RenderableType

from services.views.reports.events import events
from services.views.reports.interference import interference
from services.views.reports.placement import placement
from storage.query.answers.events import CoupledPair, EventRow, EventsAnswer, MiningStep
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Inputs, LeftOut, Unavailable
from storage.query.answers.interference import Chip, InterferenceAnswer, MixAnswer, PieceRow, SoloRow, Source
from storage.query.answers.placement import PlacedRow, PlacementAnswer
from storage.query.answers.selection_echo import MachineSelectionEcho

ASKED = MachineSelectionEcho("2026-11-17T00:00:00Z", "2026-11-18T00:00:00Z", "{}", "fleet")
INPUTS = Inputs(design="random", covered_seconds=86400.0, population=4.0, visits=90, used=70, missing=())
LEFT_OUT = (LeftOut("its machine has several sockets", 20),)
VISITS = Source(trained_by="visits", experiments=None, visits=44, runs=0, instead_of_visits=None)
CHIP = Chip(platform="Z80", lines="l2-lines-in", peak_gbs=204.8, peak_is_seen=False)
TOO_LITTLE = Unavailable("too_little", "3 mixes, 8 are needed.")


def text_of(renderable: RenderableType) -> str:
    console = Console(width=180, record=True, file=io.StringIO())
    console.print(renderable)
    return "".join(f"{line.rstrip()}\n" for line in console.export_text().splitlines())


def solo(application: str, gigabytes: float) -> SoloRow:
    return SoloRow(
        application=application,
        cpi=1.25,
        time_s=None,
        lines=3.0,
        gigabytes=gigabytes,
        cores=1.0,
        visits=12,
        runs=0,
    )


FITTED = PieceRow(
    piece="both",
    mixes=41,
    outliers=2,
    intercept=0.363,
    cache=0.039,
    bandwidth=-0.059,
    cache_mean=40.0,
    cache_sigma=12.0,
    bandwidth_mean=30.0,
    bandwidth_sigma=8.0,
    r2=0.87,
    f_p=0.0003,
    t_p=(),
    because=None,
)
NOT_FITTED = PieceRow(
    piece="cache-bound",
    mixes=0,
    outliers=0,
    intercept=None,
    cache=None,
    bandwidth=None,
    cache_mean=None,
    cache_sigma=None,
    bandwidth_mean=None,
    bandwidth_sigma=None,
    r2=None,
    f_p=None,
    t_p=(),
    because=TOO_LITTLE,
)
MIXED = MixAnswer(
    lines=52.0,
    gigabytes=46.0,
    degradation=Figure(0.44, 0.4, 0.48),
    baseline=0.2,
    piece="both",
    extrapolated=False,
    because=None,
)
SLOWED = InterferenceAnswer(
    selection=ASKED,
    target="search[1]",
    source=VISITS,
    chip=CHIP,
    solo=solo("search[1]", 2.0),
    typical_lines=12.0,
    typical_gigabytes=8.0,
    mixes=44,
    unknown_neighbour_visits=5,
    baseline=0.2,
    baseline_error=0.08,
    error=0.012,
    rows=(NOT_FITTED, FITTED),
    rows_total=2,
    mix=MIXED,
    neighbours=(solo("etl", 1.0), solo("feed", 5.0), solo("search[1]", 2.0)),
    left_out=LEFT_OUT,
    inputs=INPUTS,
    because=None,
)


def slowed(**other: Any) -> InterferenceAnswer:
    return replace(SLOWED, **other)


def test_a_mix_stands_beside_what_the_mean_would_say():
    text = text_of(interference(slowed(), beside="feed:4", rows=2))
    assert "search[1] beside feed:4 takes longer than alone by +44.0 % (+40.0…+48.0) in a visit" in text
    assert "the mean of all training mixes is +20.0 %" in text
    assert (
        "error on 44 visits beside known neighbours: 1.20 points with the function, 8.00 points with their mean of +20.0 %"
        in text
    )
    assert "5 visits beside other applications are not used" in text
    assert "+3.9 pp of 12.0 M/s" in text
    assert "-5.9 pp of 8.00 GB/s" in text
    assert "cache-bound: 3 mixes, 8 are needed." in text
    assert text.index("feed\n") < text.index("1 more applications")
    assert "etl" not in text
    assert "peak memory bandwidth of a chip: 205 GB/s\n" in text
    assert "left out: 20 visits, its machine has several sockets" in text
    assert "do not trust" not in text
    assert "no better than the mean" not in text


RUNS = replace(VISITS, trained_by="experiments", experiments="lab[7]", visits=0, runs=44)


def test_what_experiments_trained_is_said() -> None:
    timed = replace(solo("etl", 1.0), cpi=None, time_s=12.5, visits=0, runs=3)
    pressed = replace(solo("feed", 5.0), cpi=None, visits=0, runs=2)
    chip = replace(CHIP, lines="")
    answer = slowed(source=RUNS, chip=chip, neighbours=(timed, pressed), unknown_neighbour_visits=0)
    text = text_of(interference(answer, beside="feed"))
    assert "trained on 44 runs of the experiments lab[7], not on the fleet's visits" in text
    assert "(+40.0…+48.0) in a run, 95 %" in text
    assert "44 runs beside known neighbours" in text
    assert "no result from visits" not in text
    assert "lines are the experiments' own count" in text
    rows = [line.split() for line in text.splitlines() if line.endswith(("etl", "feed"))]
    assert [row[-3:] for row in rows] == [["2", "runs", "feed"], ["3", "runs", "etl"]]
    assert rows[0][0] == "–"
    assert rows[1][:2] == ["12.5", "s"]


def test_why_experiments_were_taken_is_said() -> None:
    source = replace(RUNS, instead_of_visits=TOO_LITTLE)
    text = text_of(interference(slowed(source=source)))
    assert "no result from visits (too_little): 3 mixes, 8 are needed." in text
    placed_by = advice(placed("feed", 0, 0.1, 0.05), source=source)
    shown = text_of(placement(placed_by))
    assert "trained on 44 runs of the experiments lab[7]" in shown
    assert "no result from visits (too_little)" in shown


def test_what_is_no_better_than_the_mean_or_was_never_seen_is_said():
    chip = replace(CHIP, peak_is_seen=True)
    text = text_of(
        interference(slowed(mix=replace(MIXED, extrapolated=True), error=0.08, chip=chip), beside="feed:40")
    )
    assert "No training mix had such pressures: do not trust this prediction." in text
    assert "The function is no better than the mean." in text
    assert "the maximum in one visit" in text


def test_a_mix_that_cannot_be_predicted_says_why_beside_the_function():
    mix = MixAnswer(None, None, None, None, None, None, TOO_LITTLE)
    text = text_of(interference(slowed(mix=mix), beside="etl"))
    assert "search[1] beside etl: No result (too_little): 3 mixes, 8 are needed." in text
    assert "longer than alone" not in text
    assert "44 visits" in text
    assert "beside etl" not in text_of(interference(slowed(mix=None)))


def test_who_runs_faster_beside_others_has_a_sign_and_no_minus_zero():
    faster = replace(MIXED, degradation=Figure(-0.007, -0.0071, -0.0004))
    text = text_of(interference(slowed(mix=faster), beside="feed"))
    assert "by -0.7 % (-0.7…+0.0) in a visit" in text


def test_without_a_function_no_figure_is_shown():
    nothing = dict.fromkeys(("solo", "baseline", "baseline_error", "error", "mix"))
    text = text_of(interference(slowed(**nothing, rows=(), neighbours=(), because=TOO_LITTLE)))
    assert "No result (too_little)" in text
    assert "with the function" not in text
    assert "left out: 20 visits" in text


def placed(
    application: str,
    machine: int | None,
    most: float | None,
    value: float | None,
    because: Unavailable | None = None,
) -> PlacedRow:
    kept = None if machine is None else most is None or (value is not None and value <= most)
    return PlacedRow(application, machine, most, value, kept, because)


def advice(*rows: PlacedRow, **other: Any) -> PlacementAnswer:
    answer = PlacementAnswer(
        selection=ASKED,
        source=VISITS,
        chip=CHIP,
        machines=3,
        slots=2,
        rows=rows,
        rows_total=len(rows),
        ended=True,
        left_out=LEFT_OUT,
        inputs=INPUTS,
        because=None,
    )
    return replace(answer, **other)


def test_programs_stand_by_machine_with_their_limits():
    rows = (placed("feed", 1, None, 0.3), placed("web", 0, 0.1, 0.05), placed("etl", 1, 0.1, 0.25))
    text = text_of(placement(advice(*rows)))
    assert "3 programs on 2 of 3 machines with 2 slots each" in text
    assert "1 of 2 limits are met." in text
    lines = [line.split() for line in text.splitlines() if line.endswith(("feed", "web", "etl"))]
    assert [line[-1] for line in lines] == ["web", "feed", "etl"]
    assert lines[0] == ["0", "+5.0", "%", "+10.0", "%", "met", "web"]
    assert lines[1] == ["1", "+30.0", "%", "any", "–", "feed"]
    assert lines[2] == ["+25.0", "%", "+10.0", "%", "not", "met", "etl"]
    assert "it is not proven to be the best" in text
    assert "no function predicts" not in text


def test_a_program_that_no_model_reaches_and_a_search_cut_short_are_said():
    text = text_of(placement(advice(placed("feed", 0, 0.1, None), ended=False)))
    assert "0 of 1 limits are met." in text
    assert "no function predicts such a mix" in text
    assert "the search stopped at its limit" in text


def test_programs_of_which_nothing_is_known_each_say_why():
    whys = {name: Unavailable("too_little", f"{name} had no machine to itself.") for name in "ab"}
    rows = [placed(name, None, None, None, because=whys[name]) for name in "abb"]
    both = Unavailable("too_little", f"No data for a, b. The first reason: {whys['a'].detail}")
    text = text_of(placement(advice(*rows, because=both)))
    assert "No result (too_little): No data for a, b." in text
    assert [text.count(f"{name} had no machine to itself.") for name in "ab"] == [1, 1]
    assert "programs on" not in text


FIRST = EventRow("dtlb-misses", importance=0.6, counted=0.5, dominates=True)
PAIR = CoupledPair("dtlb-misses", "governor", coupling=0.31, dependence=0.62, significant=True)
MINED = EventsAnswer(
    selection=ASKED,
    application="search[1]",
    rows=(FIRST, replace(FIRST, event="noise", dominates=False)),
    rows_total=2,
    steps=(MiningStep(16, 0.3), MiningStep(6, 0.2)),
    error=0.21,
    all_events_error=0.29,
    baseline_error=0.4,
    intervals=240,
    runs=24,
    pairs=(PAIR, replace(PAIR, event="noise", significant=False)),
    tune="governor",
    coupling_because=None,
    left_out=LEFT_OUT,
    inputs=INPUTS,
    because=None,
)


def mined(**other: Any) -> EventsAnswer:
    return replace(MINED, **other)


def test_events_stand_beside_the_errors_of_knowing_less():
    text = text_of(events(mined()))
    assert (
        "search[1] in new runs: 21.0 % with these events, 29.0 % with all events, 40.0 % with the mean alone"
        in text
    )
    assert "240 visits in 24 runs" in text
    assert "60.0 %      50.0 %         yes  dtlb-misses" in text
    assert "error by the number of events: 16: 30.0 %, 6: 20.0 %" in text
    assert "the setting with the largest effect on these events: governor" in text
    assert "noise, not significant" in text
    assert "no better than the mean" not in text
    cut = text_of(events(mined(), rows=1))
    assert "1 more events" in cut
    assert "1 more pairs" in cut


def test_events_that_tell_nothing_and_settings_that_move_nothing_are_said():
    even = tuple(replace(row, dominates=False) for row in MINED.rows)
    text = text_of(events(mined(error=0.4, rows=even, tune=None)))
    assert "The model is no better than the mean" in text
    assert "no event stands out" in text
    assert "No setting affects these events significantly." in text
    alike = Unavailable("constant", "All machines have the same settings.")
    text = text_of(events(mined(pairs=(), tune=None, coupling_because=alike)))
    assert "What to tune: No result (constant): All machines have the same settings." in text
    assert "dtlb-misses" in text


def test_an_application_without_machines_of_its_own_has_no_events():
    text = text_of(events(mined(rows=(), error=None, baseline_error=None, because=TOO_LITTLE)))
    assert "No result (too_little)" in text
    assert "error" not in text.split("No result")[1].split("based on")[0]
