"""GIVEN measured figures WHEN fleets are reckoned THEN the page shows what the formulas give."""

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from benchmarks import scaling
from benchmarks.scaling import DEFAULT_VISITS, FLEETS, PAGE, Fleet, Measured, measured, tables, written
from collector.standing import STANDING
from services.settings import Settings
from storage.retention.retain import Keep
from storage.rolling.cubes import HOURS_KEPT_DAYS, WEIGHTED_LEVELS, bucket_days

ROUND = Measured(
    visit_cpu_s=0.64, samples_per_visit=1000, facts_per_visit=500, raw_bytes_per_sample=10, halfwidth=0.08, land_s=4e-6,
    roll_s=2e-6, server_s=1e-6, export_s=1e-6, profile_bytes=8, hour_bytes=4, day_bytes=3,
    visit_bytes=10_000, lake_bytes=2, stack_bytes=100,
)  # fmt: skip


def test_the_page_is_of_the_last_results():
    page = PAGE.read_text()
    assert written(page, tables(measured())) == page, "run: python -m benchmarks.scaling"


def test_its_constants_are_the_programs():
    assert STANDING.visits_per_round * 86_400 / STANDING.period_s == DEFAULT_VISITS
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    assert (
        defaults["retention_days"],
        defaults["lake_retention_days"],
        HOURS_KEPT_DAYS,
    ) == (scaling.RAW_DAYS, scaling.LAKE_DAYS, scaling.HOUR_DAYS)
    largest = bucket_days(WEIGHTED_LEVELS[-1])
    begins = [date(2026, 1, 1) + timedelta(days=n) for n in range(largest)]
    kept = [(today - Keep(35, defaults["cell_retention_days"]).cells_from(today)).days for today in begins]
    assert max(kept) == scaling.CELL_DAYS


def test_a_fleet_is_reckoned_by_hand():
    rows = dict(Fleet(1000, 4320, ROUND).rows())
    assert rows["of a machine"] == "4.3"
    assert rows["facts a day"] == "2.2 · 10⁶"  # 4 320 × 500
    assert rows["raw captures, a day"] == "43 MB"  # 4 320 × 1 000 × 10
    assert rows["raw captures kept (35 days)"] == "1.5 GB"
    assert rows["PostgreSQL: profiles and lines (35 days)"] == "600 MB"  # 2.16 · 10⁶ × 8 × 35
    assert rows["PostgreSQL: cells of hours (35 days)"] == "300 MB"
    assert rows["PostgreSQL: cells of days (463 days)"] == "4.7 GB"  # 2.16 · 10⁶ × 4.7 × 463
    assert rows["PostgreSQL: visits (463 days)"] == "20 GB"  # 4 320 × 10 000 × 463
    assert rows["lake kept (1 100 days)"] == "4.8 GB"
    assert rows["share of the fleet's CPU time"] == "0.00005 %"  # 4.32 × 0.64 / (64 × 86 400)
    assert rows["busy cores: workers"] == "0.0001"
    assert rows["a 1 % function of the fleet, after a day"] == "± 8 %"
    share = rows["… of what runs on this share of machines, ± 10 % after 30 days"]
    assert share == "2.1 %"  # 0.64 of 4 320 visits, of 30 days'


def test_what_visits_decide_is_the_same_for_every_fleet():
    default = [Fleet(machines, DEFAULT_VISITS, ROUND) for machines in FLEETS]
    assert len({fleet.facts for fleet in default}) == 1
    assert default[0].overhead == pytest.approx(10_000 * default[-1].overhead)
    denser = Fleet(1000, 4 * DEFAULT_VISITS, ROUND)
    assert denser.halfwidth == pytest.approx(default[2].halfwidth / 2)
    assert denser.least_part == pytest.approx(default[2].least_part / 4)


@pytest.mark.parametrize("name", ["overhead", "gateway", "store", "lake"])
def test_every_result_counts(tmp_path: Path, name: str):
    for path in scaling.RESULTS.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    figures = json.loads((tmp_path / f"{name}.json").read_text())
    doubled = {key: 2 * value if isinstance(value, float) else value for key, value in figures.items()}
    (tmp_path / f"{name}.json").write_text(json.dumps(doubled))
    assert measured(tmp_path) != measured()
    assert tables(measured(tmp_path)) != tables(measured())


def test_a_page_without_the_places_is_refused():
    with pytest.raises(ValueError, match="unpack"):
        written("nothing", tables(replace(ROUND, halfwidth=0.1)))
