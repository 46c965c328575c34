"""The kubelet's list of pods, as it is and as nobody should send it."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.containers.errors import KubeletUnavailable
from gateway.containers.pods import MAX_PODS, image_labels, parse_pods
from tests.fake_kubelet import HASH, POD, UID, A, B, listed


def test_a_deployment():
    pods = parse_pods(listed(POD), ["app", "team"])
    assert pods.containers[A] == {
        "k8s.pod.name": "shop-6f7d9c5b8-x2x9z",
        "k8s.namespace.name": "web",
        "k8s.pod.label.app": "shop",
        "k8s.pod.label.team": "ads",
        "k8s.pod.qos_class": "Burstable",
        "k8s.deployment.name": "shop",
        "k8s.container.name": "main",
        "container.runtime": "containerd",
        "container.image.name": "registry:5000/web/shop",
        "container.image.tags": "1.2",
    }
    assert pods.containers[B]["k8s.container.name"] == "init"
    assert pods.containers[B]["container.runtime"] == "cri-o"
    assert pods.pods.keys() == {UID, HASH}
    assert "k8s.container.name" not in pods.pods[UID]


def test_nothing_else_of_a_pod_is_taken():
    pods = parse_pods(listed(POD), ["app"])
    assert not {"x", "y", "z", "ads"} & {
        value for labels in pods.containers.values() for value in labels.values()
    }


@pytest.mark.parametrize(
    ("owner", "labels"),
    [
        ({"kind": "DaemonSet", "name": "a", "controller": True}, {"k8s.daemonset.name": "a"}),
        ({"kind": "StatefulSet", "name": "a", "controller": True}, {"k8s.statefulset.name": "a"}),
        ({"kind": "ReplicaSet", "name": "a-b", "controller": True}, {"k8s.replicaset.name": "a-b"}),
        ({"kind": "Job", "name": "a", "controller": True}, {"k8s.job.name": "a"}),
        ({"kind": "Job", "name": "a-28912345", "controller": True},
         {"k8s.job.name": "a-28912345", "k8s.cronjob.name": "a"}),
        ({"kind": "Node", "name": "a", "controller": True}, {}),
        ({"kind": "Job", "name": "a"}, {}),
        ("nonsense", {}),
    ],
)  # fmt: skip
def test_what_controls_a_pod(owner: object, labels: dict[str, str]):
    metadata = {"uid": UID, "ownerReferences": [owner], "labels": {"pod-template-hash": "6f7d"}}
    assert parse_pods(listed({"metadata": metadata}), []).pods[UID] == labels


@pytest.mark.parametrize(
    ("reference", "labels"),
    [
        ("nginx", {"container.image.name": "nginx"}),
        ("nginx:1.25", {"container.image.name": "nginx", "container.image.tags": "1.25"}),
        ("host:5000/nginx", {"container.image.name": "host:5000/nginx"}),
        ("nginx:1.25@sha256:00", {"container.image.name": "nginx", "container.image.tags": "1.25"}),
        ("nginx@sha256:00", {"container.image.name": "nginx"}),
        ("sha256:00", {}),
        ("", {}),
    ],
)
def test_images(reference: str, labels: dict[str, str]):
    assert image_labels(reference) == labels


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"kind":"Status","message":"Forbidden"}',
        '{"kind":"PodList","items":[{]}',
        '{"kind":"PodList","items":[{"metadata":{}}',
        '{"kind":"PodList","items":[{"a":' + "[" * 100_000,
        '{"kind":"PodList","items":[' + '{"a":' * 100_000,
        '{"kind":"PodList","items":[1e',
        listed(POD)[:-200],
    ],
)
def test_what_is_no_list_of_pods(text: str):
    with pytest.raises(KubeletUnavailable):
        parse_pods(text, ["app"])


@pytest.mark.parametrize(
    "text",
    ['{"kind":"PodList","items":[]}', '{"kind":"PodList", "items" : [ ] }', listed(None, 1, "x", [], {})],
)
def test_a_list_of_nothing(text: str):
    assert parse_pods(text, ["app"]).containers == {}


def test_pods_beyond_the_limit_are_left_out():
    pods = [{"metadata": {"uid": f"{n:032x}"}} for n in range(MAX_PODS + 7)]
    assert len(parse_pods(listed(*pods), []).pods) == MAX_PODS


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=10) | st.just("x" * 5000)
    | st.sampled_from([f"docker://{A}", UID, "Guaranteed", "a\nb", "\x1b"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["metadata", "status", "labels", "app", "uid", "name", "namespace", "containerStatuses",
                         "containerID", "image", "ownerReferences", "kind", "controller", "qosClass", "annotations"]),
        inner, max_size=5,
    ),
    max_leaves=30,
)  # fmt: skip


@given(st.lists(json_values, max_size=4))
def test_hostile_pods_give_labels_or_nothing(pods: list[object]):
    found = parse_pods(listed(*pods), ["app"])
    for labels in (*found.containers.values(), *found.pods.values()):
        assert all(
            isinstance(value, str) and value.isprintable() and 0 < len(value) <= 253
            for value in labels.values()
        )


@given(
    st.text(max_size=100).map(lambda text: listed(POD)[:40] + text + listed(POD)[40:])
    | st.integers(0, 900).map(lambda n: listed(POD)[:n])
)
def test_a_damaged_list_is_refused_or_read(text: str):
    with contextlib.suppress(KubeletUnavailable):
        assert len(parse_pods(text, ["app"]).containers) <= 2
