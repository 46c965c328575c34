"""Reads a selection's profiles and samples from the files of its days, without aggregation."""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Int64, sorting
from storage.query.facts.visit_scan import (
    MAX_BYTES,
    WHOLE,
    Facts,
    Profiles,
    SampleType,
    check_size,
    one_depth,
    profiles_of,
)
from storage.query.selections import label_names
from storage.query.selections.label_names import Choice
from storage.query.selections.selection import Selection
from storage.segments.catalogue import chosen
from storage.segments.segment_design import in_part, microseconds
from storage.segments.session import Columns, Session
from storage.snapshots.copy_binary import Rows

_OWN = ("machine_id", "stacks", "facts", "samples", "period")
_FACTS = """
SELECT a.place, s.stack_id, s.samples FROM samples s JOIN wanted a ON s.day = a.day AND s.profile = a.profile
"""


@dataclass(frozen=True, slots=True)
class Selected:
    """A selection's profiles, and the location of their samples."""

    profiles: Profiles
    keys: Columns
    """`day` and `profile` of each in the files, and `place`, its index here."""


def read_profiles(  # noqa: PLR0917 - what a selection is
    session: Session,
    selection: Selection,
    campaign_id: int | None,
    kind: SampleType,
    choices: list[Choice],
    labels: tuple[str, ...],
    parts: int = WHOLE,
) -> Selected:
    """A selection's profiles, filtered by `choices`, with the ids of these labels.

    Reads `parts` of the `WHOLE` parts of the visits.
    """
    columns = sorted({label_names.column_of(label) for label in labels} - set(_OWN))
    names = ("visit_id", "day", "profile", *_OWN, *columns)
    if campaign_id is None or kind.id is None:
        rows = Rows(0, {name: [] for name in names})
    else:
        rows = session.rows(
            f"SELECT unhex(replace(v.visit_id, '-', '')) AS visit_id, p.day, p.profile, {', '.join(f'p.{c}' for c in (*_OWN, *columns))}"  # noqa: S608 - our own names
            " FROM profiles p JOIN visits v ON v.day = p.day AND v.visit = p.visit"
            " WHERE v.campaign_id = ? AND epoch_us(v.drawn_at) >= ? AND epoch_us(v.drawn_at) < ? AND p.sample_type_id = ?"
            f" AND {chosen('p', choices)}",
            [campaign_id, microseconds(selection.start), microseconds(selection.end), kind.id],
            limit=MAX_BYTES,
        )
    keep = one_depth(rows)
    if parts < WHOLE:
        keep = keep[in_part(rows.uuids("visit_id")[keep], parts)]
    keys = {
        "day": np.array(rows.values("day"), "datetime64[D]")[keep],
        "profile": rows.ints("profile")[keep],
        "place": np.arange(len(keep), dtype=np.int32),
    }
    return Selected(profiles_of(rows, keep, labels), keys)


def read_facts(session: Session, selected: Selected) -> Facts:
    """The samples of profiles. Raises `TooMuch` if they exceed the limit of one answer."""
    check_size(selected.profiles.facts)
    rows = session.rows(_FACTS, wanted=selected.keys)
    found = tuple(rows.ints(name) for name in ("place", "stack_id", "samples"))
    if (np.diff(found[0]) < 0).any():  # files are usually read in order, which is that of profiles
        order = sorting(found[0])
        found = tuple(column[order] for column in found)
    return _facts(selected.profiles, *found)


def _facts(profiles: Profiles, place: Int64, stack: Int64, samples: Int64) -> Facts:
    return Facts(place, stack, samples, samples * profiles.period[place])
