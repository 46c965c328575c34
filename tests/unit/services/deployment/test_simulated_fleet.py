"""GIVEN settings of a real fleet WHEN one is simulated THEN none of its captures is ingested into the real store."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from services.configuration.settings import Settings, read_settings
from services.deployment.all_in_one import LocalDeployment
from services.deployment.fleet_processes import parts
from services.deployment.simulated_fleet import SHARED_SETTINGS, simulated_deployment
from services.deployment.supervisor import Child
from services.errors import CannotStart
from simulation.fleet_plan import FleetPlan

OF_THE_REAL_FLEET = {
    "state_dir", "database_url", "redis_url", "archive_url", "lake_url",
    "stack_file_dir", "symbol_cache_dir", "symbol_dirs", "debuginfod_urls", "source_roots",
    "api_host", "api_tls_cert", "api_tls_key", "data_listen", "data_client_ca",
    "collector_metrics_listen", "worker_metrics_listen", "metrics_allow_remote",
    "gateway_ca", "gateway_cert", "gateway_key", "ca_passphrase",
    "url", "token", "prometheus_url", "segments_engine",
}  # fmt: skip
"""Settings that name places, ports and machines, or open them: none of these is for a made-up fleet."""


def test_everything_is_its_own(tmp_path: Path):
    real = Settings(
        state_dir=tmp_path,
        database_url="postgresql://db/real",
        redis_url="redis://real",
        archive_url="s3://real",
        symbol_cache_dir=tmp_path / "cache",
        api_port=7171,
    )
    own, sampling, plan = simulated_deployment(real, 500, rate_hz=None)
    home = tmp_path / "simulated" / "500"
    assert own.state_dir == home
    assert (own.database_url, own.redis_url) == (None, None)
    assert own.archive.startswith(str(home))
    assert own.symbol_cache.is_relative_to(home)
    assert own.api_port == 7171
    assert plan.machines == 500
    assert plan.sockets.is_relative_to(home)
    assert sampling.visits_per_round > 1


def test_each_setting_was_decided_upon():
    """A setting that is new is about how something is done (`SHARED_SETTINGS`) or about where: say which, there or above."""
    assert set(Settings.model_fields) == SHARED_SETTINGS | OF_THE_REAL_FLEET
    assert not SHARED_SETTINGS & OF_THE_REAL_FLEET


def test_only_what_says_how_is_taken_over(tmp_path: Path):
    said = {name: object() for name in Settings.model_fields if name != "state_dir"}
    real = Settings.model_construct(state_dir=tmp_path, **said)
    own, _, _ = simulated_deployment(real, 500, rate_hz=None)
    assert own.state_dir == tmp_path / "simulated" / "500"
    for name in SHARED_SETTINGS:
        assert getattr(own, name) is said[name], name
    for name in OF_THE_REAL_FLEET - {"state_dir"}:
        assert getattr(own, name) == Settings.model_fields[name].get_default(call_default_factory=True), name


def test_its_processes_are_not_told_by_the_environment_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """They inherit it: what `up` read there they would read, too, such as the lake that they export to."""
    for name, value in {
        "FLEETPROF_STATE_DIR": str(tmp_path / "s"),
        "FLEETPROF_LAKE_URL": "s3://real/lake",
        "fleetprof_archive_url": "s3://real/archive",
        "DATABASE_URL": "postgresql://db/real",
        "REDIS_URL": "redis://real",
        "FLEETPROF_DATA_LISTEN": "0.0.0.0:7171",
        "FLEETPROF_DEBUGINFOD_URLS": "https://debuginfod.example",
        "FLEETPROF_SYMBOL_DIRS": "/srv/real",
        "FLEETPROF_QUERY_SECONDS": "7",
    }.items():
        monkeypatch.setenv(name, value)
    own, sampling, plan = simulated_deployment(read_settings(), 5, rate_hz=None)
    stack = LocalDeployment(own, sampling, lambda _: None, fleet=plan)
    for part in (stack._api(), stack._worker(), stack._collector()):
        says = "from services.configuration.settings import read_settings as r; print(r().model_dump_json(), flush=True)"
        child = Child(
            replace(
                part,
                command=[sys.executable, "-c", f"import signal; {says}; signal.pause()"],
                environment={**part.environment, "PYTHONPATH": ":".join(sys.path)},
                ready=lambda log=part.log: log.read_bytes().endswith(b"}\n"),
            )
        )
        child.start()
        try:
            child.wait_until_ready()
        finally:
            child.stop()
        told = json.loads(part.log.read_text())
        assert told["lake_url"] is None
        assert told["debuginfod_urls"] == []
        assert told["symbol_dirs"] == [str(plan.symbols)]
        assert "real" not in f"{told['database_url']} {told['redis_url']} {told['archive_url']}"
        is_api = part.name == "api"
        assert (told["data_listen"] or "").startswith(f"unix:{own.state_dir}") is is_api
        assert told["query_seconds"] == 7


def test_fleets_of_different_sizes_are_apart(tmp_path: Path):
    small, large = (
        simulated_deployment(Settings(state_dir=tmp_path), machines, rate_hz=None)[0]
        for machines in (100, 200)
    )
    assert small.state_dir != large.state_dir


def test_a_folder_too_long_for_sockets_is_refused(tmp_path: Path):
    plan = FleetPlan(10, sockets=tmp_path / ("x" * 100), symbols=tmp_path)
    with pytest.raises(CannotStart, match="is too long for sockets"):
        parts(plan, tmp_path)


def test_machines_are_divided_among_processes(tmp_path: Path):
    assert len(parts(FleetPlan(10, tmp_path / "s", tmp_path / "b", strata=2, processes=3), tmp_path)) == 3
    assert len(parts(FleetPlan(2, tmp_path / "s", tmp_path / "b", strata=2, processes=3), tmp_path)) == 2


def test_numbers_that_make_no_fleet_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="strata"):
        FleetPlan(3, tmp_path, tmp_path).model()
