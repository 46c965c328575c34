"""Names from the state files of container runtimes, as they write them."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.containers.runtime_state import MAX_BYTES, MISSED_S, RuntimeState, annotated, docker, podman
from tests.fake_sysfs import write
from tests.file_leases import leased

A = "0123456789abcdef" * 4
B = "f" * 64
CRI = {
    "io.kubernetes.cri.container-name": "main",
    "io.kubernetes.cri.sandbox-name": "shop-x",
    "io.kubernetes.cri.sandbox-namespace": "web",
    "io.kubernetes.cri.image-name": "nginx:1.25",
    "secret": "s3cr3t",
}
NAMES = {"k8s.container.name": "main", "k8s.pod.name": "shop-x", "k8s.namespace.name": "web"}
IMAGE = {"container.image.name": "nginx", "container.image.tags": "1.25"}


def bundle(annotations: object) -> str:
    return json.dumps(
        {"ociVersion": "1.1", "process": {"env": ["PASSWORD=s3cr3t"]}, "annotations": annotations}
    )


@pytest.mark.parametrize(
    ("path", "text", "labels"),
    [
        (f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{A}/config.json", bundle(CRI), NAMES | IMAGE),
        (f"run/containerd/io.containerd.runtime.v2.task/default/{A}/config.json", bundle({"nerdctl/name": "web"}),
         {"container.name": "web"}),
        (f"run/containers/storage/overlay-containers/{A}/userdata/config.json",
         bundle({"io.kubernetes.container.name": "main", "io.kubernetes.pod.name": "shop-x",
                 "io.kubernetes.pod.namespace": "web", "io.kubernetes.cri-o.ImageName": "nginx:1.25"}), NAMES | IMAGE),
        (f"var/lib/docker/containers/{A}/config.v2.json",
         json.dumps({"Name": "/web-1", "Config": {"Image": "nginx:1.25", "Env": ["PASSWORD=s3cr3t"]}}),
         {"container.name": "web-1"} | IMAGE),
        ("var/lib/containers/storage/overlay-containers/containers.json",
         json.dumps([{"id": B, "names": ["other"]}, {"id": A, "names": ["web-1", "alias"]}]),
         {"container.name": "web-1"}),
        # what nobody should find there
        (f"var/lib/docker/containers/{A}/config.v2.json", "[]", {}),
        (f"var/lib/docker/containers/{A}/config.v2.json", '{"Name": 7, "Config": []}', {}),
        (f"var/lib/docker/containers/{A}/config.v2.json", '{"a":' * 100_000, {}),
        (f"var/lib/docker/containers/{A}/config.v2.json", '{"Name": "/x"}' + " " * MAX_BYTES, {}),
        (f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{A}/config.json", bundle([1]), {}),
        ("var/lib/containers/storage/overlay-containers/containers.json", '{"id": 1}', {}),
        ("var/lib/containers/storage/overlay-containers/containers.json", f'[1, {{"id": "{A}", "names": {{}}}}]', {}),
    ],
)  # fmt: skip
def test_names(tmp_path: Path, path: str, text: str, labels: dict[str, str]):
    write(tmp_path, path, text)
    state = RuntimeState(tmp_path)
    assert state.labels(A) == labels
    assert "s3cr3t" not in str(state.labels(A))


def test_a_container_that_was_just_starting_is_looked_up_again_after_a_while(tmp_path: Path):
    now = 0.0
    state = RuntimeState(tmp_path, clock=lambda: now)
    assert state.labels(A) == {}
    path = f"var/lib/docker/containers/{A}/config.v2.json"
    write(tmp_path, path, '{"Name": "/web"}')
    now = MISSED_S - 1
    assert state.labels(A) == {}
    now = MISSED_S
    assert state.labels(A) == {"container.name": "web"}
    (tmp_path / path).unlink()
    assert state.labels(A) == {"container.name": "web"}


def test_podmans_list_is_parsed_once_for_all_containers_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    parsed = []
    loads = json.loads

    def counted(data: bytes) -> object:
        parsed.append(data)
        return loads(data)

    monkeypatch.setattr(json, "loads", counted)
    path = "var/lib/containers/storage/overlay-containers/containers.json"
    write(tmp_path, path, json.dumps([{"id": A, "names": ["web-1"]}]))
    state = RuntimeState(tmp_path, clock=lambda: 0.0)
    for container in (B, A, "a" * 64, B):
        state.labels(container)
    assert state.labels(A) == {"container.name": "web-1"}
    assert len(parsed) == 1
    write(tmp_path, path, json.dumps([{"id": "c" * 64, "names": ["another"]}]))
    assert state.labels("c" * 64) == {"container.name": "another"}
    assert len(parsed) == 2


def test_no_link_is_followed_and_no_id_is_a_path(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text('{"Name": "/secret"}')
    folder = tmp_path / "var/lib/docker/containers" / A
    folder.mkdir(parents=True)
    (folder / "config.v2.json").symlink_to(secret)
    write(tmp_path, "config.v2.json", '{"Name": "/secret"}')
    state = RuntimeState(tmp_path)
    assert state.labels(A) == {}
    assert state.labels("../../../..") == {}


@pytest.mark.parametrize(
    "path",
    [
        f"var/lib/docker/containers/{A}/config.v2.json",
        "var/lib/containers/storage/overlay-containers/containers.json",
    ],
)
def test_what_is_no_file_or_under_a_lease_has_no_names(tmp_path: Path, path: str):
    text = json.dumps(
        {"Name": "/web"} if path.startswith("var/lib/docker") else [{"id": A, "names": ["web"]}]
    )
    now = 0.0
    state = RuntimeState(tmp_path, clock=lambda: now)
    (tmp_path / path).parent.mkdir(parents=True)
    os.mkfifo(tmp_path / path)
    assert state.labels(A) == {}
    (tmp_path / path).unlink()
    write(tmp_path, path, text)
    now = MISSED_S
    with leased(tmp_path / path):
        assert state.labels(A) == {}
    now = 2 * MISSED_S
    assert state.labels(A) == {"container.name": "web"}


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=9) | st.just("x" * 999),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["annotations", "Name", "Config", "Labels", "Image", *CRI]), inner, max_size=4
        )
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["annotations", "Name", "Config"]), json_values))
def test_hostile_documents_give_labels_or_nothing(document: dict[str, object]):
    names = podman([document | {"id": "x", "names": [document.get("Name")]}])
    for labels in (annotated(document), docker(document), names):
        assert all(value.isprintable() and len(value) <= 253 for value in labels.values())
