"""The labels of several captures as ids: process groups, machines and sample types."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fleetpb import capture_pb2
from storage.ingest.hash_table import Int64s
from storage.ingest.interning import Interner
from storage.ingest.process_labels import Labels, clean, derive
from storage.ingest.table_rows import VisitFacts
from storage.schema import OF_THE_GROUP, OF_THE_MACHINE


@dataclass(frozen=True, slots=True)
class Who:
    """The labels of a capture's process groups, as ids; groups with equal labels are one entry."""

    of_group: Int64s
    """For every group of the capture its index in the lists below."""
    keys: list[str]
    """The identity of the labels, as text."""
    dimensions: list[tuple[int, ...]]
    """Ids in the order of `OF_THE_GROUP`."""
    label_sets: list[int]

    @property
    def applications(self) -> list[int]:
        """For every group of the capture the id of its application."""
        return [self.dimensions[label][0] for label in self.of_group.tolist()]


def groups_of(interner: Interner, captures: Sequence[capture_pb2.Capture]) -> list[Who]:
    """The labels of every capture's groups."""
    keys_of: list[list[str]] = []
    labels_of: list[dict[str, Labels]] = []
    for capture in captures:
        keys: list[str] = []
        labels: dict[str, Labels] = {}
        for group in capture.groups:
            derived = derive(capture, group)
            keys.append(_key(derived))
            labels.setdefault(keys[-1], derived)
        keys_of.append(keys)
        labels_of.append(labels)
    every = [labels for each in labels_of for labels in each.values()]
    columns = [interner.labels(dim, [getattr(each, dim) for each in every]).tolist() for dim in OF_THE_GROUP]
    dimensions = list(zip(*columns, strict=True))
    label_sets = interner.label_sets([each.others for each in every]).tolist()
    whos = []
    first = 0
    for keys, labels in zip(keys_of, labels_of, strict=True):
        number = {key: n for n, key in enumerate(labels)}
        mine = slice(first, first + len(labels))
        of_group = np.array([number[key] for key in keys], np.int64)
        whos.append(Who(of_group, list(labels), dimensions[mine], label_sets[mine]))
        first = mine.stop
    return whos


def key_of_group(capture: capture_pb2.Capture, group: capture_pb2.ProcessGroup) -> str:
    """The identity of a process group's labels, as in `Who.keys`."""
    return _key(derive(capture, group))


def machines_of(
    interner: Interner, visited: Sequence[tuple[VisitFacts, capture_pb2.Capture]]
) -> list[tuple[int, ...]]:
    """For every visit the ids of its machine's labels, in the order of `OF_THE_MACHINE`."""
    columns = {
        "datacenter": [visit.datacenter for visit, _ in visited],
        "cluster": [visit.cluster for visit, _ in visited],
        "platform": [capture.machine.platform or visit.platform for visit, capture in visited],
        "kernel": [capture.machine.kernel_release or visit.kernel for visit, capture in visited],
    }
    ids = [interner.labels(dim, list(map(clean, columns[dim]))).tolist() for dim in OF_THE_MACHINE]
    return list(zip(*ids, strict=True))


def sample_types_of(interner: Interner, captures: Sequence[capture_pb2.Capture]) -> list[list[int | None]]:
    """For every capture and segment its sample type; None if the event could not be sampled."""
    names = [
        (clean(capture.strings[segment.event]), clean(capture.strings[segment.unit]))
        if segment.support == capture_pb2.SUPPORT_OK
        else None
        for capture in captures
        for segment in capture.segments
    ]
    ids = iter(interner.sample_types([name for name in names if name is not None]).tolist())
    types = iter([None if name is None else next(ids) for name in names])
    return [[next(types) for _ in capture.segments] for capture in captures]


def _key(labels: Labels) -> str:
    own = [getattr(labels, name) for name in OF_THE_GROUP]
    return "\0".join([*own, *(f"{k}\1{v}" for k, v in labels.others.items())])
