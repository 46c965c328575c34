"""Container names from the state files of container runtimes, without their sockets.

containerd  /run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json      annotations of the CRI
CRI-O       /run/containers/storage/overlay-containers/ID/userdata/config.json          annotations
docker      /var/lib/docker/containers/ID/config.v2.json                                 name, image
podman      /var/lib/containers/storage/overlay-containers/containers.json               names

Only names leave this module: the files also hold environments and mounts. The files belong to root, and a gateway in a
container needs the host's root mounted; an unreadable file gives no names.
"""

from __future__ import annotations

import json
import os
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from gateway.containers.pods import MAX_TEXT, image_labels
from gateway.errors import FileRefused
from gateway.process.untrusted_file import open_untrusted, read_opened, read_untrusted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_BYTES: Final = 1 << 20
"""Limit of one file; a larger one is skipped."""
MAX_REMEMBERED: Final = 4096
MISSED_S: Final = 120.0
"""How soon an unknown container is searched again: otherwise each capture would, for each container."""
_CONTAINERD: Final = "run/containerd/io.containerd.runtime.v2.task"
_STORAGES: Final = ("run/containers/storage", "var/lib/containers/storage")
_DOCKER: Final = "var/lib/docker/containers"
_ANNOTATIONS: Final = (
    ("k8s.container.name", ("io.kubernetes.cri.container-name", "io.kubernetes.container.name")),
    ("k8s.pod.name", ("io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name")),
    ("k8s.namespace.name", ("io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace")),
    ("container.name", ("nerdctl/name",)),
)
_IMAGES: Final = ("io.kubernetes.cri.image-name", "io.kubernetes.cri-o.ImageName", "nerdctl/image")

Labels = dict[str, str]
_Stamp = tuple[int, int, int]
"""Inode, size, time of change."""


class RuntimeState:
    """Names of containers by id, each looked up once per process, unless it was not found."""

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`root` is "/" or the mount point of the host's root."""
        self._root = f"{root}".rstrip("/")
        self._clock = clock
        self._known: OrderedDict[str, tuple[Labels, float]] = OrderedDict()
        self._listed: dict[str, tuple[_Stamp, dict[str, str]]] = {}

    def labels(self, container: str) -> Labels:
        """The labels of a container by its runtime; empty: unknown, or its files are unreadable."""
        labels, looked_at = self._known.get(container, ({}, float("-inf")))
        # A container that was not found may be starting; the names of known ones do not change.
        if not labels and self._clock() - looked_at >= MISSED_S:
            labels = self._look(container)
            self._known[container] = labels, self._clock()
            if len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        return labels

    def _look(self, container: str) -> Labels:
        if not container.isalnum():
            return {}  # never a path
        for paths, parse in (
            (self._containerd(container), annotated),
            (
                [
                    f"{self._root}/{base}/overlay-containers/{container}/userdata/config.json"
                    for base in _STORAGES
                ],
                annotated,
            ),
            ([f"{self._root}/{_DOCKER}/{container}/config.v2.json"], docker),
        ):
            for path in paths:
                if (document := _read(path)) and (labels := parse(document)):
                    return labels
        return self._podman(container)

    def _containerd(self, container: str) -> list[str]:
        folder = f"{self._root}/{_CONTAINERD}"
        try:
            spaces = sorted(os.listdir(folder))  # noqa: PTH208 - a Path for each costs more than the call
        except OSError:
            return []
        return [f"{folder}/{space}/{container}/config.json" for space in spaces]

    def _podman(self, container: str) -> Labels:
        for base in reversed(_STORAGES):
            names = self._names(f"{self._root}/{base}/overlay-containers/containers.json")
            if container in names:
                return _named(names[container])
        return {}

    def _names(self, path: str) -> dict[str, str]:
        """Podman's list of all containers, read again only when it has changed."""
        try:
            descriptor = open_untrusted(path, flags=os.O_NOFOLLOW)
            try:
                status = os.fstat(descriptor)
                stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
                known = self._listed.get(path)
                if known is None or known[0] != stamp:
                    known = self._listed[path] = (stamp, podman(_parsed(read_opened(descriptor, MAX_BYTES))))
            finally:
                os.close(descriptor)
        except (OSError, FileRefused):
            self._listed.pop(path, None)
            return {}
        return known[1]


def annotated(document: dict[str, Any]) -> Labels:
    """Labels from the annotations of a bundle's config.json (OCI runtime specification)."""
    annotations = document.get("annotations")
    if not isinstance(annotations, dict):
        return {}
    labels: Labels = {}
    for label, keys in _ANNOTATIONS:
        labels |= (
            {label: text}
            if (text := next(filter(None, (_text(annotations.get(key)) for key in keys)), ""))
            else {}
        )
    image = next(filter(None, (_text(annotations.get(key)) for key in _IMAGES)), "")
    return labels | image_labels(image) if labels else {}


def podman(listed: object) -> dict[str, str]:
    """First names by id from podman's containers.json; "" for one without."""
    found: dict[str, str] = {}
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(id_ := each.get("id"), str):
            names = each.get("names")
            found.setdefault(id_, _text(names[0]) if isinstance(names, list) and names else "")
    return found


def docker(document: dict[str, Any]) -> Labels:
    """Labels from docker's config.v2.json. Containers of the old kubelet have its names as labels."""
    config = document.get("Config")
    config = config if isinstance(config, dict) else {}
    labels = _named(_text(document.get("Name")).lstrip("/"))
    own = config.get("Labels")
    if isinstance(own, dict) and (pod := annotated({"annotations": own})):
        labels = pod
    return labels | image_labels(_text(config.get("Image"))) if labels else {}


def _named(name: object) -> Labels:
    return {"container.name": text} if (text := _text(name)) else {}


def _read(path: str) -> dict[str, Any]:
    """The JSON object in a file; empty if there is none, it is too large, or unreadable."""
    try:
        # A user's link would lead the gateway, which may read everything, to any file.
        document = _parsed(read_untrusted(path, MAX_BYTES, flags=os.O_NOFOLLOW))
    except (OSError, ValueError, FileRefused):
        return {}
    return document if isinstance(document, dict) else {}


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) and 0 < len(value) <= MAX_TEXT and value.isprintable() else ""
