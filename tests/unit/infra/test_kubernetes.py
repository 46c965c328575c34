"""GIVEN the Kubernetes manifests WHEN no cluster is at hand THEN the API's schema and the program still check them."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from gateway.privileges.system_calls import REFUSED

ROOT = Path(__file__).parents[3]
MIB = 2**20
BASE = ROOT / "infra/kubernetes/base"
FILES = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
OBJECTS = [each for file in FILES for each in yaml.safe_load_all((BASE / file).read_text())]
NAMED = {(each["kind"], each["metadata"]["name"]): each for each in OBJECTS}
PODS = {
    each["metadata"]["name"]: each["spec"]["template"]["spec"]
    for each in OBJECTS
    if each["kind"] in {"DaemonSet", "Deployment", "Job"}
}
GATEWAY = PODS["fleetprof-gateway"]


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_the_schema_accepts_it(kind: str, name: str):
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    validate.validate(NAMED[kind, name], "1.34", strict=True)


def test_every_file_is_part_of_it():
    assert {path.name for path in BASE.iterdir()} == {*FILES, "kustomization.yaml"}


def test_every_setting_in_it_exists():
    from services.settings import Settings

    known = {f"FLEETPROF_{name.upper()}" for name in Settings.model_fields}
    used = {
        variable["name"]
        for pod in PODS.values()
        for container in pod["containers"]
        for variable in container.get("env", [])
        if variable["name"].startswith("FLEETPROF_")
    }
    assert used
    assert used <= known


@pytest.mark.parametrize("name", ["migrate", "collector", "worker", "api"])
def test_every_command_in_it_exists(name: str):
    import typer.main

    from services.cli import app

    command = typer.main.get_command(app)
    for word in PODS[f"fleetprof-{name}"]["containers"][0]["args"]:
        command = command.commands[word]


def _memory(name: str) -> tuple[dict[str, int], int]:
    """The settings of a pod that are numbers, without their prefix, and its limit in bytes."""
    (container,) = PODS[f"fleetprof-{name}"]["containers"]
    limit = container["resources"]["limits"]["memory"]
    assert limit.endswith("Gi")
    given = {
        each["name"].removeprefix("FLEETPROF_"): int(each["value"])
        for each in container["env"]
        if str(each.get("value", "")).isdigit()
    }
    return given, int(limit[:-2]) * 2**30


def test_what_the_collector_takes_at_most_stays_below_its_limit():
    given, limit = _memory("collector")
    # What docs/settings.md adds up: the collector itself, growing arrays of the cache, a batch, an export beside DuckDB.
    rest = 185 * MIB + 130 * MIB + 10**9 + 512 * MIB
    assert given["COLLECTOR_STACK_BYTES"] + given["LAKE_MEMORY_BYTES"] + rest <= limit


def test_what_the_workers_processes_may_take_stays_below_their_limit():
    given, limit = _memory("worker")
    each, stacks = given["WORKER_MEMORY_BYTES"], given["WORKER_STACK_BYTES"]
    # The parent, and the one build of symbols for which 1 GiB and three times its file is allowed at least.
    assert given["WORKER_PROCESSES"] * each + 256 * MIB + 2**30 <= limit
    # All caches, the table of stacks while it doubles, and as much again for what a landing makes.
    assert 2 * (stacks * 5 // 4 + 300 * MIB) <= each


def test_the_image_reaches_the_object_store_that_the_page_names():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (ROOT / "docs/deploy.md").read_text()
    assert "FLEETPROF_ARCHIVE_URL=s3://" in page
    assert any(each.startswith("s3fs") for each in extras["s3"])
    dockerfile = (ROOT / "infra/docker/Dockerfile").read_text()
    assert dockerfile.count("[server,s3]") == 2, "its wheel is built, and installed"


def test_the_gateways_options_make_sense_to_it():
    from gateway.options import build_parser

    words = [
        word.replace("$(NODE)", "n1").replace("$(HOST_IP)", "10.0.0.7")
        for word in GATEWAY["containers"][0]["args"]
    ]
    assert build_parser().parse_args(words).listen == ["[::]:7071"]


def test_the_gateway_has_the_documented_capabilities_and_no_other_right():
    context = GATEWAY["containers"][0]["securityContext"]
    from gateway.privileges.capabilities import NEEDED

    documented = {needed.name for needed in NEEDED}
    # To become somebody else, and given up with that.
    assert {f"CAP_{name}" for name in context["capabilities"]["add"]} == documented | {
        "CAP_SETUID",
        "CAP_SETGID",
    }
    assert any(word.startswith("--user=") for word in GATEWAY["containers"][0]["args"])
    assert context["capabilities"]["drop"] == ["ALL"]
    assert GATEWAY["hostPID"] is True
    assert not {"hostNetwork", "hostIPC"} & GATEWAY.keys()
    assert not any("hostPath" in volume for volume in GATEWAY["volumes"])


@pytest.mark.parametrize("name", PODS)
def test_each_container_is_locked_down(name: str):
    for container in PODS[name]["containers"]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"]["drop"] == ["ALL"]
        assert "memory" in container["resources"]["limits"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in PODS[name]["volumes"]}
    assert PODS[name]["automountServiceAccountToken"] is False


def test_what_selects_pods_finds_them():
    labels = [
        each["spec"]["template"]["metadata"]["labels"]
        for each in OBJECTS
        if each["kind"] in {"DaemonSet", "Deployment"}
    ]
    for each in OBJECTS:
        spec = each.get("spec", {})
        wanted = (
            spec.get("selector", {}) if each["kind"] == "Service" else
            spec.get("selector", spec.get("podSelector", {})).get("matchLabels", {})
        )  # fmt: skip
        assert any(wanted.items() <= found.items() for found in labels), each["metadata"]["name"]


def test_only_the_collector_may_call_gateways():
    rule = NAMED["NetworkPolicy", "the-collector-calls-gateways"]["spec"]["ingress"]
    [source] = rule[0]["from"]
    assert source["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "fleetprof-collector"}


def test_the_own_seccomp_profile_lets_it_sample_and_little_else():
    profile = json.loads((ROOT / "infra/kubernetes/own-seccomp/fleetprof-gateway.json").read_text())
    allowed = {name for rule in profile["syscalls"] for name in rule["names"]}
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {"perf_event_open", "capset", "prctl", "setpriority", "seccomp", "setresuid"} <= allowed
    assert not {"mount", "ptrace", "bpf", "init_module", "unshare", "setns", "kexec_load"} & allowed
    # A runtime starts the gateway by one of them; its own filter takes them away.
    assert REFUSED.keys() & allowed <= {"execve", "execveat"}


def test_nodes_may_have_keys_of_their_own():
    overlay = yaml.safe_load((ROOT / "infra/kubernetes/node-certificates/kustomization.yaml").read_text())
    assert overlay["resources"] == ["../base"]
    (patch,) = overlay["patches"]
    tested, replaced = yaml.safe_load(patch["patch"])
    assert (tested["path"], replaced["path"]) == (
        "/spec/template/spec/volumes/0/name",
        "/spec/template/spec/volumes/0",
    )
    # JSON patches go by position.
    assert GATEWAY["volumes"][0]["name"] == tested["value"] == replaced["value"]["name"]
    assert replaced["value"]["hostPath"] == {"path": "/etc/fleetprof", "type": "Directory"}
