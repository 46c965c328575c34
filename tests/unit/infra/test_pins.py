"""GIVEN what images and the bundle are made of WHEN an index gives other files under the same names THEN they are refused."""

import functools
import json
import re
import tomllib
from itertools import product
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
SERVER, GATEWAY, BUILD, BUNDLE, INSTALL, DEV = (
    ROOT / f"infra/{name}"
    for name in (
        "docker/requirements-server.txt",
        "docker/requirements-gateway.txt",
        "docker/requirements-build.txt",
        "bundle/requirements.txt",
        "requirements-install.txt",
        "requirements-dev.txt",
    )
)
WHERE = [
    {"python_version": version, "python_full_version": f"{version}.9", "platform_machine": machine}
    for version, machine in product(("3.11", "3.12", "3.13", "3.14"), ("x86_64", "aarch64"))
]
DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


def wanted(*extras: str) -> list[Requirement]:
    """What extras of pyproject.toml ask for, those that they name of its own included."""
    found = []
    for requirement in map(Requirement, (each for extra in extras for each in EXTRAS[extra])):
        own = requirement.name == PROJECT["project"]["name"]
        found += wanted(*requirement.extras) if own else [requirement]
    return found


@functools.cache
def pinned(file: Path) -> list[tuple[Requirement, list[str]]]:
    """Each requirement of a file, with its hashes."""
    text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [re.split(r"\s+--hash=", line) for line in text.splitlines()]
    return [(Requirement(words[0]), words[1:]) for words in lines]


SETS = {
    SERVER: wanted("server", "s3"),
    GATEWAY: wanted("gateway"),
    BUILD: [*wanted("web"), *map(Requirement, PROJECT["build-system"]["requires"])],
    BUNDLE: wanted("bundle"),
    INSTALL: wanted("install"),
    DEV: wanted("dev"),
}


@pytest.mark.parametrize("file", SETS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_pin_is_one_version_with_the_digests_of_its_files(file: Path):
    pins = pinned(file)
    assert pins
    for requirement, hashes in pins:
        assert re.fullmatch(r"==[\w.!+]+", str(requirement.specifier)), requirement
        assert requirement.url is None
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement
    assert "index-url" not in file.read_text(), "which index there is is the installer's business"


@pytest.mark.parametrize("file", SETS, ids=lambda file: f"{file.parent.name}/{file.name}")
@pytest.mark.parametrize(
    "place", WHERE, ids=lambda place: f"{place['python_version']}-{place['platform_machine']}"
)
def test_what_the_project_asks_for_is_pinned_on_every_platform(file: Path, place: dict[str, str]):
    assert SETS[file]
    for asked in SETS[file]:
        if asked.marker is not None and not asked.marker.evaluate(place):
            continue
        found = [
            pin
            for pin, _ in pinned(file)
            if pin.name.lower().replace("_", "-") == asked.name.lower().replace("_", "-")
            and (pin.marker is None or pin.marker.evaluate(place))
        ]
        assert len(found) == 1, asked
        (version,) = found[0].specifier
        assert asked.specifier.contains(version.version, prereleases=True), (asked, version)


@pytest.mark.parametrize("file", [GATEWAY, BUNDLE], ids=["image", "bundle"])
def test_a_node_and_the_server_speak_by_the_same_versions(file: Path):
    servers = {pin.name: pin.specifier for pin, _ in pinned(SERVER)}
    ours = {pin.name: pin.specifier for pin, _ in pinned(file) if pin.name in servers}
    assert ours.keys() >= {"grpcio", "protobuf", "zstandard"}
    assert ours == {name: servers[name] for name in ours}


def test_development_has_the_versions_that_the_server_has():
    servers = {pin.name: pin.specifier for pin, _ in pinned(SERVER)}
    ours = {pin.name: pin.specifier for pin, _ in pinned(DEV)}
    shared = servers.keys() & ours.keys()
    assert {"sqlalchemy", "numpy"} <= shared
    assert {name: ours[name] for name in shared} == {name: servers[name] for name in shared}


def test_the_makefile_installs_nothing_whose_digest_is_not_known():
    makefile = (ROOT / "Makefile").read_text()
    (ourselves,) = re.findall(r"^OURSELVES := (.+)$", makefile, re.MULTILINE)
    assert {"--no-deps", "--no-build-isolation"} <= set(ourselves.split())
    commands = re.findall(r"^\t@(?:\$\(UV_INSTALL\)|.* -m pip install) (.+)$", makefile, re.MULTILINE)
    engines = "--editable '.[engines]'"  # Spark has no wheel; only `make test-engines` installs it
    assert len(commands) == 6
    for words in commands:
        assert words in {"$(OURSELVES)", engines} or "--require-hashes" in words.split()


def test_pip_installs_nothing_whose_digest_is_not_known():
    dockerfile = (ROOT / "infra/docker/Dockerfile").read_text().replace("\\\n", " ")
    commands = re.findall(r"pip (?:install|wheel) ([^&\n]+)", dockerfile)
    files = {name for words in commands for name in re.findall(r"requirements-\w+\.txt", words)}
    assert files == {SERVER.name, GATEWAY.name, BUILD.name}
    for words in commands:
        # A source distribution's own build would fetch what it likes.
        hashed = {"--require-hashes", "--only-binary=:all:"} <= set(words.split())
        assert hashed or {"--no-deps"} < set(words.split()) & {
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
        }
    freeze = (ROOT / "infra/bundle/freeze.py").read_text()
    assert '"--require-hashes", "--only-binary=:all:"' in freeze


def test_images_are_named_by_digest():
    dockerfile = (ROOT / "infra/docker/Dockerfile").read_text()
    (base,) = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", dockerfile, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${PYTHON_IMAGE}"}
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"].values()
    images = [base, *(service["image"] for service in services if "build" not in service)]
    assert len(images) == 3
    for image in images:
        assert DIGEST.search(image), image
        assert re.match(r"\w+:\d+\.\d+", image), "the exact version, for people"


def test_the_web_ui_is_built_from_packages_whose_digests_are_known():
    packages = json.loads((ROOT / "webui/package-lock.json").read_text())["packages"]
    assert len(packages) > 1
    for place, package in packages.items():
        assert place == "" or package["integrity"].startswith("sha512-"), place
