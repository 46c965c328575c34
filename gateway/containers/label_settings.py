"""The operator's settings for labels. Imports nothing large: the waiting process holds it all day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LABEL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,127}", re.ASCII)
"""Valid label names, which queries can use (storage's matchers accept the same)."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_POD_LABEL: Final = re.compile(r"(?:[A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", re.ASCII)
_URL: Final = re.compile(
    r"(https?)://((?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::[0-9]{1,5})?)(/[\x21-\x7e]*)?", re.ASCII
)
_PODS: Final = "/pods"
_MAX_PORT: Final = 0xFFFF

POD_LABELS: Final = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/version",
    "app.kubernetes.io/instance",
    "app",
    "k8s-app",
    "version",
    "batch.kubernetes.io/job-name",
)
"""Pod labels that are always taken: the application, its version and its job are derived from them."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    """The address of this machine's kubelet. `path` is that of its list of pods; `authority` None: the system's."""

    secure: bool
    address: str
    path: str
    token_file: Path | None = None
    authority: Path | None = None


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """Sources of labels.

    `environment` maps the permitted variables of processes to labels. `pod_labels` are taken besides POD_LABELS.
    `state_root` is prefixed to the paths of container runtimes' state, "/" or the mount point of the host's root; None:
    they are not read.
    """

    labels_file: Path | None = None
    kubelet: Kubelet | None = None
    pod_labels: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    state_root: Path | None = None


NO_LABELS: Final = LabelSettings()
"""No source besides the paths of control groups."""


def parse_environment_label(text: str) -> tuple[str, str]:
    """`NAME` becomes the label env.NAME, `NAME=LABEL` the label LABEL; raises ValueError with the reason."""
    name, equals, label = text.partition("=")
    if not _VARIABLE.fullmatch(name):
        raise ValueError(f"{text}: must be the name of a variable, or NAME=LABEL")
    if equals and not LABEL_NAME.fullmatch(label):
        raise ValueError(
            f"{text}: a label's name must begin with a letter and consist of letters, digits and _ . / -"
        )
    return name, label if equals else f"env.{name}"


def parse_pod_label(text: str) -> str:
    """The key of a pod's label; raises ValueError with the reason."""
    if not _POD_LABEL.fullmatch(text):
        raise ValueError(f"{text}: must be the key of a label of pods, e.g. team or example.com/team")
    return text


def parse_kubelet(url: str, token_file: Path | None, authority: Path | None) -> Kubelet:
    """`http://HOST:10255` or `https://HOST:10250`; raises ValueError with the reason."""
    match = _URL.fullmatch(url)
    if not match:
        raise ValueError(
            f"{url}: must be http://HOST:PORT or https://HOST:PORT, optionally with the path /pods"
        )
    port = match[2].rpartition(":")[2]
    if port.isdigit() and int(port) > _MAX_PORT:
        raise ValueError(f"{url}: a port is at most {_MAX_PORT}")
    secure = match[1] == "https"
    if token_file is not None and not secure:
        raise ValueError(
            f"{url}: a token is not sent without TLS; the kubelet's authenticated port is https, 10250"
        )
    if authority is not None and not secure:
        raise ValueError(f"{url}: an authority has no effect without TLS")
    path = match[3] or ""
    return Kubelet(secure, match[2], _PODS if path in {"", "/"} else path, token_file, authority)
