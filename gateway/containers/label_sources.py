"""Combines the labels of a process group from all sources at the end of a capture.

Sources in increasing priority: the path of the control group, the runtime's state files, the kubelet, the environment's
allow-list, the operator's labels file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.containers.errors import BadLabelsFile
from gateway.containers.placement import parse_cgroup
from gateway.containers.process_environment import read_environment

if TYPE_CHECKING:
    from gateway.containers.kubelet import KubeletPods
    from gateway.containers.label_settings import LabelSettings
    from gateway.containers.labels_file import LabelsFile, LabelsFileReader
    from gateway.containers.placement import Placement
    from gateway.containers.process_environment import Labels
    from gateway.containers.runtime_state import RuntimeState

MAX_LABELS: Final = 64
"""Limit for one group; the operator writes the allow-lists and the file, so more is a mistake."""


class LabelSources:
    """All label sources of one machine. Call `begin` at the start of a capture, `finish` before packing."""

    def __init__(self, settings: LabelSettings) -> None:
        """Nothing is read yet."""
        self._allowed: Final = {name.encode(): label for name, label in settings.environment}
        self._file: LabelsFileReader | None = None
        self._kubelet: KubeletPods | None = None
        self._state: RuntimeState | None = None
        # Imported only if configured: most machines need none of them.
        if settings.labels_file:
            from gateway.containers.labels_file import LabelsFileReader  # noqa: PLC0415

            self._file = LabelsFileReader(settings.labels_file)
        if settings.kubelet:
            from gateway.containers.kubelet import KubeletPods  # noqa: PLC0415

            self._kubelet = KubeletPods(settings.kubelet, settings.pod_labels)
        if settings.state_root:
            from gateway.containers.runtime_state import RuntimeState  # noqa: PLC0415

            self._state = RuntimeState(settings.state_root)

    def begin(self) -> None:
        """Start requests to remote sources; their replies have the length of the capture to arrive."""
        if self._kubelet:
            self._kubelet.request()

    def of_process(self, pid: int) -> Labels:
        """The labels in a process's own environment; read them while it runs."""
        return read_environment(pid, self._allowed) if self._allowed else ()

    def finish(self) -> GroupLabels:
        """The current labels of all sources."""
        notes: list[str] = []
        file = None
        if self._file:
            try:
                file = self._file.current()
                notes += [f"labels file: {complaint}" for complaint in file.warnings]
            except BadLabelsFile as error:
                notes.append(f"labels file: {error}")
        return GroupLabels(file, self._kubelet, self._state, notes)


class GroupLabels:
    """The labels of groups at one time; each control group is looked up once."""

    def __init__(
        self,
        file: LabelsFile | None,
        kubelet: KubeletPods | None,
        state: RuntimeState | None,
        notes: list[str],
    ) -> None:
        """Created by `LabelSources.finish`."""
        self._file = file
        self._pods = kubelet.pods if kubelet else None
        self._failure = kubelet.failure if kubelet else ""
        self._state = state
        self._notes = notes
        self._in_kubernetes = False
        self._known: dict[str, tuple[dict[str, str], dict[str, str]]] = {}

    def labels(self, cgroup: str, own: Labels) -> Labels:
        """Labels of the processes in a control group with the given environment labels; sorted by name."""
        found = self._known.get(cgroup)
        if found is None:
            found = self._known[cgroup] = self._look(cgroup)
        merged = {**found[0], **dict(own), **found[1]}
        return tuple(sorted(merged.items())[:MAX_LABELS])

    def notes(self) -> list[str]:
        """Problems as sentences; a failing kubelet only if a sampled process runs in a pod."""
        return self._notes + ([self._failure] if self._failure and self._in_kubernetes else [])

    def _look(self, cgroup: str) -> tuple[dict[str, str], dict[str, str]]:
        """Labels of lower and of higher priority than those of the environment."""
        placement = parse_cgroup(cgroup)
        labels = _of_path(placement)
        self._in_kubernetes |= bool(placement.pod_uid)
        if self._state and placement.container:
            labels |= self._state.labels(placement.container)
        if self._pods:
            by_pod = self._pods.pods.get(placement.pod_uid, {})
            labels |= self._pods.containers.get(placement.container, by_pod)
        if placement.pod_uid and "k8s.pod.name" not in labels:
            # Redundant beside the name, and one more distinct value for each pod.
            labels["k8s.pod.uid"] = placement.pod_uid
        return labels, self._file.labels(placement, cgroup) if self._file else {}


def _of_path(placement: Placement) -> dict[str, str]:
    labels = {
        "container.runtime": placement.runtime,
        "container.name": placement.name,
        "k8s.pod.qos_class": placement.qos,
        "aws.ecs.task.id": placement.ecs_task,
    }
    return {key: value for key, value in labels.items() if value}
