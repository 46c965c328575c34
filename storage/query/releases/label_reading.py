"""Reads the labels of a selection's profiles, without their samples."""

from dataclasses import dataclass

from storage.errors import BadSelection
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.visit_scan import SampleType, scan_profiles
from storage.query.models.labelled import profile_visits
from storage.query.releases.profile_labels import ProfileLabels
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading


@dataclass(frozen=True, slots=True)
class LabelReading:
    """The labels of a selection's profiles, and their visits."""

    kind: SampleType
    labels: ProfileLabels
    visits: Visits


def read_labels(reading: StoreReading, selection: Selection, labels: tuple[str, ...]) -> LabelReading:
    """Read them. Raises `BadSelection` for a selection that filters stacks, `UnknownCampaign`, `DatabaseError`."""
    if selection.filters_stacks:
        raise BadSelection(
            "Versions and first sights are of whole profiles.",
            hint="Remove focus, ignore, hide, show, show_from and matchers on frames.",
            parameter="select",
        )
    kind = reading.sample_type(selection)
    profiles = scan_profiles(reading.connection, selection, kind, labels)
    visits = profile_visits(reading, selection, kind, profiles)
    return LabelReading(kind, ProfileLabels.of(reading, selection, profiles, visits), visits)
