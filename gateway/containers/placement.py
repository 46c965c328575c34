"""Parses the path of a control group: container, its runtime, pod, quality of service, systemd unit.

Only the path is used, so it works for containers that have ended. Managers name groups in their own ways
(sources: runc's and crun's cgroup drivers, the kubelet's cm package, podman, systemd.slice(5), the ECS agent):

    /docker/ID                                                        cgroupfs driver
    /system.slice/docker-ID.scope                                     systemd driver; nerdctl-ID, libpod-ID alike
    /kubepods/burstable/podUID/ID                                     the kubelet with cgroupfs
    /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podU_I_D.slice/cri-containerd-ID.scope
    /system.slice/containerd.service/kubepods-burstable-podU_I_D.slice:cri-containerd:ID
    /machine.slice/libpod-ID.scope/container                          podman with crun
    /ecs/TASK/ID, /ecs/TASK/TASK-NUMBER                               ECS on EC2, on Fargate
    /lxc.payload.NAME, /lxc/NAME, /machine.slice/machine-NAME.scope   system containers, which have names

A user who may create groups below his own can give them any name, also that of another: `systemd-run --user
--unit=nginx`, or a folder named after another container. So only groups made by the machine's own managers count, the
outermost ones: nothing below a user's manager (user@1000.service), and for a container in a container (kind, docker in
docker) the outer one, with its pod and its class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_ID: Final = r"[0-9a-f]{64}"
_CONTAINER: Final = re.compile(rf"(?:^|[/:])(?:([a-z][a-z0-9_-]*?)[-_])?({_ID})(?:\.scope)?(?=/|$)")
# Monitor processes that podman and CRI-O start next to a container.
_WATCHERS: Final = ("conmon",)
_RUNTIMES: Final = {
    "docker": "docker",
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
    "crio": "cri-o",
    "libpod": "podman",
    "libpod-payload": "podman",
}
_FOLDERS: Final = {"docker": "docker", "libpod_parent": "podman", "ecs": "docker"}
_POD: Final = re.compile(
    r"(?:^|[/-])pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?=[/:]|$)"
)
_ECS: Final = frozenset({"ecs", "ecstasks.slice"})
_ECS_TASK: Final = re.compile(r"(?:ecstasks-)?([0-9a-f]{32}|[0-9a-f-]{36})(?:\.slice)?")
_FARGATE: Final = re.compile(r"/([0-9a-f]{32}-[0-9]{1,12})$")
_SYSTEM_CONTAINER: Final = re.compile(
    r"/(?:lxc\.payload[./]|lxc/|machine\.slice/(?:machine-|systemd-nspawn@))([A-Za-z0-9_.\\-]{1,128}?)(?:\.scope|\.service)?(?=/|$)"
)
_CLASSES: Final = {"burstable": "Burstable", "besteffort": "BestEffort"}
_OF_A_USER: Final = re.compile(r"/(?:user|capsule)@[^/]*\.service(?=/)")
_UNIT: Final = re.compile(r"_*([^/]+\.(?:service|scope))$")
# Scopes of systemd or a runtime inside a container: without information.
_NO_UNIT: Final = frozenset({".service", ".scope"})


@dataclass(frozen=True, slots=True)
class Placement:
    """The parsed path; "" is unknown or absent.

    `container` is an id in hex (ECS on Fargate: TASK-NUMBER); `name` is that of a system container, which has no id.
    `qos` is Kubernetes' class: Guaranteed, Burstable or BestEffort. `unit` is the systemd unit; inside a container the
    container chooses its name.
    """

    container: str = ""
    runtime: str = ""
    name: str = ""
    pod_uid: str = ""
    qos: str = ""
    ecs_task: str = ""
    unit: str = ""


@lru_cache(maxsize=2048)
def parse_cgroup(path: str) -> Placement:
    """Parse the path of a control group. Cached: a machine has a few hundred that recur."""
    if user := _OF_A_USER.search(path):
        path = path[: user.end()]
    container, runtime, end = _outermost(path)
    if not container and (fargate := _FARGATE.search(path)) and "/ecs/" in path:
        container, runtime, end = fargate[1], "", len(path)
    name = ""
    system = _SYSTEM_CONTAINER.search(path)
    if system and (not container or system.end() < end):
        container, name, end = "", system[1], system.end()
        runtime = "lxc" if "/lxc" in system[0] else "systemd-nspawn"
    before = path[:end] if container or name else path
    pods = list(_POD.finditer(before))
    pod = pods[-1] if pods else None
    return Placement(
        container=container,
        runtime=runtime,
        name=name,
        pod_uid=_uid(pod[1]) if pod else "",
        qos=_qos(before[: pod.end()]) if pod else "",
        ecs_task=_ecs_task(before),
        unit=_unit(path[end:] if container or name else path),
    )


def _outermost(path: str) -> tuple[str, str, int]:
    """Id and runtime of the outermost container, and the end of its part of the path; ("", "", 0): none."""
    for match in _CONTAINER.finditer(path):
        prefix = match[1] or ""
        if prefix.endswith(_WATCHERS):
            continue
        before = path[: match.start(2)]
        # kubepods-…-podU_I_D.slice:cri-containerd:ID
        named = before.split(":")[-2] if before.endswith(":") else prefix
        return match[2], _RUNTIMES.get(named, "") or _by_folder(before), match.end()
    return "", "", 0


def _ecs_task(path: str) -> str:
    """The task below ECS's folder. Split in parts: one expression for the whole path would be quadratic."""
    parts = path.split("/")
    folder = next((n for n, part in enumerate(parts) if part in _ECS), len(parts))
    tasks = (_ECS_TASK.fullmatch(part) for part in parts[folder + 1 :])
    return next((task[1] for task in tasks if task), "")


def _by_folder(before: str) -> str:
    """The runtime of the folder above an id; under kubepods any is possible."""
    parts = before.strip("/:").split("/")
    return next((_FOLDERS[part] for part in reversed(parts[-2:]) if part in _FOLDERS), "")


def _uid(text: str) -> str:
    """A pod's uid with hyphens: systemd's slice names have none within a part."""
    return text.replace("_", "-")


def _qos(path: str) -> str:
    """The class by the groups around a pod. A guaranteed pod is directly in kubepods."""
    parts = re.split(r"[/:]", path.strip("/"))
    last = parts[-1].removesuffix(".slice")
    around = last.split("-pod")[0].split("-") if "-pod" in last else []
    if not around and len(parts) > 1:
        around = parts[-2].removesuffix(".slice").split("-")
    for part in around:
        if part in _CLASSES:
            return _CLASSES[part]
    return "Guaranteed" if around and around[-1] == "kubepods" else ""


def _unit(path: str) -> str:
    """The outermost service or scope: the machine's manager made it, units inside it are not the machine's.

    systemd prefixes an underscore to names that the kernel reserves.
    """
    for part in path.split("/"):
        match = _UNIT.match(part)
        if match and match[1] not in _NO_UNIT:
            # The scope of a container inside the container is not a unit of the machine.
            return "" if _outermost(f"/{part}")[0] else match[1]
    return ""
