"""Parses the kubelet's list of pods into labels of containers (Kubernetes API: PodList, core/v1).

The reply is untrusted: types, sizes and depths are checked, and invalid parts are skipped. Pods are parsed one after
the other, so that a list of megabytes never becomes a tree of objects ten times as large.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gateway.containers.errors import KubeletUnavailable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MAX_PODS: Final = 5000
MAX_CONTAINERS: Final = 200
"""Limit for one pod."""
MAX_TEXT: Final = 253
_ITEMS: Final = re.compile(r'"items"\s*:\s*\[')
_BETWEEN: Final = re.compile(r"[\s,]*")
_ID: Final = re.compile(r"([a-z0-9-]{1,32})://([0-9a-f]{12,64})")
_UID: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RUNTIMES: Final = {"containerd": "containerd", "docker": "docker", "cri-o": "cri-o"}
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_OWNERS: Final = {
    "DaemonSet": "k8s.daemonset.name",
    "StatefulSet": "k8s.statefulset.name",
    "ReplicaSet": "k8s.replicaset.name",
    "Job": "k8s.job.name",
}
_HASH: Final = "pod-template-hash"
# A CronJob names its jobs by the minute of their schedule (since Kubernetes 1.21).
_CRON: Final = re.compile(r"(.+)-[0-9]{8,11}")
_CLASSES: Final = frozenset({"Guaranteed", "Burstable", "BestEffort"})

Labels = dict[str, str]


@dataclass(frozen=True, slots=True)
class Pods:
    """Labels by container id and, for processes of a pod outside its containers, by pod uid."""

    containers: dict[str, Labels] = field(default_factory=dict)
    pods: dict[str, Labels] = field(default_factory=dict)


def parse_pods(text: str, wanted: Collection[str]) -> Pods:
    """Labels of all pods; `wanted` selects from a pod's own labels. Raises KubeletUnavailable for an invalid list."""
    found = Pods()
    for pod in _items(text):
        metadata, status = _object(pod, "metadata"), _object(pod, "status")
        labels = _pod_labels(metadata, status, wanted)
        # The kubelet's control groups identify a static pod by the hash of its file.
        annotations = _object(metadata, "annotations")
        for uid in (_text(metadata, "uid"), _text(annotations, "kubernetes.io/config.hash")):
            if _UID.fullmatch(uid):
                found.pods[uid] = labels
        for kind in _STATUSES:
            for each in _objects(status, kind):
                match = _ID.fullmatch(_text(each, "containerID"))
                if match:
                    found.containers[match[2]] = labels | _container_labels(each, match[1])
    return found


def image_labels(reference: str) -> Labels:
    """Name and tag of an image reference; none for a bare digest."""
    name = reference.partition("@")[0]
    if not name or reference.startswith("sha256:"):
        return {}
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return {"container.image.name": name[:MAX_TEXT]}
    return {"container.image.name": repository[:MAX_TEXT], "container.image.tags": tag[:MAX_TEXT]}


def _items(text: str) -> Iterator[dict[str, Any]]:
    start = _ITEMS.search(text)
    if start is None or '"PodList"' not in text:
        raise KubeletUnavailable("its response is not a list of pods")
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    at = start.end()
    for _ in range(MAX_PODS):
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
        if text[at : at + 1] == "]":
            return
        try:
            pod, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise KubeletUnavailable("its list of pods is cut off or damaged") from error
        if isinstance(pod, dict):
            yield pod


def _pod_labels(metadata: dict[str, Any], status: dict[str, Any], wanted: Collection[str]) -> Labels:
    labels = {"k8s.pod.name": _text(metadata, "name"), "k8s.namespace.name": _text(metadata, "namespace")}
    own = _object(metadata, "labels")
    for key in wanted:
        labels[f"k8s.pod.label.{key}"] = _text(own, key)
    qos = _text(status, "qosClass")
    labels["k8s.pod.qos_class"] = qos if qos in _CLASSES else ""
    for owner in _objects(metadata, "ownerReferences"):
        label = _OWNERS.get(_text(owner, "kind"))
        if owner.get("controller") is True and label:
            labels |= _workload(label, _text(owner, "name"), _text(own, _HASH))
    return {key: value for key, value in labels.items() if value}


def _workload(label: str, name: str, template_hash: str) -> Labels:
    """The pod's controller; a Deployment's ReplicaSet has the Deployment's name and the hash of its template."""
    if label == "k8s.replicaset.name" and template_hash and name.endswith(f"-{template_hash}"):
        return {"k8s.deployment.name": name.removesuffix(f"-{template_hash}")}
    if label == "k8s.job.name" and (cron := _CRON.fullmatch(name)):
        return {label: name, "k8s.cronjob.name": cron[1]}
    return {label: name}


def _container_labels(status: dict[str, Any], scheme: str) -> Labels:
    labels = {"k8s.container.name": _text(status, "name"), "container.runtime": _RUNTIMES.get(scheme, "")}
    labels |= image_labels(_text(status, "image"))
    return {key: value for key, value in labels.items() if value}


def _object(parent: dict[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _objects(parent: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = parent.get(key)
    return (
        [each for each in value[:MAX_CONTAINERS] if isinstance(each, dict)] if isinstance(value, list) else []
    )


def _text(parent: dict[str, Any], key: str) -> str:
    """A value that is a valid label: printable and short; "" for everything else."""
    value = parent.get(key)
    return value if isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable() else ""
