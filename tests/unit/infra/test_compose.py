"""GIVEN the deployment's files WHEN no engine is at hand THEN what they say of the program is still checked."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import redis
import yaml

from tests.polling import until

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "infra/docker/Dockerfile").read_text()
SERVERS = ("migrate", "collector", "worker", "api")
SECRETS = ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "FLEETPROF_API_TOKENS")


def test_compose_itself_accepts_the_file():
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed")
    environment = os.environ | dict.fromkeys(SECRETS, "x")
    done = subprocess.run(
        [program, "-f", str(ROOT / "docker-compose.yml"), "config", "--quiet"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_setting_in_it_exists():
    from services.configuration.settings import Settings

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

    for name in SERVERS:
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


@pytest.mark.slow
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


def networks(name: str) -> set[str]:
    return set(COMPOSE["services"][name].get("networks", []))


def test_the_gateway_reaches_the_collector_and_nothing_else():
    (own,) = networks("gateway")
    assert COMPOSE["networks"][own]["internal"] is True
    assert {name for name in COMPOSE["services"] if own in networks(name)} == {"gateway", "collector"}


def test_databases_are_reached_by_the_servers_alone():
    for store in ("postgres", "redis"):
        (own,) = networks(store)
        assert COMPOSE["networks"][own]["internal"] is True
        assert {name for name in COMPOSE["services"] if own in networks(name)} == {
            "postgres",
            "redis",
            *SERVERS,
        }
    assert not any("ports" in service for name, service in COMPOSE["services"].items() if name != "api")


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_each_service_may_little(name: str):
    service = COMPOSE["services"][name]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not any(option.endswith("unconfined") for option in service["security_opt"])
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert all("size=" in place for place in service["tmpfs"]), "they count as memory"
    assert service["mem_limit"]
    assert service["pids_limit"]
    # The images' own users: as root they would need capabilities to become them.
    assert name == "gateway" or "cap_add" not in service
    assert "user" in service or service["image"].startswith("fleetprof/")


def test_each_secret_is_where_it_is_needed():
    users = {
        secret: {name for name, service in COMPOSE["services"].items() if f"${{{secret}" in f"{service}"}
        for secret in SECRETS
    }
    assert users["FLEETPROF_API_TOKENS"] == {"api"}
    assert users["POSTGRES_PASSWORD"] == {"postgres", *SERVERS}
    assert users["REDIS_PASSWORD"] == {"redis", "collector", "worker", "api"}
    for service in COMPOSE["services"].values():
        words = f"{service.get('command')} {service.get('healthcheck')}"
        assert not any(f"${{{secret}" in words for secret in SECRETS), "command lines are seen by everybody"


@pytest.mark.parametrize("page", ["docker-compose.yml", "docs/deploy.md"])
def test_the_recipe_makes_every_secret_for_its_owner_alone(tmp_path: Path, page: str):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    (recipe,) = re.findall(r"(\(umask .*> \.env\))$", (ROOT / page).read_text(), re.MULTILINE)
    subprocess.run(["/bin/sh", "-ec", recipe], cwd=tmp_path, check=True)
    made = dict(line.split("=") for line in (tmp_path / ".env").read_text().splitlines())
    assert made.keys() == set(SECRETS)
    assert all(re.fullmatch(r"(admin:)?[0-9a-f]{32}", secret) for secret in made.values()), (
        "they stand in URLs"
    )
    assert len(set(made.values())) == len(SECRETS)
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600


def test_the_gateways_seccomp_profile_is_the_one_for_kubernetes():
    (profile,) = [
        option.removeprefix("seccomp:")
        for option in COMPOSE["services"]["gateway"]["security_opt"]
        if option.startswith("seccomp:")
    ]
    assert (ROOT / profile) == ROOT / "infra/kubernetes/own-seccomp/fleetprof-gateway.json"
    assert (ROOT / profile).is_file()


def test_what_the_api_may_take_stays_below_its_limit():
    from tests.memory_sums import api_bytes

    service = COMPOSE["services"]["api"]
    assert api_bytes(service["environment"]) <= int(service["mem_limit"].removesuffix("g")) * 2**30


REDIS_SCRIPT = COMPOSE["services"]["redis"]["command"][-1]
PASSWORD = "0123456789abcdef"


@pytest.mark.slow
def test_redis_takes_its_password_from_no_command_line(tmp_path: Path):
    """The file's own script, with the server of this machine at a socket below a folder."""
    from services.embedded.server_programs import valkey_program

    program = tmp_path / "redis-server"
    program.write_text(
        f'#!/bin/sh\nexec {valkey_program()} "$@" --port 0 --unixsocket {tmp_path}/socket --save ""\n'
    )
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "REDISCLI_AUTH": PASSWORD}
    command = [*COMPOSE["services"]["redis"]["command"][:-1], REDIS_SCRIPT.replace("$$", "$")]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL) as server:
        try:
            until((tmp_path / "socket").exists, "the server listens")
            assert PASSWORD not in Path(f"/proc/{server.pid}/cmdline").read_text()
            with (
                redis.Redis(unix_socket_path=f"{tmp_path}/socket") as stranger,
                pytest.raises(redis.AuthenticationError),
            ):
                stranger.ping()
            with redis.Redis(unix_socket_path=f"{tmp_path}/socket", password=PASSWORD) as known:
                assert known.ping()
                assert known.config_get("appendonly") == {"appendonly": "yes"}
        finally:
            server.terminate()
