"""Events, campaigns and labels of a lake's days, by name and by id."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from storage.arrays import Int64
from storage.query.facts.visit_scan import SampleType, chosen_type, known_campaign
from storage.query.selections import label_names
from storage.query.selections.label_names import MACHINE, Choice
from storage.query.selections.matchers import Matcher
from storage.query.selections.selection import Selection
from storage.schema import DIMENSIONS
from storage.segments.session import Session


class _SampleType(NamedTuple):
    event: str
    unit: str
    sample_type_id: int
    kind: str


class Catalogue:
    """Names in the days of one query."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def _sample_types(self) -> list[_SampleType]:
        rows = self._session.once("SELECT event, unit, sample_type_id, kind FROM newest_sample_types")
        return [_SampleType(*row) for row in zip(*map(rows.values, _SampleType._fields), strict=True)]

    def sample_type(self, selection: Selection) -> SampleType:
        """The selection's sample type. Raises `BadSelection` for an event that was never sampled."""
        return chosen_type(self._sample_types, selection)

    def campaign(self, selection: Selection) -> int | None:
        """The selection's campaign; None: the standing campaign, which has not begun. Raises `UnknownCampaign`."""
        rows = self._session.once("SELECT campaign_id, name FROM newest_campaigns")
        known = dict(zip(rows.values("name"), rows.values("campaign_id"), strict=True))
        return known_campaign(known.get(selection.campaign), selection)

    def user_labels(self) -> list[str]:
        """Names of the labels in label sets, sorted."""
        return sorted({name for labels in self._label_sets.values() for name in labels})

    def check_label(self, name: str, *, parameter: str = "by", at: int | None = None) -> None:
        """Raise `BadSelection` for a label name that no profile of these days can have."""
        if label_names.is_column(name, parameter=parameter, at=at):
            return
        others = self.user_labels()
        if name in others:
            return
        if others or len(self._session.once("SELECT profile FROM profiles LIMIT 1")):
            raise label_names.unknown_label(name, others, parameter=parameter, at=at)

    def choice(self, matcher: Matcher) -> Choice:
        """The matcher with its text resolved to ids. Raises like `check_label`."""
        self.check_label(matcher.label, parameter=matcher.parameter, at=matcher.at)
        return self.ids_of(matcher)

    def ids_of(self, matcher: Matcher) -> Choice:
        """Like `choice`, for a label that need not occur in these days."""
        ids = label_names.passing(self.all_values(matcher.label).items(), matcher.positive())
        return Choice(label_names.column_of(matcher.label), matcher.operator.negative, ids)

    def values_of(self, label: str, ids: Int64) -> list[str]:
        """The values of these ids of the label's column, in their order."""
        known = self.all_values(label)
        return [known.get(id_, "") for id_ in ids.tolist()]

    def all_values(self, label: str) -> Mapping[int, str]:
        """The values of all ids of a label."""
        if label == MACHINE:
            return self._machines
        if label in DIMENSIONS:
            return self._dimensions.get(label, {})
        return {id_: labels.get(label, "") for id_, labels in self._label_sets.items()}

    @cached_property
    def _machines(self) -> Mapping[int, str]:
        rows = self._session.once("SELECT machine_id, name FROM newest_machines")
        return dict(zip(rows.values("machine_id"), rows.values("name"), strict=True))

    @cached_property
    def _dimensions(self) -> Mapping[str, dict[int, str]]:
        rows = self._session.once("SELECT value_id, dim, value FROM newest_values")
        found: dict[str, dict[int, str]] = {}
        for id_, dimension, value in zip(*map(rows.values, ("value_id", "dim", "value")), strict=True):
            found.setdefault(dimension, {})[id_] = value
        return found

    @cached_property
    def _label_sets(self) -> Mapping[int, Mapping[str, str]]:
        rows = self._session.once("SELECT label_set_id, labels FROM newest_label_sets")
        texts: Sequence[str] = rows.values("labels")
        return dict(zip(rows.values("label_set_id"), map(json.loads, texts), strict=True))


def among(column: str, ids: Sequence[int]) -> str:
    """A SQL condition: an integer column has one of these values."""
    return f"{column} IN ({', '.join(map(str, ids))})"


def chosen(alias: str, choices: Sequence[Choice]) -> str:
    """SQL conditions of choices on a table of profiles."""
    parts = ["true"]
    for choice in choices:
        if not choice.ids:
            parts.append("true" if choice.negative else "false")
            continue
        condition = among(f"{alias}.{choice.column}", choice.ids)
        parts.append(f"NOT {condition}" if choice.negative else condition)
    return " AND ".join(parts)
