"""The ingested visits of a selection as windows on machines, with their weights and machines.

Counters and CPU times belong to machines, or to an application on a machine, not to functions. So a selection of them
uses its time, its campaign, and its matchers on the machine and the application. Source: docs/numbers.md,
docs/models.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import ARRAY, Connection, Integer, Text, cast, func, select
from sqlalchemy.sql.elements import ColumnElement

from analysis.weights import Weights
from storage.arrays import Bool, Float, Int64
from storage.errors import BadSelection
from storage.query.estimation.sampling_design import Coverage, Ids, read_design, read_watched
from storage.query.facts.visit_scan import campaign_of, sample_type_of
from storage.query.selections.matchers import APPLICATION, Matcher
from storage.query.selections.selection import DEFAULT_EVENT, Selection
from storage.schema import BY_HAND, machine, stratum, visit
from storage.snapshots.copy_binary import among, read_fixed

LABELS = ("machine", "datacenter", "platform", "cluster", "kernel")
"""Labels of machines."""
_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class MachineVisits:
    """Columns over the ingested visits that watched the selection's event, by ascending id."""

    id: Ids
    seconds: Float
    """Seconds in which the event was watched."""
    window_s: Float
    """Length of the whole window; counters cover all of it."""
    hour: Int64
    """Hours since 1970 UTC."""
    weight: Float
    """Machine-windows of the fleet that the visit stands for; 0 if it is not weighted."""
    group: Int64
    """Variance stratum; -1: the visit is not weighted."""
    weights: Weights | None
    """None: visits were not drawn at random, so there are no estimates."""
    coverage: Coverage
    values: Mapping[str, Int64]
    """By label of `LABELS`: index into `names`."""
    names: Mapping[str, tuple[str, ...]]
    among: tuple[ColumnElement[bool], ...]
    """Conditions on `visit` that select these visits, and perhaps visits that are not ingested."""

    @property
    def watched(self) -> Float:
        """Watched share of each window, 0…1, which its weight is multiplied by."""
        return np.minimum(self.seconds / self.window_s, 1.0)

    def __len__(self) -> int:
        return len(self.id)

    def of(self, keep: Bool | Int64) -> "MachineVisits":
        """Some of the visits, with the same weights."""
        return replace(
            self,
            id=self.id[keep],
            seconds=self.seconds[keep],
            window_s=self.window_s[keep],
            hour=self.hour[keep],
            weight=self.weight[keep],
            group=self.group[keep],
            values={label: column[keep] for label, column in self.values.items()},
        )

    def places(self, ids: Ids) -> Int64:
        """Places of visits by id; -1 for a visit that is not here."""
        if not len(self.id):
            return np.full(len(ids), -1, np.int64)
        place = np.minimum(np.searchsorted(self.id, ids), len(self.id) - 1)
        return np.where(self.id[place] == ids, place, -1).astype(np.int64)


def read_machine_visits(connection: Connection, selection: Selection) -> MachineVisits:
    """The visits that match a selection's matchers on machines.

    Raises `BadSelection` for parts of a selection that do not apply to machines, `UnknownCampaign`, `DatabaseError`.
    """
    check_machines(selection)
    kind, campaign_id = sample_type_of(connection, selection), campaign_of(connection, selection)
    design, weights = read_design(connection, selection, campaign_id, kind.id, stacks=None, gauge=kind.gauge)
    campaign_id = -1 if campaign_id is None else campaign_id
    time = (selection.start, selection.end)
    watched = read_watched(connection, time, campaign_id, kind.id, stacks=None)
    found = _machines_of(connection, selection, campaign_id, watched.id)
    nothing = (np.zeros(len(watched)), np.full(len(watched), -1, np.int64), None)
    weight, group, _ = nothing if weights is None else weights.of(watched.id)
    visits = MachineVisits(
        id=watched.id,
        seconds=watched.seconds,
        window_s=np.where(found.window_s > 0, found.window_s, watched.seconds),
        hour=found.hour,
        weight=weight,
        group=group,
        weights=design.weights,
        coverage=design.coverage,
        values=found.values,
        names=found.names,
        among=found.among,
    )
    keep = np.ones(len(visits), np.bool_)
    for matcher in selection.matchers:
        if matcher.label != APPLICATION:
            keep &= _chosen(matcher, visits.names[matcher.label])[visits.values[matcher.label]]
    return visits.of(keep)


def check_machines(selection: Selection) -> None:
    """Raises `BadSelection` for parts of a selection that do not apply to machines."""
    for matcher in selection.matchers:
        if matcher.label not in {*LABELS, APPLICATION}:
            raise BadSelection(
                f"Counters of machines have no label {matcher.label!r}.",
                hint=f"Match {', '.join((*LABELS, APPLICATION))} here.",
                parameter="select",
            )
    if selection.event != DEFAULT_EVENT:
        raise BadSelection(
            f"Counters of machines are weighted by the time for which {DEFAULT_EVENT} was watched, "
            f"not {selection.event}.",
            hint="Remove event.",
            parameter="event",
        )
    if selection.filters_stacks:
        raise BadSelection(
            "Counters of machines are not measured by function.",
            hint="Remove matchers on frames, focus, ignore, hide, show and show_from.",
        )


def _chosen(matcher: Matcher, names: Sequence[str]) -> Bool:
    test = matcher.positive()
    return np.array([test(name) != matcher.operator.negative for name in names], np.bool_)


@dataclass(frozen=True, slots=True)
class _Machines:
    """Columns over visits."""

    hour: Int64
    window_s: Float
    values: Mapping[str, Int64]
    names: Mapping[str, tuple[str, ...]]
    among: tuple[ColumnElement[bool], ...]


def _machines_of(connection: Connection, selection: Selection, campaign_id: int, ids: Ids) -> _Machines:
    """Hour and labels of these visits, which must all be in the campaign and the selection's time range."""
    v = visit.c
    where = [
        v.campaign_id == campaign_id,
        v.drawn_at >= selection.start,
        v.drawn_at < selection.end,
        v.round != BY_HAND,
    ]
    # As of the draw: the machine's cluster or kernel may have changed since.
    drawn = {
        label: sorted(connection.scalars(select(v[label]).where(*where).distinct()))
        for label in ("cluster", "kernel")
    }
    rows = read_fixed(
        connection,
        select(
            v.visit_id,
            v.hour,
            v.machine_id,
            v.stratum_id,
            func.coalesce(v.seconds, 0.0).label("seconds"),
            *(_place(v[label], texts).label(label) for label, texts in drawn.items()),
        ).where(*where),
        limit=_MAX_BYTES,
    )
    all_ids = rows.uuids("visit_id")
    order = np.argsort(all_ids)
    at = order[np.searchsorted(all_ids[order], ids)] if len(ids) else np.zeros(0, np.int64)
    named = connection.execute(select(machine.c.machine_id, machine.c.name))
    machines = {row.machine_id: row.name for row in named}
    strata = {row.stratum_id: row for row in connection.execute(select(stratum))}
    columns: dict[str, tuple[Int64, Mapping[int, str]]] = {
        "machine": (rows.ints("machine_id")[at], machines),
        "datacenter": (rows.ints("stratum_id")[at], {n: row.datacenter for n, row in strata.items()}),
        "platform": (rows.ints("stratum_id")[at], {n: row.platform for n, row in strata.items()}),
        **{label: (rows.ints(label)[at], dict(enumerate(texts, 1))) for label, texts in drawn.items()},
    }
    for matcher in selection.matchers:
        if matcher.label != APPLICATION:
            texts_of = columns[matcher.label][1]
            test = matcher.positive()
            left = [n for n, text in texts_of.items() if test(text) != matcher.operator.negative]
            match matcher.label:
                case "machine":
                    where.append(among(v.machine_id, left))
                case "cluster" | "kernel":
                    where.append(v[matcher.label].in_([texts_of[n] for n in left]))
                case _:
                    where.append(among(v.stratum_id, left))
    values: dict[str, Int64] = {}
    names: dict[str, tuple[str, ...]] = {}
    for label, (column, texts_of) in columns.items():
        different, which = np.unique(column, return_inverse=True)
        called = [texts_of[n] for n in different.tolist()]
        names[label] = tuple(sorted(set(called)))
        number = {text: place for place, text in enumerate(names[label])}
        values[label] = np.array([number[text] for text in called], np.int64)[which.reshape(-1)]
    return _Machines(rows.ints("hour")[at], rows.floats("seconds")[at], values, names, tuple(where))


def _place(column: Any, texts: Sequence[str]) -> ColumnElement[int]:
    """The place of the column's text among these, from 1 on."""
    return func.array_position(cast(list(texts), ARRAY(Text)), column, type_=Integer)
