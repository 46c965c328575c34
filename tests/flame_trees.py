"""Answers of flame graphs around given trees."""

from storage.query.answers.flame import FlameSummary, Pruned
from storage.query.answers.totals import Totals
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import SampleType
from storage.query.selections.selection import parse_selection
from storage.query.shapes.flame import FlameTree
from storage.query.shapes.flame_nodes import Flame

SELECTION = parse_selection(start="2026-11-18T12:00:00Z", end="2026-11-18T13:00:00Z")
TOTALS = Totals(
    samples=3,
    units=7,
    seconds=None,
    machines=1,
    visits=1,
    profiles=1,
    kept=1.0,
    symbolized=1.0,
    leaf_symbolized=1.0,
    complete=1.0,
    design="none",
    path="chunks",
    approximate=False,
    selected_seconds=3600.0,
    covered_seconds=0.0,
    missing=(),
    estimated_seconds=0.0,
    population=0.0,
    uncovered_share=0.0,
    visits_drawn=1,
    visits_ingested=1,
    visits_waiting=0,
    core_seconds=None,
    cores=None,
    estimate=None,
)


def tree_of(flame: Flame, kind: SampleType) -> FlameTree:
    """The answer with this tree; its totals are any."""
    summary = FlameSummary(
        selection=selection_echo(SELECTION, kind),
        totals=TOTALS,
        path=(),
        inverted=False,
        by=(),
        pruned=Pruned(flame.pruned_nodes, flame.pruned_share),
    )
    return FlameTree(kind, summary, flame)
