"""Answers of the query engine as the dictionaries that become JSON; `services.api.models` describes them."""

from typing import Any

from analysis.measured import Measured
from storage.query.engine import DiffAnswer, FlameAnswer, ReliabilityAnswer, TableAnswer
from storage.query.facts.scan import SampleType
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.shapes.diff import DiffRow
from storage.query.shapes.flame import Flame
from storage.query.shapes.labels import Labels
from storage.query.shapes.status import Status
from storage.query.shapes.table import Row
from storage.query.shapes.totals import Totals
from storage.query.stacks.functions import FunctionRow
from storage.query.weighing.estimates import Interval

Json = dict[str, Any]


def table(selection: Selection, answer: TableAnswer) -> Json:
    """The answer of /table."""
    scale = answer.kind.seconds_per_unit
    return {
        "selection": _selection(selection, answer.kind),
        "totals": _totals(answer.totals, scale),
        "by": list(answer.table.by),
        "rows": [_row(row, scale) for row in answer.table.rows],
        "rows_total": answer.table.rows_total,
        "remainder": {
            "rows": answer.table.remainder_rows,
            "self": answer.table.remainder_self,
            "self_seconds": _seconds(answer.table.remainder_self, scale),
            "self_share": answer.table.remainder_share,
        },
    }


def flame_summary(selection: Selection, answer: FlameAnswer) -> Json:
    """The answer of /flame without its nodes."""
    return {
        "selection": _selection(selection, answer.kind),
        "totals": _totals(answer.totals, answer.kind.seconds_per_unit),
        "functions": [
            _function(row) | {"effective": effective}
            for row, effective in zip(answer.flame.functions, answer.flame.effective, strict=True)
        ],
        "pruned": {"nodes": answer.flame.pruned_nodes, "share": answer.flame.pruned_share},
    }


def flame(selection: Selection, answer: FlameAnswer) -> Json:
    """The answer of /flame as JSON."""
    return {**flame_summary(selection, answer), "nodes": _nodes(answer.flame, answer.kind.seconds_per_unit)}


def diff(selection: Selection, base: Selection, answer: DiffAnswer) -> Json:
    """The answer of /diff."""
    scale, power = answer.kind.seconds_per_unit, answer.comparison.power
    return {
        "selection": _selection(selection, answer.kind),
        "base": _selection(base, answer.kind),
        "totals": _totals(answer.totals, scale),
        "base_totals": _totals(answer.base_totals, scale),
        "by": list(answer.by),
        "rows": [_diff_row(row) for row in answer.comparison.rows],
        "rows_total": answer.comparison.rows_total,
        "power": power and {"factor": power.factor, "share": power.share, "power": power.power},
        "part": answer.comparison.part,
    }


def reliability(selection: Selection, answer: ReliabilityAnswer) -> Json:
    """The answer of /reliability."""
    found = answer.reliability
    return {
        "selection": _selection(selection, answer.kind),
        "totals": _totals(answer.totals, answer.kind.seconds_per_unit),
        "by": list(answer.by),
        "rows_total": found.rows_total,
        "entropy": found.entropy and _measured(found.entropy),
        "manhattan": found.manhattan and _measured(found.manhattan),
        "fit": found.fit
        and {
            "constant": _measured(found.fit.constant),
            "exponent": found.fit.exponent,
            "samples_per_visit": found.fit.samples_per_visit,
            "visits": found.fit.visits,
            "points": [
                {"samples": samples, "distance": distance}
                for samples, distance in zip(
                    found.fit.samples.tolist(), found.fit.distance.tolist(), strict=True
                )
            ],
        },
    }


def labels(selection: Selection, answer: Labels) -> Json:
    """The answer of /labels."""
    scale = answer.kind.seconds_per_unit
    return {
        "selection": _selection(selection, answer.kind),
        "labels": [
            {
                "name": label.name,
                "values": [
                    {
                        "value": v.value,
                        "seconds": _seconds(v.units, scale),
                        "share": v.share,
                    }
                    for v in label.values
                ],
                "more": label.more,
            }
            for label in answer.labels
        ],
    }


def status(answer: Status, price_per_core_hour: float | None) -> Json:
    """The answer of /status."""
    return {
        "now": format_time(answer.now),
        "machines": {"enabled": answer.machines_enabled, "total": answer.machines_total},
        "campaigns": [
            {
                "name": campaign.name,
                "state": campaign.state,
                "why": campaign.why,
                "since": format_time(campaign.since),
                "period_s": campaign.period_s,
                "last_round": campaign.last_round,
                "drawn_share": campaign.drawn_share,
            }
            for campaign in answer.campaigns
        ],
        "visits": {"last_hour": answer.visits_last_hour},
        "captures": {
            "waiting": answer.captures.waiting,
            "oldest_waiting_s": answer.captures.oldest_waiting_s,
            "again": answer.captures.again,
            "set_aside": answer.captures.set_aside,
        },
        "events": [{"event": event, "unit": unit} for event, unit in answer.events],
        "price_per_core_hour": price_per_core_hour,
        "latest": None if answer.latest is None else format_time(answer.latest),
        "symbols": {
            "missing": [
                {"binary": found.binary, "path": found.path, "reason": found.reason, "share": found.share}
                for found in answer.missing_symbols
            ]
        },
    }


def _selection(selection: Selection, kind: SampleType) -> Json:
    return {
        "event": kind.event,
        "unit": kind.unit,
        "from": format_time(selection.start),
        "to": format_time(selection.end),
        "select": selection.select,
        "campaign": selection.campaign,
        "focus": selection.focus,
        "ignore": selection.ignore,
    }


def _totals(totals: Totals, scale: float | None) -> Json:
    coverage = totals.coverage
    return {
        "samples": totals.samples,
        "units": totals.units,
        "seconds": _seconds(totals.units, scale),
        "machines": totals.machines,
        "visits": totals.visits,
        "profiles": totals.profiles,
        "kept": totals.kept,
        "symbolized": totals.symbolized,
        "leaf_symbolized": totals.leaf_symbolized,
        "complete": totals.complete,
        "design": "random" if coverage.random else "none",
        "path": totals.path,
        "approximate": coverage.approximate,
        "asked_seconds": coverage.asked_s,
        "covered_seconds": coverage.covered_s,
        "population": coverage.population,
        "uncovered_share": coverage.uncovered,
        "visits_drawn": coverage.drawn,
        "visits_landed": coverage.landed,
        "core_seconds": _interval(totals.estimate, scale),
        "cores": _interval(totals.estimate, scale and coverage.covered_s and scale / coverage.covered_s),
        "estimate": _interval(totals.estimate, 1.0),
    }


def _row(row: Row, scale: float | None) -> Json:
    own, total = row.own_estimate, row.total_estimate
    return {
        "key": row.key,
        "function_id": row.function_id,
        "self": row.self,
        "total": row.total,
        "self_samples": row.self_samples,
        "total_samples": row.total_samples,
        "self_seconds": _seconds(row.self, scale),
        "total_seconds": _seconds(row.total, scale),
        "self_share": row.self_share,
        "self_lo": own and own.share.lo,
        "self_hi": own and own.share.hi,
        "total_share": row.total_share,
        "total_lo": total and total.share.lo,
        "total_hi": total and total.share.hi,
        "self_core_seconds": own and _interval(own.units, scale),
        "total_core_seconds": total and _interval(total.units, scale),
        "few": bool((own and own.few) or (total and total.few)),
        "visits": row.visits,
        "machines": row.machines,
    }


def _diff_row(row: DiffRow) -> Json:
    evidence = row.evidence
    return {
        "key": row.key,
        "function_id": row.function_id,
        "a_share": row.a_share,
        "b_share": row.b_share,
        "delta": row.delta,
        "lo": evidence and evidence.lo,
        "hi": evidence and evidence.hi,
        "p": evidence and evidence.p,
        "q": evidence and evidence.q,
        "significant": evidence is not None and evidence.significant,
        "few": evidence is not None and evidence.few,
    }


def _measured(measured: Measured) -> Json:
    return {"value": measured.value, "lo": measured.lo, "hi": measured.hi}


def _interval(interval: Interval | None, scale: float | None) -> Json | None:
    """In other units; None where there is no estimate or the units are not those (`scale` None or 0)."""
    if interval is None or not scale:
        return None
    scaled = interval.scaled(scale)
    return {"value": scaled.value, "lo": scaled.lo, "hi": scaled.hi}


def _function(row: FunctionRow) -> Json:
    return {
        "id": row.id,
        "name": row.name,
        "file": row.file,
        "binary": row.binary,
        "status": row.status.name.lower(),
        "kind": row.kind.name.lower(),
    }


def _nodes(graph: Flame, scale: float | None) -> Json:
    factor = 1.0 if scale is None else scale
    return {
        "total": (graph.total_weight * factor).tolist(),
        "self": (graph.self_weight * factor).tolist(),
        "parent": graph.parent.tolist(),
        "function": graph.function.tolist(),
    }


def _seconds(units: int, scale: float | None) -> float | None:
    return None if scale is None else units * scale
