"""GIVEN experiments with a known truth WHEN they are uploaded THEN mixes that nobody measured are foretold, and the answer says by what."""

from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from storage.query.answers.answer import adapter
from storage.query.answers.placement import PlacementAnswer
from tests.experiment_files import PEAK, PLATFORM, Lab, lab, name
from tests.integration.experiments.fetch_experiments import TARGETS, Fleetprof, Json, asked, foretold, upload

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180), pytest.mark.slow]


@pytest.mark.parametrize("metric", ["cpi", "ipc", "time"])
def test_uploaded_over_http_they_foretell_unseen_mixes(operator: TestClient, metric: str) -> None:
    measured = lab(np.random.default_rng(5), TARGETS, metric=metric)
    added = upload(operator, measured.content, "lab-7")
    assert (added["alone"], added["beside"]) == (48, 240)
    assert added["unknown_platforms"] == [PLATFORM]
    assert added["added_by"].startswith("operator")
    errors, plain = foretold(operator, measured, experiments="lab-7")
    assert len(errors) >= 36
    assert errors.mean() <= 0.02
    assert errors.mean() < plain.mean() / 2
    found = asked(operator, target=name(3), experiments="lab-7")
    assert found["source"] == {
        "trained_by": "experiments",
        "experiments": "lab-7",
        "visits": 0,
        "runs": 120,
        "instead_of_visits": None,
    }
    assert found["chip"]["platform"] == PLATFORM
    assert found["inputs"]["used"] == 0
    solo = found["solo"]
    assert (solo["runs"], solo["visits"], solo["cores"]) == (2, 0, 1.0)
    assert (solo["cpi"] is None) == (metric == "time")
    assert (solo["time_s"] is None) == (metric != "time")
    assert solo["time_s" if metric == "time" else "cpi"] == pytest.approx(1.25, rel=0.02)
    assert len(found["neighbours"]) == 24
    assert found["error"] < found["baseline_error"]


def test_added_by_the_command_line_they_foretell_unseen_mixes(
    fleetprof: Fleetprof, operator: TestClient, measured: Lab, tmp_path: Path
) -> None:
    path = tmp_path / "lab-7.csv"
    path.write_text(measured.text)
    code, out, err = fleetprof("experiments", "add", path)
    assert code == 0, err
    assert "lab-7: 48 runs alone and 240 beside others" in out
    assert f"targets {name(3)} (120), {name(7)} (120)" in out
    assert f"Unknown platform '{PLATFORM}'" in err
    errors, plain = foretold(operator, measured, experiments="lab-7")
    assert errors.mean() <= 0.02
    assert errors.mean() < plain.mean() / 2
    beside = ",".join(name(member) for member in measured.unseen[3][0][1:])
    words = ("report", "interference", name(3), "--beside", beside, "--experiments", "lab-7")
    code, out, err = fleetprof(*words, "--peak-gbs", PEAK)
    assert code == 0, err
    assert f"{name(3)} beside {beside} takes longer than alone by " in out
    assert "in a run, 95 %; the mean of all training mixes is" in out
    assert "trained on 120 runs of the experiments lab-7, not on the fleet's visits" in out
    assert "error on 120 runs beside known neighbours: " in out
    assert "lines are the experiments' own count" in out
    code, out, _ = fleetprof(*words)
    assert code == 3
    assert "No result (too_little): The peak memory bandwidth" in out
    assert fleetprof("calibrate", "set", "memory-bandwidth", PLATFORM, str(PEAK * 1e9))[0] == 0
    assert fleetprof(*words)[0] == 0
    code, _, err = fleetprof(*words[:-1], "lab-8", "--peak-gbs", PEAK)
    assert code == 1
    assert "There are no experiments 'lab-8'." in err
    assert "fleetprof experiments list" in err


def test_where_visits_cannot_say_the_newest_experiments_do_and_it_is_told(
    operator: TestClient, fleetprof: Fleetprof, measured: Lab
) -> None:
    before = asked(operator, target=name(3))
    assert before["source"]["trained_by"] == "visits"
    assert before["because"]["detail"] == "No visit of the selection has been ingested."
    upload(operator, measured.content, "old")
    few = "\n".join(measured.text.splitlines()[:-239]).encode()
    upload(operator, few, "new")
    found = asked(operator, target=name(3))
    assert found["because"] is None
    assert found["source"]["experiments"] == "old"
    assert found["source"]["instead_of_visits"] == before["because"]
    code, out, _ = fleetprof("report", "interference", name(3), "--peak-gbs", PEAK)
    assert code == 0
    assert "no result from visits (too_little): No visit of the selection has been ingested." in out
    named = asked(operator, target=name(3), experiments="new")
    assert named["because"]["reason"] == "too_little"
    assert "The experiments new do not suffice" in named["because"]["detail"]
    assert asked(operator, target=name(3), platform="Z80")["source"]["trained_by"] == "visits"
    operator.delete("/api/v1/experiments/old")
    both = asked(operator, target=name(3))["because"]
    assert both["detail"].startswith(
        "No visit of the selection has been ingested. The experiments new do not suffice: "
    )
    gone = asked(operator, target=name(9), experiments="new")["because"]["detail"]
    assert gone == f"The experiments new have no run of 'p09' beside others on {PLATFORM}; they have p03."
    unknown = operator.get("/api/v1/analysis/interference", params={"target": "x", "experiments": "none"})
    assert unknown.status_code == 400
    assert unknown.json()["parameter"] == "experiments"


def test_a_mix_of_strangers_and_cores(operator: TestClient, measured: Lab) -> None:
    upload(operator, measured.content, "lab")
    mix: Json = {"target": name(3), "experiments": "lab"}
    stranger = asked(operator, beside="nobody", **mix)["mix"]["because"]["detail"]
    assert stranger.startswith(
        "The pressure of nobody is unknown: the experiments lab have no run of it alone"
    )
    once = asked(operator, beside=f"{name(5)},{name(6)}", **mix)["mix"]
    same = asked(operator, beside=f"{name(5)}:1,{name(6)}:1", **mix)["mix"]
    assert once == same
    twice = asked(operator, beside=f"{name(5)}:2,{name(6)}", **mix)["mix"]
    both = asked(operator, beside=f"{name(5)},{name(5)},{name(6)}", **mix)["mix"]
    assert twice["lines"] == pytest.approx(both["lines"])
    assert twice["lines"] > once["lines"]


def test_experiments_place_programs(operator: TestClient, fleetprof: Fleetprof) -> None:
    everyone = tuple(range(8))
    measured = lab(np.random.default_rng(5), everyone, training=60, unseen=1)
    upload(operator, measured.content, "lab")
    tenants = ",".join(f"{name(program)}:5" for program in everyone)
    query: Json = {"tenants": tenants, "machines": 2, "slots": 4, "peak_gbs": PEAK, "experiments": "lab"}
    response = operator.get("/api/v1/analysis/placement", params=query)
    assert response.status_code == 200, response.text
    found = response.json()
    adapter(PlacementAnswer).validate_python(found)
    assert found["because"] is None, found["because"]
    assert found["source"]["experiments"] == "lab"
    assert found["source"]["runs"] == 480
    assert sorted(row["machine"] for row in found["rows"]) == [0, 0, 0, 0, 1, 1, 1, 1]
    said = 0
    for row, program in zip(found["rows"], everyone, strict=True):
        at = row["machine"]
        mates = [
            other
            for other, place in zip(everyone, found["rows"], strict=True)
            if place["machine"] == at and other != program
        ]
        if row["degradation"] is not None:
            said += 1
            true = measured.true(np.array([program, *mates]))
            assert row["degradation"] == pytest.approx(true, abs=0.05), (program, mates)
    assert said >= 6
    words = ("report", "placement", tenants, "--machines", "2", "--slots", "4", "--peak-gbs", PEAK)
    code, out, _ = fleetprof(*words, "--experiments", "lab")
    assert code == 0
    assert "trained on 480 runs of the experiments lab" in out
    lacking = operator.get(
        "/api/v1/analysis/placement", params={**query, "tenants": f"{tenants},{name(12)}"}
    ).json()
    assert "have no run of 'p12' beside others" in lacking["because"]["detail"]
    # Without a name: visits cannot say, and one set can say it of all.
    del query["experiments"]
    automatic = operator.get("/api/v1/analysis/placement", params=query).json()
    assert automatic["source"]["experiments"] == "lab"
    assert automatic["source"]["instead_of_visits"]["reason"] == "too_little"
    assert [row["machine"] for row in automatic["rows"]] == [row["machine"] for row in found["rows"]]
