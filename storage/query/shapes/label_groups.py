"""Divides a selection's samples by the values of labels; the heaviest combinations are groups of their own."""

from dataclasses import dataclass

import numpy as np

from storage.arrays import sum_at
from storage.query.reading import Reading
from storage.query.samples import Samples

MOST_GROUPS = 100
"""Combinations of values with a group of their own: each costs a pass over its own part of the tree."""
OTHERS = "[others]"
"""Stands for the values of all other combinations together."""
NO_VALUE = "[none]"
"""Stands for the value of a label that a profile does not have."""


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """The samples of one combination of values, or of all light combinations together."""

    values: tuple[str, ...]
    samples: Samples


def label_groups(
    reading: Reading, samples: Samples, labels: tuple[str, ...], most: int = MOST_GROUPS
) -> list[LabelGroup]:
    """The samples by these labels, which they must have been read with; heaviest group first, `OTHERS` last."""
    columns = [reading.label_values(label, samples.profiles.label(label)) for label in labels]
    of_profile = list(zip(*columns, strict=True))
    numbers = {values: number for number, values in enumerate(dict.fromkeys(of_profile))}
    group = np.fromiter((numbers[values] for values in of_profile), np.int64, len(of_profile))
    units = sum_at(group[samples.facts.profile], samples.facts.units, len(numbers))
    heaviest = np.argsort(-units, kind="stable")
    heaviest = heaviest[units[heaviest] > 0]
    place = np.full(len(numbers), min(len(heaviest), most), np.int64)
    place[heaviest[:most]] = np.arange(len(heaviest[:most]))
    names = list(numbers)
    found = [tuple(value or NO_VALUE for value in names[number]) for number in heaviest[:most].tolist()]
    if len(heaviest) > most:
        found.append((OTHERS,) * len(labels))
    # The last part holds the profiles without a unit.
    parts = samples.in_groups(place[group], len(found) + 1)[:-1] if found else []
    return [LabelGroup(values, part) for values, part in zip(found, parts, strict=True)]
