"""GIVEN settings of a real fleet WHEN one is simulated THEN nothing of it lands where real data is."""

from pathlib import Path

import pytest

from services.errors import CannotStart
from services.settings import Settings
from services.simulate.home import simulated
from services.simulate.run import FleetPlan, parts


def test_everything_is_its_own(tmp_path: Path):
    real = Settings(
        state_dir=tmp_path,
        database_url="postgresql://db/real",
        redis_url="redis://real",
        archive_url="s3://real",
        symbol_cache_dir=tmp_path / "cache",
        api_port=7171,
    )
    own, sampling, plan = simulated(real, 500, rate_hz=None)
    home = tmp_path / "simulated" / "500"
    assert own.state_dir == home
    assert (own.database_url, own.redis_url) == (None, None)
    assert own.archive.startswith(str(home))
    assert own.symbol_cache.is_relative_to(home)
    assert own.api_port == 7171
    assert plan.machines == 500
    assert plan.sockets.is_relative_to(home)
    assert sampling.visits_per_round > 1


def test_fleets_of_different_sizes_are_apart(tmp_path: Path):
    small, large = (
        simulated(Settings(state_dir=tmp_path), machines, rate_hz=None)[0] for machines in (100, 200)
    )
    assert small.state_dir != large.state_dir


def test_a_folder_too_long_for_sockets_is_refused(tmp_path: Path):
    plan = FleetPlan(10, sockets=tmp_path / ("x" * 100), symbols=tmp_path)
    with pytest.raises(CannotStart, match="too long a path"):
        parts(plan, tmp_path)


def test_machines_are_divided_among_processes(tmp_path: Path):
    assert len(parts(FleetPlan(10, tmp_path / "s", tmp_path / "b", strata=2, processes=3), tmp_path)) == 3
    assert len(parts(FleetPlan(2, tmp_path / "s", tmp_path / "b", strata=2, processes=3), tmp_path)) == 2


def test_numbers_that_make_no_fleet_are_refused(tmp_path: Path):
    with pytest.raises(CannotStart, match="strata"):
        FleetPlan(3, tmp_path, tmp_path).model()
