"""The landed visits of a selection as windows on machines: what each stands for, and whose it was.

Counters and CPU times belong to machines, or to an application on one, not to functions; so a selection of them goes
by its time, its campaign, and matchers on the machine and the application. Source: docs/numbers.md, docs/models.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection, select

from analysis.weights import Weights
from storage.errors import BadSelection
from storage.query.arrays import Bool, Float, Int64
from storage.query.copy_binary import read_fixed
from storage.query.facts.scan import campaign_of, sample_type_of
from storage.query.selections.matchers import Matcher
from storage.query.selections.selection import Selection
from storage.query.weighing.design import Coverage, Ids, read_design, read_watched
from storage.schema import machine, stratum, visit
from storage.visits import BY_HAND

LABELS = ("machine", "datacenter", "platform", "cluster", "kernel")
"""What a machine can be told from others by."""
APPLICATION = "application"
_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class MachineVisits:
    """Columns over the landed visits that watched the selection's event, by ascending id."""

    id: Ids
    seconds: Float
    """That the event was watched."""
    hour: Int64
    """Hours since 1970 UTC."""
    weight: Float
    """Machine-windows of the fleet that this one stands for; 0 for one that stands for none."""
    group: Int64
    """Variance stratum; -1: it weighs nothing."""
    weights: Weights | None
    """None: visits were not drawn at random, so there are no estimates."""
    coverage: Coverage
    values: Mapping[str, Int64]
    """By label of `LABELS`: index into `names`."""
    names: Mapping[str, tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.id)

    def of(self, keep: Bool | Int64) -> "MachineVisits":
        """Some of them; what they stand for stays."""
        return replace(
            self,
            id=self.id[keep],
            seconds=self.seconds[keep],
            hour=self.hour[keep],
            weight=self.weight[keep],
            group=self.group[keep],
            values={label: column[keep] for label, column in self.values.items()},
        )

    def places(self, ids: Ids) -> Int64:
        """Where these visits stand; -1 for one that is not among them."""
        if not len(self.id):
            return np.full(len(ids), -1, np.int64)
        place = np.minimum(np.searchsorted(self.id, ids), len(self.id) - 1)
        return np.where(self.id[place] == ids, place, -1).astype(np.int64)


def read_machine_visits(connection: Connection, selection: Selection) -> MachineVisits:
    """The visits that a selection's matchers on machines leave.

    Raises `BadSelection` for what says nothing of machines, `UnknownCampaign`, `DatabaseError`.
    """
    _check(selection)
    kind, campaign_id = sample_type_of(connection, selection), campaign_of(connection, selection)
    design, weights = read_design(connection, selection, campaign_id, kind.id, stacks=None, gauge=kind.gauge)
    time = (selection.start, selection.end)
    watched = read_watched(connection, time, -1 if campaign_id is None else campaign_id, kind.id, stacks=None)
    hour, values, names = _machines_of(
        connection, selection, -1 if campaign_id is None else campaign_id, watched.id
    )
    nothing = (np.zeros(len(watched)), np.full(len(watched), -1, np.int64), None)
    weight, group, _ = nothing if weights is None else weights.of(watched.id)
    found = MachineVisits(
        watched.id, watched.seconds, hour, weight, group, design.weights, design.coverage, values, names
    )
    keep = np.ones(len(found), np.bool_)
    for matcher in selection.matchers:
        if matcher.label != APPLICATION:
            keep &= _chosen(matcher, found.names[matcher.label])[found.values[matcher.label]]
    return found.of(keep)


def _check(selection: Selection) -> None:
    for matcher in selection.matchers:
        if matcher.label not in {*LABELS, APPLICATION}:
            raise BadSelection(
                f"What machines counted is not known by {matcher.label!r}.",
                hint=f"Match {', '.join((*LABELS, APPLICATION))} here.",
            )
    if selection.filters_stacks:
        raise BadSelection(
            "What machines counted is not known by function.",
            hint="Leave matchers on frames, focus, ignore, hide, show and show_from out.",
        )


def _chosen(matcher: Matcher, names: Sequence[str]) -> Bool:
    test = matcher.positive()
    return np.array([test(name) != matcher.operator.negative for name in names], np.bool_)


def _machines_of(
    connection: Connection, selection: Selection, campaign_id: int, ids: Ids
) -> tuple[Int64, Mapping[str, Int64], Mapping[str, tuple[str, ...]]]:
    """Hour and labels of these visits, all of them the campaign's and of the selection's time."""
    v = visit.c
    where = (
        v.campaign_id == campaign_id,
        v.drawn_at >= selection.start,
        v.drawn_at < selection.end,
        v.round != BY_HAND,
    )
    rows = read_fixed(
        connection, select(v.visit_id, v.hour, v.machine_id, v.stratum_id).where(*where), limit=_MAX_BYTES
    )
    all_ids = rows.uuids("visit_id")
    order = np.argsort(all_ids)
    at = order[np.searchsorted(all_ids[order], ids)] if len(ids) else np.zeros(0, np.int64)
    machine_id, stratum_id = rows.ints("machine_id")[at], rows.ints("stratum_id")[at]
    machines = {
        row.machine_id: row for row in connection.execute(select(machine.c.machine_id, machine.c.name))
    }
    strata = {row.stratum_id: row for row in connection.execute(select(stratum))}
    # At the draw: a machine may be of another cluster, or have another kernel, by now.
    drawn = {
        row.visit_id.bytes: row
        for row in connection.execute(
            select(v.visit_id, v.cluster, v.kernel).where(*where, (v.cluster != "") | (v.kernel != ""))
        )
    }
    texts: dict[str, list[str]] = {
        "machine": [machines[id_].name for id_ in machine_id.tolist()],
        "datacenter": [strata[id_].datacenter for id_ in stratum_id.tolist()],
        "platform": [strata[id_].platform for id_ in stratum_id.tolist()],
    }
    known = [drawn.get(id_.ljust(16, b"\0")) for id_ in ids.tolist()]
    texts["cluster"] = [row.cluster if row else "" for row in known]
    texts["kernel"] = [row.kernel if row else "" for row in known]
    values: dict[str, Int64] = {}
    names: dict[str, tuple[str, ...]] = {}
    for label, column in texts.items():
        names[label] = tuple(sorted(set(column)))
        number = {text: place for place, text in enumerate(names[label])}
        values[label] = np.array([number[text] for text in column], np.int64)
    return rows.ints("hour")[at], values, names
