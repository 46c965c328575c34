"""Find the build of a binary for each profile (DIGEST G18).

Functions refer to binaries by name, so all builds share them. The build of a process' main executable is a label of the
profile. The build of a library follows from the captures' binaries if a visit had only one build of it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from storage.arrays import Int64, ranges
from storage.query.estimation.sampling_design import Ids
from storage.query.facts.visit_scan import MAX_BYTES, Profiles, on_days
from storage.query.selections import label_names
from storage.query.selections.selection import Selection
from storage.schema import binary, capture_binary
from storage.snapshots.copy_binary import among, read_fixed

LABELS = ("image", "build_id")
"""Labels that profiles must have been read with."""


@dataclass(frozen=True, slots=True)
class Builds:
    """The builds of some binaries, by profile."""

    keys: tuple[str, ...]
    """Binary keys: build-ids as hex, or other."""
    of_profile: Mapping[str, Int64]
    """By binary name, for each profile the index of its build in `keys`; -1 if unknown, because the visit had several.
    """


def read_builds(
    connection: Connection, selection: Selection, profiles: Profiles, names: Iterable[str]
) -> Builds:
    """The builds of the binaries of these names in profiles of the selection."""
    wanted = sorted(set(names) - {""})
    known = connection.execute(
        select(binary.c.binary_id, binary.c.key, binary.c.name)
        .where(binary.c.name.in_(wanted))
        .order_by(binary.c.binary_id)
    ).all()
    number = {key: place for place, key in enumerate(sorted({row.key for row in known}))}
    only = _only_builds(connection, selection, profiles, [row.binary_id for row in known])
    build_of = np.array([number[row.key] for row in known], np.int64)
    of_name: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(known):
        of_name[row.name].append(place)
    main: dict[str, list[tuple[int, int]]] = defaultdict(list)
    images, ids = (label_names.values_of(connection, label, profiles.label(label)) for label in LABELS)
    for place, (image, id_) in enumerate(zip(images, ids, strict=True)):
        if id_:
            main[image].append((place, number.setdefault(id_, len(number))))
    found: dict[str, Int64] = {}
    for name in wanted:
        visits, places = only(np.array(of_name[name], np.int64))
        of_visit = np.full(len(profiles.visits), -1, np.int64)
        of_visit[visits] = build_of[places]
        found[name] = of_visit[profiles.visit]
        for profile, build in main[name]:
            found[name][profile] = build
    return Builds(tuple(number), found)


def _only_builds(
    connection: Connection, selection: Selection, profiles: Profiles, binary_ids: Sequence[int]
) -> Callable[[Int64], tuple[Int64, Int64]]:
    """A function from indices of `binary_ids` to (visit, index) of the visits with only one of them.

    The indices ascend, and are those of one name.
    """
    rows = read_fixed(
        connection,
        select(capture_binary.c.visit_id, capture_binary.c.binary_id).where(
            among(capture_binary.c.binary_id, binary_ids), *on_days(capture_binary.c.day, selection)
        ),
        limit=MAX_BYTES,
    )
    visit = _in_visits(profiles, rows.uuids("visit_id"))
    place = np.searchsorted(np.array(binary_ids, np.int64), rows.ints("binary_id"))
    visit, place = visit[visit >= 0], place[visit >= 0]
    order = np.argsort(place, kind="stable")
    visit, place = visit[order], place[order]

    def only(places: Int64) -> tuple[Int64, Int64]:
        low, high = np.searchsorted(place, places), np.searchsorted(place, places + 1)
        here = ranges(low, high)
        met = np.bincount(visit[here], minlength=len(profiles.visits))
        here = here[met[visit[here]] == 1]
        return visit[here], place[here]

    return only


def _in_visits(profiles: Profiles, ids: Ids) -> Int64:
    """The index of each visit among those of the profiles; -1 if it is missing."""
    if not len(profiles.visits):
        return np.full(len(ids), -1, np.int64)
    place = np.minimum(np.searchsorted(profiles.visits, ids), len(profiles.visits) - 1)
    return np.where(profiles.visits[place] == ids, place, -1)
