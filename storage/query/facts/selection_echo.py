"""Parts that answers have in common: the resolved selection, and the inputs of models."""

from typing import Literal

from storage.query.answers.inputs import Inputs, MissingCounter
from storage.query.answers.selection_echo import MachineSelectionEcho, SelectionEcho
from storage.query.estimation.sampling_design import Coverage
from storage.query.facts.visit_scan import SampleType
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time


def selection_echo(selection: Selection, kind: SampleType) -> SelectionEcho:
    """The selection with its resolved event and unit."""
    return SelectionEcho(
        event=kind.event,
        unit=kind.unit,
        from_=format_time(selection.start),
        to=format_time(selection.end),
        select=selection.select,
        campaign=selection.campaign,
        focus=selection.focus,
        ignore=selection.ignore,
        hide=selection.hide,
        show=selection.show,
        show_from=selection.show_from,
    )


def machine_selection_echo(selection: Selection) -> MachineSelectionEcho:
    """The parts of the selection that apply to machines."""
    return MachineSelectionEcho(
        format_time(selection.start), format_time(selection.end), selection.select, selection.campaign
    )


def inputs_of(coverage: Coverage, visits: int, used: int, missing: tuple[MissingCounter, ...] = ()) -> Inputs:
    """The inputs of a model whose selection has this coverage."""
    design: Literal["random", "none"] = "random" if coverage.random else "none"
    return Inputs(design, coverage.covered_s, coverage.population, visits, used, missing)
