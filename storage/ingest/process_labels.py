"""Derive a process group's application and other labels, as a pure function.

*application* is the first of these that applies, and *version* comes from the same source:
1. job metadata: the labels of `_JOBS`, from the operator's labels file, the environment or the scheduler;
2. Kubernetes: the labels of `_WORKLOADS`, of the pod or unprefixed, else the container's name;
3. the systemd unit, if it is a service that belongs to one program (not a user's session);
4. the script or main class, for interpreters;
5. the base name of the executable;
6. for kernel threads, their common part, in brackets: kworker/0:1 is [kworker].

Without a version from the source, the main executable's build-id is the version.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetpb import capture_pb2
from storage.schema import DIMENSIONS

MAX_LENGTH = 255
"""Maximum characters of a label: values are indexed, and an index row has a limit."""

_POD = "k8s.pod.label."
"""Prefix of a pod's own labels, as gateways send them (capture.proto)."""
_JOBS = (("application", "version"), ("job", "version"))
_WORKLOADS = (
    ("app.kubernetes.io/name", "app.kubernetes.io/version"),
    ("k8s-app", "version"),
    ("app", "version"),
)
_KUBERNETES = tuple((_POD + name, _POD + version) for name, version in _WORKLOADS) + _WORKLOADS
_CONTAINERS = ("k8s.container.name", "container.name", "io.kubernetes.container.name", "container_name")
_IMAGE_TAG = "container.image.tags"
_NO_VERSION = frozenset({"", "latest"})
_JOB_LABELS = (
    "job",
    "k8s.cronjob.name",
    "k8s.job.name",
    f"{_POD}batch.kubernetes.io/job-name",
    f"{_POD}app.kubernetes.io/instance",
    "app.kubernetes.io/instance",
    "batch.kubernetes.io/job-name",
)
_COMPILER_LABEL = "compiler"
_COLUMNS = frozenset({*DIMENSIONS, "machine"})
"""Labels with columns in profiles: a user's label of the same name becomes that column, or cannot be queried."""
# Units that start arbitrary programs for a user or a timer: the name of the unit identifies none.
_SHARED_UNITS = re.compile(r"^(user@\d+|session-.*|init|cron|crond|atd|docker|containerd|kubelet)$")
# kworker/u8:2-events, ksoftirqd/3, irq/24-nvme0q1, jbd2/vda1-8, kswapd0, scsi_eh_1, kdamond.0
_THREAD = re.compile(r"^([^/:]*[A-Za-z][^/:]*?)(?:[/:].*|[-_.]?\d+)?$")


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one process group; "" if unknown."""

    application: str
    version: str
    image: str
    """Base name of the main executable."""
    build_id: str
    """Build-id of the main executable, hex, or its content key."""
    container: str
    job: str
    compiler: str
    others: Mapping[str, str] = field(default_factory=dict)
    """comm, unit and the user's labels; cgroup if it adds to these."""


def derive(capture: capture_pb2.Capture, group: capture_pb2.ProcessGroup) -> Labels:
    """Derive the labels of a process group of the capture."""
    strings = capture.strings
    comm, exe, script = strings[group.comm], strings[group.exe], strings[group.script]
    unit, container, cgroup = strings[group.unit], strings[group.container], strings[group.cgroup]
    user = {strings[k]: strings[v] for k, v in zip(group.labels[::2], group.labels[1::2], strict=True)}

    build_id = ""
    if group.main_mapping:
        mapping = capture.mappings[group.main_mapping - 1]
        build_id = mapping.build_id.hex() or strings[mapping.content_key]
    image = exe.removesuffix(" (deleted)").rpartition("/")[2]
    if group.kernel_thread:
        application, version = f"[{thread_family(comm)}]", capture.machine.kernel_release
    else:
        application, version = _application(user, unit, script, image or comm)
    others = {name: value for name, value in user.items() if name not in _COLUMNS}
    others |= {name: value for name, value in (("comm", comm), ("unit", unit)) if value}
    if group.kernel_thread:
        others["comm"] = application.strip("[]")
    elif not container and not unit and cgroup not in ("", "/"):
        others["cgroup"] = cgroup
    return Labels(
        application=clean(application),
        version=clean(version or build_id),
        image=clean(image),
        build_id=clean(build_id),
        container=clean(container),
        job=clean(next((user[name] for name in _JOB_LABELS if user.get(name)), "")),
        compiler=clean(user.get(_COMPILER_LABEL, "")),
        others={clean(name): clean(value) for name, value in sorted(others.items())},
    )


def thread_family(comm: str) -> str:
    """The common part of kernel threads of one kind: kworker/0:1 → kworker, ksoftirqd/3 → ksoftirqd."""
    match = _THREAD.match(comm)
    return match[1] if match else comm


def clean(text: str) -> str:
    """The text in a form that can be stored: without NUL, at most MAX_LENGTH characters."""
    return text.replace("\0", "�")[:MAX_LENGTH]


def _application(user: Mapping[str, str], unit: str, script: str, program: str) -> tuple[str, str]:
    """(application, version); version is "" if its source has none."""
    for name, version in _JOBS:
        if user.get(name):
            return user[name], user.get(version, "")
    tag = user.get(_IMAGE_TAG, "")
    of_image = "" if tag in _NO_VERSION else tag
    for name, version in _KUBERNETES:
        if user.get(name):
            return user[name], user.get(version) or of_image
    for name in _CONTAINERS:
        if user.get(name):
            return user[name], user.get("version") or of_image
    stem, dot, kind = unit.rpartition(".")
    stem = stem.partition("@")[0] if not _SHARED_UNITS.match(stem) else ""
    if dot and kind == "service" and stem:
        return stem, ""
    return script or program or "[unknown]", ""
