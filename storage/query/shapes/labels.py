"""The values of a selection's labels, and their shares."""

from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Float, sum_at, weight_at
from storage.query.answers.figures import as_seconds
from storage.query.answers.labels import LabelAnswer, LabelsAnswer, LabelValue
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import Profiles
from storage.query.reading import Reading
from storage.query.selections import label_names
from storage.query.selections.selection import Selection
from storage.schema import DIMENSIONS

MOST_VALUES = 1000


@dataclass(frozen=True, slots=True)
class LabelsQuestion:
    """The labels of a selection, each with at most `limit` values that contain `find`."""

    selection: Selection
    limit: int = 20
    find: str = ""
    without: str = ""
    """Only this label, in the selection without its matchers on it. Empty: all labels of the selection."""

    def answer(self, reading: Reading) -> LabelsAnswer:
        """The labels; `focus` and `ignore` have no effect: labels belong to profiles.

        Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`.
        """
        kind = reading.sample_type(self.selection)
        selection, names = self._labels(reading)
        profiles, weights = reading.profiles(selection, kind, names)
        weighted = profiles.units.astype(np.float64)
        if weights is not None:
            weighted *= weights.of(profiles.visits)[0][profiles.visit]
        found = (self._label(reading, profiles, weighted, name, kind.seconds_per_unit) for name in names)
        return LabelsAnswer(
            selection_echo(selection, kind), tuple(label for label in found if label is not None)
        )

    def _labels(self, reading: Reading) -> tuple[Selection, tuple[str, ...]]:
        """The selection to read, and the names of its labels."""
        users = reading.user_labels()
        if not self.without:
            return self.selection, (*DIMENSIONS, label_names.MACHINE, *users)
        if not label_names.is_column(self.without, parameter="except") and self.without not in users:
            raise label_names.unknown_label(self.without, users, parameter="except", at=None)
        others = tuple(matcher for matcher in self.selection.matchers if matcher.label != self.without)
        return replace(self.selection, matchers=others), (self.without,)

    def _label(
        self, reading: Reading, profiles: Profiles, weighted: Float, name: str, scale: float | None
    ) -> LabelAnswer | None:
        """The label; None if no profile has it."""
        ids, which = np.unique(profiles.label(name), return_inverse=True)
        values = reading.label_values(name, ids)
        if not any(values):
            return None
        different = {value: number for number, value in enumerate(dict.fromkeys(values))}
        of = np.array([different[value] for value in values], np.int64)[which]
        units = sum_at(of, profiles.units, len(different)).tolist()
        find = self.find.casefold()
        weights, whole = weight_at(of, weighted, len(different)).tolist(), float(weighted.sum())
        matching = [
            LabelValue(
                value,
                as_seconds(units[number], scale),
                min(weights[number] / whole, 1.0) if whole > 0 else 0.0,
            )
            for value, number in different.items()
            if find in value.casefold()
        ]
        matching.sort(key=lambda item: (-item.share, item.value))
        return LabelAnswer(name, tuple(matching[: self.limit]), max(0, len(matching) - self.limit))
