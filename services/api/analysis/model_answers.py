"""The common frame of models' answers: the selection, the inputs, and the reason for a missing answer."""

from pydantic import Field

from services.api.analysis.envelope import (
    InputsAnswer,
    MachineSelectionEcho,
    NoAnswerReason,
    asked_document,
    because_document,
    inputs_document,
)
from services.api.answer import Answer, Json
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.facts.visit_scan import SampleType
from storage.query.models.no_answer import Inputs, Unavailable
from storage.query.selections.selection import Selection
from storage.query.shapes.totals import Totals

_WHY = "The reason why there is no answer. Null if there is one."


class OfMachines(Answer):
    """Base of answers about machines: what was counted and accounted in visits of them."""

    asked: MachineSelectionEcho
    inputs: InputsAnswer
    because: NoAnswerReason | None = Field(description=_WHY)


class OfSamples(Answer):
    """Base of answers about samples, which any selection has."""

    selection: SelectionEcho
    totals: TotalsAnswer
    because: NoAnswerReason | None = Field(description=_WHY)


def of_machines(selection: Selection, inputs: Inputs, unavailable: Unavailable | None, figures: Json) -> Json:
    """The document of an `OfMachines` with these figures."""
    return {
        "asked": asked_document(selection),
        **figures,
        "inputs": inputs_document(inputs),
        "because": because_document(unavailable),
    }


def of_samples(
    selection: Selection, kind: SampleType, totals: Totals, unavailable: Unavailable | None, figures: Json
) -> Json:
    """The document of an `OfSamples` with these figures."""
    return {
        "selection": selection_document(selection, kind),
        "totals": totals_document(totals, kind.seconds_per_unit),
        **figures,
        "because": because_document(unavailable),
    }
