"""GIVEN measured figures WHEN fleets are computed THEN the page's tables show what the formulas give."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from benchmarks.scaling import fleet as scaling
from benchmarks.scaling.fleet import DEFAULT_VISITS, Fleet
from benchmarks.scaling.measured import Measured, Results, Stores, results, stores
from benchmarks.scaling.numerals import duration
from benchmarks.scaling.page import PAGE, made, unknown, written
from benchmarks.scaling.tables import FLEETS, tables
from collector.default_campaign import DEFAULT_CAMPAIGN
from services.configuration.settings import Settings
from storage.retention.retain import Keep
from storage.rollup.cubes import HOURS_KEPT_DAYS, WEIGHTED_LEVELS, bucket_days

ROUND = Measured(
    visit_cpu_s=0.64, samples_per_visit=1000, facts_per_visit=500, raw_bytes_per_sample=10, halfwidth=0.08, ingest_s=4e-6,
    roll_s=2e-6, server_s=1e-6, export_s=1e-6, profile_bytes=8, hour_bytes=4, day_bytes=3,
    visit_bytes=10_000, lake_bytes=2, stack_bytes=100, ingested_per_s=100_000, unmerged_per_s=150_000, store_facts=5e6,
    stacks=1e6, ingest_cold_s=None,
)  # fmt: skip


def test_the_tables_of_the_page_are_those_of_the_last_results():
    page = PAGE.read_text()
    assert written(page, made(results())) == page, "run: python -m benchmarks.scaling"


def test_every_marked_region_is_one_generated_table():
    generated = made(results())
    regions = re.findall(r"<!-- (?!end of )(.+) -->", PAGE.read_text())
    assert sorted(regions) == sorted(generated)
    for table in generated.values():
        assert all(line.startswith(("| ", "|---|")) for line in table.split("\n"))


def test_text_outside_of_the_tables_is_left_alone():
    page = PAGE.read_text()
    edited = page.replace("## What decides", "## What decides the size")
    assert edited != page
    assert written(edited, made(results())) == edited


def test_a_table_of_other_results_is_replaced():
    page = PAGE.read_text()
    older = page.replace("| visits per day | 4 320 |", "| visits per day | 1 |")
    assert older != page
    assert written(older, made(results())) == page


def test_every_figure_that_the_page_names_was_measured():
    assert unknown(PAGE.read_text(), results()) == []


def test_a_figure_that_no_run_measured_is_named():
    found = altered("store", roll_lag_s=None)
    page = (
        "of `store.roll_lag_s`, `store.facts`, `lake.faster`, `storage.py`, `lake.json` and `docs/store.json`"
    )
    assert unknown(page, found) == ["lake.faster", "store.roll_lag_s"]


def test_a_result_that_no_run_has_is_named():
    page = "of `stroe.facts`, `Store_2.p50-ms`, `page.html`, `pyproject.toml`, `ci.yml` and `numbers.md`"
    assert unknown(page, results()) == ["Store_2.p50-ms", "stroe.facts"]


def altered(name: str, **figures: Any) -> Results:
    """The last results, with other figures of one run; None: without it."""
    found: dict[str, Mapping[str, Any]] = dict(results())
    changed = {**found[name], **figures}
    found[name] = {key: value for key, value in changed.items() if value is not None}
    return found


def test_its_constants_are_the_programs():
    assert DEFAULT_CAMPAIGN.visits_per_round * 86_400 / DEFAULT_CAMPAIGN.period_s == DEFAULT_VISITS
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    assert (
        defaults["retention_days"],
        defaults["lake_retention_days"],
        HOURS_KEPT_DAYS,
    ) == (scaling.RAW_DAYS, scaling.LAKE_DAYS, scaling.HOUR_DAYS)
    largest = bucket_days(WEIGHTED_LEVELS[-1])
    begins = [date(2026, 1, 1) + timedelta(days=n) for n in range(largest)]
    keep = Keep(35, defaults["cell_retention_days"])
    assert max((today - keep.cells_horizon(today)).days for today in begins) == scaling.CELL_DAYS


def test_a_fleet_is_computed_by_hand():
    rows = dict(Fleet(1000, 4320, ROUND).rows())
    assert rows["visits per day and machine"] == "4.3"
    assert rows["facts per day"] == "2.2 · 10⁶"  # 4 320 × 500
    assert rows["raw captures per day"] == "43 MB"  # 4 320 × 1 000 × 10
    assert rows["raw captures stored (35 days)"] == "1.5 GB"
    assert rows["PostgreSQL: profiles and lines (35 days)"] == "600 MB"  # 2.16 · 10⁶ × 8 × 35
    assert rows["PostgreSQL: hourly cells (35 days)"] == "300 MB"
    assert rows["PostgreSQL: daily cells (155 days)"] == "1.6 GB"  # 2.16 · 10⁶ × 4.7 × 155
    assert rows["PostgreSQL: visits (155 days)"] == "6.7 GB"  # 4 320 × 10 000 × 155
    assert rows["lake stored (1 100 days)"] == "4.8 GB"
    assert rows["share of the fleet's CPU time"] == "0.00005 %"  # 4.32 × 0.64 / (64 × 86 400)
    assert rows["busy cores: workers"] == "0.0001"
    assert rows["half-width for a 1 % function of the fleet after a day"] == "± 8 %"
    share = rows["least share of machines for ± 10 % after 30 days"]
    assert share == "2.1 %"  # 0.64 of 4 320 visits, of 30 days'


def test_what_visits_decide_is_the_same_for_every_fleet():
    default = [Fleet(machines, DEFAULT_VISITS, ROUND) for machines in FLEETS]
    assert len({fleet.facts for fleet in default}) == 1
    assert default[0].overhead == pytest.approx(10_000 * default[-1].overhead)
    denser = Fleet(1000, 4 * DEFAULT_VISITS, ROUND)
    assert denser.halfwidth == pytest.approx(default[2].halfwidth / 2)
    assert denser.least_part == pytest.approx(default[2].least_part / 4)


@pytest.mark.parametrize("name", ["overhead", "gateway", "store", "store-full", "lake"])
def test_every_result_counts(name: str):
    doubled = {
        key: 2 * value if isinstance(value, float) else value for key, value in results()[name].items()
    }
    found = altered(name, **doubled)
    assert stores(found) != stores(results())
    assert tables(stores(found)) != tables(stores(results()))


def test_a_fleet_whose_day_has_more_facts_than_the_large_store_uses_its_figures():
    both = Stores(ROUND, replace(ROUND, ingest_s=1e-5, store_facts=5_000_000))
    assert both.of(10_000) is both.small  # 500 facts each
    assert both.of(10_001) is both.large


def test_catching_up_uses_the_rate_that_arrivals_leave():
    fleet = Fleet(1000, 43_200, replace(ROUND, ingested_per_s=1000))  # 250 facts a second
    assert fleet.load == pytest.approx(0.25)
    assert fleet.catching_up == pytest.approx(21_600_000 / 750)
    assert Fleet(1000, 172_800, replace(ROUND, ingested_per_s=1000)).catching_up is None


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (1e7, "4.8 minutes"),
        (1e6, "50 minutes"),
        (100_000.0, "12 hours"),
        (45_670.0, "2.7 days"),
        (20_000.0, "never: more arrives than it ingests"),
    ],
)
def test_the_time_to_catch_up_follows_the_results(rate: float, shown: str):
    page = written(PAGE.read_text(), made(altered("store-full", ingest_facts_per_s=rate)))
    (row,) = re.findall(r"\| time to catch up with one missed day \|.*\|", page)
    assert row.split(" | ")[-1].rstrip(" |") == shown


def test_workers_with_empty_caches_are_shown_where_that_was_measured():
    row = "| workers with empty caches, per fact | {} |"
    assert row.format("not measured") in made(altered("store", ingest_cpu_us_per_fact_cold=None))["measured"]
    assert row.format("12 µs") in made(altered("store", ingest_cpu_us_per_fact_cold=12.34))["measured"]


def test_durations_have_units_that_fit():
    assert [duration(s) for s in (3, 89, 90, 5399, 5400, 129_599, 129_600, 864_000)] == [
        "3 seconds", "89 seconds", "1.5 minutes", "90 minutes", "1.5 hours", "36 hours", "1.5 days", "10 days",
    ]  # fmt: skip


def test_a_page_without_the_regions_is_refused():
    with pytest.raises(ValueError, match="unpack"):
        written("nothing", tables(Stores(ROUND, ROUND)))
