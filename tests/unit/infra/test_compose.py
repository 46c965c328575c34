"""GIVEN the deployment's files WHEN no engine is at hand THEN what they say of the program is still checked."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "infra/docker/Dockerfile").read_text()


def test_compose_itself_accepts_the_file():
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed")
    environment = os.environ | {"POSTGRES_PASSWORD": "x", "FLEETPROF_API_TOKENS": "admin:y"}
    done = subprocess.run(
        [program, "-f", str(ROOT / "docker-compose.yml"), "config", "--quiet"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_setting_in_it_exists():
    from services.settings import Settings

    known = {f"FLEETPROF_{name.upper()}" for name in Settings.model_fields}
    used = {
        name
        for service in COMPOSE["services"].values()
        for name in service.get("environment", {})
        if name.startswith("FLEETPROF_")
    }
    assert used
    assert used <= known


def test_more_workers_are_not_each_one_for_every_cpu():
    given = COMPOSE["services"]["worker"]["environment"]["FLEETPROF_WORKER_PROCESSES"]
    assert re.fullmatch(r"\$\{FLEETPROF_WORKER_PROCESSES:-[1-9]\}", given)


def test_every_command_in_it_exists():
    import typer.main

    from services.cli import app

    for name in ("collector", "worker", "api", "migrate"):
        command = typer.main.get_command(app)
        for word in COMPOSE["services"][name]["command"]:
            command = command.commands[word]


def test_the_gateways_options_exist():
    from gateway.options import build_parser

    options = {option for action in build_parser()._actions for option in action.option_strings}
    used = {word.split("=")[0] for word in COMPOSE["services"]["gateway"]["command"]}
    unit = (ROOT / "infra/systemd/fleetprof-gateway.service").read_text()
    used |= set(re.findall(r"(--[\w-]+)", unit.split("ExecStart=")[1].split("\nDynamicUser")[0]))
    assert used <= options


def test_every_build_target_exists():
    targets = set(re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE, re.MULTILINE))
    used = {service["build"]["target"] for service in COMPOSE["services"].values() if "build" in service}
    assert used <= targets


def test_the_gateway_is_granted_what_it_keeps_and_nothing_else():
    from gateway.privileges.capabilities import NEEDED

    granted = {f"CAP_{name}" for name in COMPOSE["services"]["gateway"]["cap_add"]}
    unit = (ROOT / "infra/systemd/fleetprof-gateway.service").read_text()
    ambient = set(re.search(r"AmbientCapabilities=(.+)", unit)[1].split())
    assert ambient == {capability.name for capability in NEEDED}
    # An engine grants them to root, which becomes somebody else by the last two and gives them up with that.
    assert granted == ambient | {"CAP_SETUID", "CAP_SETGID"}
    assert any(word.startswith("--user=") for word in COMPOSE["services"]["gateway"]["command"])


def certs_job(folder: Path) -> None:
    """The job's script, with the program of this checkout and the volumes below a folder."""
    (script,) = COMPOSE["services"]["certs"]["command"]
    program = folder / "fleetprof"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m services "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{ROOT}/proto",
    }
    shell = [
        *COMPOSE["services"]["certs"]["entrypoint"],
        script.replace("$$", "$").replace("/certs/", f"{folder}/"),
    ]
    subprocess.run(shell, check=True, capture_output=True, env=environment, cwd=folder)


def test_the_certificates_that_the_deployment_names_are_made_and_kept(tmp_path):
    certs_job(tmp_path)
    made = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    certs_job(tmp_path)
    assert {path: path.read_bytes() for path in made} == made
    for name, service in COMPOSE["services"].items():
        if name == "certs":
            continue
        volumes = dict(volume.split(":")[:2] for volume in service.get("volumes", []))
        named = re.findall(r"/certs/([\w./-]+)", f"{service.get('command')} {service.get('environment')}")
        sources = [volume for volume, place in volumes.items() if place == "/certs"]
        for file in named:
            (source,) = sources
            assert (tmp_path / source.removesuffix("-certs") / file).is_file(), (name, file)
        # Whoever has the authority's key can call every gateway.
        assert "authority" not in volumes
    assert {path.parent.name for path in tmp_path.rglob("*ca.key")} == {"authority"}
