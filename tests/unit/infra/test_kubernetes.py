"""GIVEN the Kubernetes manifests WHEN no cluster is at hand THEN the API's schema and the program still check them."""

import ipaddress
import json
import re
from pathlib import Path

import pytest
import yaml

from gateway.privileges.seccomp import REFUSED
from symbolizer.images.images import MAX_SYMBOL_BYTES
from tests.memory_sums import api_bytes

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
    from services.configuration.settings import Settings

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
    assert given["COLLECTOR_STACK_CACHE_BYTES"] + given["LAKE_MEMORY_BYTES"] + rest <= limit


def test_what_the_workers_processes_may_take_stays_below_their_limit():
    given, limit = _memory("worker")
    each, stacks = given["WORKER_MEMORY_BYTES"], given["WORKER_ID_CACHE_BYTES"]
    # The parent, and the one build of symbols for which 1 GiB and three times its file is allowed at least.
    assert given["WORKER_PROCESSES"] * each + 256 * MIB + 2**30 <= limit
    # All caches, the table of stacks while it doubles, and as much again for what an ingestion makes.
    assert 2 * (stacks * 5 // 4 + 300 * MIB + MAX_SYMBOL_BYTES) <= each


def test_what_the_api_and_its_inspections_may_take_stays_below_their_limit():
    given, limit = _memory("api")
    assert api_bytes({f"FLEETPROF_{name}": value for name, value in given.items()}) <= limit


def test_the_image_reaches_the_object_store_that_the_page_names():
    assert "FLEETPROF_ARCHIVE_URL=s3://" in (ROOT / "docs/deploy.md").read_text()
    pins = (ROOT / "infra/docker/requirements-server.txt").read_text()
    assert re.search(r"^s3fs==", pins, re.MULTILINE)


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
            spec.get("selector", {}).get("matchLabels", {})
        )  # fmt: skip
        assert any(wanted.items() <= found.items() for found in labels), each["metadata"]["name"]


SERVERS = {f"fleetprof-{name}" for name in ("migrate", "collector", "worker", "api")}
POLICIES = [each["spec"] for each in OBJECTS if each["kind"] == "NetworkPolicy"]
PUBLIC = "203.0.113.7"
"""Stands for an address of the internet: RFC 5737."""


def _selects(selector: dict, labels: dict[str, str]) -> bool:
    assert selector.keys() <= {"matchLabels", "matchExpressions"}
    assert all(rule["operator"] == "In" for rule in selector.get("matchExpressions", []))
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        labels.get(rule["key"]) in rule["values"] for rule in selector.get("matchExpressions", [])
    )


def _may_call(name: str, address: str, port: int) -> bool:
    """Whether a pod of the base may open a connection to an address outside the cluster."""
    labels = next(
        each["spec"]["template"]["metadata"]["labels"] for each in OBJECTS
        if each["metadata"]["name"] == name and each["kind"] in {"DaemonSet", "Deployment", "Job"}
    )  # fmt: skip
    its = [p for p in POLICIES if _selects(p["podSelector"], labels) and "Egress" in p["policyTypes"]]
    assert its, f"{name} may call anything"
    for rule in (rule for policy in its for rule in policy.get("egress", [])):
        blocks = [peer["ipBlock"] for peer in rule["to"] if "ipBlock" in peer] if "to" in rule else None
        reached = blocks is None or any(
            ipaddress.ip_address(address) in ipaddress.ip_network(block["cidr"])
            and not any(ipaddress.ip_address(address) in ipaddress.ip_network(o) for o in block.get("except", []))
            for block in blocks
        )  # fmt: skip
        if reached and ("ports" not in rule or port in {each["port"] for each in rule["ports"]}):
            return True
    return False


def test_nothing_is_called_and_calls_unless_a_policy_says_so():
    rest = NAMED["NetworkPolicy", "default-deny"]["spec"]
    assert rest == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.parametrize("address", [PUBLIC, "2001:db8::1", "169.254.169.254"])
@pytest.mark.parametrize("port", [53, 80, 443, 5432, 7071, 10250])
def test_a_gateway_calls_nothing_outside_private_networks(address: str, port: int):
    assert not _may_call("fleetprof-gateway", address, port)


@pytest.mark.parametrize("address", ["10.1.2.3", "172.31.0.1", "192.168.1.1", "fd00::1"])
def test_a_gateway_calls_kubelets_and_nothing_else(address: str):
    assert _may_call("fleetprof-gateway", address, 10250)
    for port in (22, 53, 443, 2379, 5432, 6379, 6443, 7071):
        assert not _may_call("fleetprof-gateway", address, port)


@pytest.mark.parametrize("name", sorted(SERVERS))
def test_servers_call_their_stores_and_no_kubelet(name: str):
    assert all(_may_call(name, PUBLIC, port) for port in (443, 5432, 6379))
    assert not any(_may_call(name, "10.1.2.3", port) for port in (22, 80, 2379, 6443, 9464, 10250))
    assert not _may_call(name, "169.254.169.254", 443), "credentials of the node's cloud account"
    assert all(_may_call(name, address, 53) for address in ("10.96.0.10", "169.254.20.10", "fd00::a"))
    assert not _may_call(name, PUBLIC, 53)
    assert _may_call(name, "10.1.2.3", 7071) is (name == "fleetprof-collector")


def test_every_policy_selects_pods_that_there_are():
    every = [
        each["spec"]["template"]["metadata"]["labels"]
        for each in OBJECTS
        if each["kind"] in {"DaemonSet", "Deployment", "Job"}
    ]
    for policy in POLICIES:
        assert any(_selects(policy["podSelector"], labels) for labels in every)
        for rule in policy["podSelector"].get("matchExpressions", []):
            assert set(rule["values"]) <= {labels[rule["key"]] for labels in every}


def test_the_pages_narrower_addresses_fit_the_policies():
    """JSON patches go by position: those of docs/deploy.md hit the rules that they are about."""
    page = (ROOT / "docs/deploy.md").read_text()
    (example,) = re.findall(
        r"((?:^      .*\n)*^      kind: Kustomization\n(?:^      .*\n)*)", page, re.MULTILINE
    )
    for each in yaml.safe_load(example)["patches"]:
        spec = {"spec": NAMED[each["target"]["kind"], each["target"]["name"]]["spec"]}
        for step in yaml.safe_load(each["patch"]):
            *parents, last = step["path"].strip("/").split("/")
            place = spec
            for part in parents:
                place = place[int(part)] if isinstance(place, list) else place[part]
            assert step["op"] in {"replace", "add"}
            if step["op"] == "replace":
                assert (place[int(last)] if isinstance(place, list) else place[last]) is not None
            else:
                assert isinstance(place, dict)


def _secrets(name: str) -> dict[str, set[str]]:
    """Which keys of which Secrets a pod has in its environment or files; "*": all."""
    found: dict[str, set[str]] = {}
    for container in PODS[name]["containers"]:
        for source in container.get("envFrom", []):
            found.setdefault(source["secretRef"]["name"], set()).add("*")
        for variable in container.get("env", []):
            if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                found.setdefault(reference["name"], set()).add(reference["key"])
    for volume in PODS[name]["volumes"]:
        if "secret" in volume:
            keys = [item["key"] for item in volume["secret"].get("items", [{"key": "*"}])]
            found.setdefault(volume["secret"]["secretName"], set()).update(keys)
    return found


def test_each_secret_is_where_it_is_needed():
    stores = "fleetprof-server"
    assert {name: _secrets(name) for name in PODS} == {
        "fleetprof-gateway": {"fleetprof-gateway": {"*"}},
        "fleetprof-migrate": {stores: {"FLEETPROF_DATABASE_URL"}},
        "fleetprof-collector": {stores: {"*"}, "fleetprof-collector": {"*"}},
        "fleetprof-worker": {stores: {"*"}},
        "fleetprof-api": {stores: {"*"}, "fleetprof-api": {"*"}, "fleetprof-api-tokens": {"FLEETPROF_API_TOKENS", "session-secret"}},
    }  # fmt: skip
    page = (ROOT / "docs/deploy.md").read_text()
    (command,) = re.findall(r"create secret generic fleetprof-api-tokens((?:.*\\\n)*.*)", page)
    assert "FLEETPROF_API_TOKENS=" in command
    assert "session-secret=" in command
    (command,) = re.findall(r"create secret generic fleetprof-server((?:.*\\\n)*.*)", page)
    assert "FLEETPROF_API_TOKENS" not in command


def test_the_token_for_kubelets_is_good_for_ten_minutes():
    """The least that the API allows; a kubelet replaces it before, and the gateway reads it for each question."""
    (volume,) = [each for each in GATEWAY["volumes"] if each["name"] == "kubelet"]
    (token,) = [
        each["serviceAccountToken"]
        for each in volume["projected"]["sources"]
        if "serviceAccountToken" in each
    ]
    assert token["expirationSeconds"] == 600
    (rule,) = NAMED["ClusterRole", "fleetprof-gateway"]["rules"]
    assert (rule["resources"], rule["verbs"]) == (["nodes/pods"], ["get"])


def test_only_the_collector_may_call_gateways():
    rule = NAMED["NetworkPolicy", "the-collector-calls-gateways"]["spec"]["ingress"]
    [source] = rule[0]["from"]
    assert source["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "fleetprof-collector"}


def test_the_own_seccomp_profile_lets_it_sample_and_little_else():
    profile = json.loads((ROOT / "infra/kubernetes/own-seccomp/fleetprof-gateway.json").read_text())
    allowed = {name for rule in profile["syscalls"] for name in rule["names"]}
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {"perf_event_open", "capset", "prctl", "setpriority", "seccomp", "setresuid"} <= allowed
    assert not {"mount", "ptrace", "init_module", "unshare", "setns", "kexec_load"} & allowed
    # It loads the programs that read Python frames; its own filter then leaves only the commands that write maps.
    assert "bpf" in allowed
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


def test_a_cluster_may_do_without_names_of_pods():
    folder = ROOT / "infra/kubernetes/without-pod-names"
    overlay = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert overlay["resources"] == ["../base"]
    gone = set()
    for each in overlay["patches"]:
        steps = yaml.safe_load(each["patch"])
        if isinstance(steps, dict):
            assert steps["$patch"] == "delete"
            gone.add((steps["kind"], steps["metadata"]["name"]))
            continue
        changed = json.loads(json.dumps(NAMED[each["target"]["kind"], each["target"]["name"]]))
        for step in steps:
            *parents, last = step["path"].strip("/").split("/")
            place = changed
            for part in parents:
                place = place[int(part)] if isinstance(place, list) else place[part]
            key = int(last) if isinstance(place, list) else last
            if step["op"] == "test":
                assert place[key] == step["value"], "JSON patches go by position"
            else:
                assert step["op"] == "remove"
                del place[key]
        text = json.dumps(changed)
        assert not any(word in text for word in ("kubelet", "HOST_IP", "10250", "serviceAccountToken"))
    assert gone == {
        ("ClusterRole", "fleetprof-gateway"),
        ("ClusterRoleBinding", "fleetprof-gateway"),
        ("NetworkPolicy", "gateways-call-kubelets"),
    }
    assert gone <= NAMED.keys()
    assert [each["target"]["kind"] for each in overlay["patches"] if "target" in each] == ["DaemonSet"]
