"""Which values the labels of a selection have, and how much of it each one is."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from storage.query import label_names
from storage.query.arrays import sum_at
from storage.query.scan import Profiles, SampleType, sample_type_of, scan_profiles
from storage.query.selection import Selection

MOST_VALUES = 1000


@dataclass(frozen=True, slots=True)
class LabelValue:
    """A value and the units of the profiles that have it."""

    value: str
    units: int


@dataclass(frozen=True, slots=True)
class Label:
    """A label's values, by descending units; the empty text is the absence of the label."""

    name: str
    values: tuple[LabelValue, ...]
    more: int
    """Values that are not shown."""


@dataclass(frozen=True, slots=True)
class Labels:
    """All labels of a selection; `focus` and `ignore` do not count here: labels are of profiles."""

    kind: SampleType
    units: int
    labels: tuple[Label, ...]


def list_labels(connection: Connection, selection: Selection, *, limit: int, find: str) -> Labels:
    """The labels of a selection with at most `limit` values each, those that contain `find`."""
    kind = sample_type_of(connection, selection)
    others = tuple(name for name in label_names.user_labels(connection))
    names = (*label_names.DIMENSIONS, label_names.MACHINE, *others)
    profiles = scan_profiles(connection, selection, kind, names)
    found = (_label(connection, profiles, name, limit=limit, find=find.casefold()) for name in names)
    return Labels(kind, int(profiles.units.sum()), tuple(label for label in found if label is not None))


def _label(connection: Connection, profiles: Profiles, name: str, *, limit: int, find: str) -> Label | None:
    """The label, or None when no profile has it."""
    ids, which = np.unique(profiles.label(name), return_inverse=True)
    units = sum_at(which, profiles.units, len(ids))
    by_value: dict[str, int] = {}
    for value, amount in zip(label_names.values_of(connection, name, ids), units.tolist(), strict=True):
        by_value[value] = by_value.get(value, 0) + amount
    if not any(by_value):
        return None
    matching = [LabelValue(value, amount) for value, amount in by_value.items() if find in value.casefold()]
    matching.sort(key=lambda item: (-item.units, item.value))
    return Label(name, tuple(matching[:limit]), max(0, len(matching) - limit))
