"""Which of two machine types serves the same traffic for less money: /analysis/machine-types."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.apu import Coefficient, coefficient_document
from services.api.analysis.told import (
    AskedOf,
    Because,
    Figure,
    InputsAnswer,
    LeftOut,
    asked_document,
    because_document,
    figure_document,
    inputs_document,
    reasons_document,
)
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.asker import PROBLEMS, Asker
from storage.query.models.load_rows import LoadRow
from storage.query.models.machine_types import MachineTypesAnswer as FoundTypes
from storage.query.models.machine_types import MachineTypesQuestion

_LONGEST_NAME = 200
_Advice = Literal["old", "new", "unclear"]


class TypeRow(Answer):
    """One of the two machine types under the traffic."""

    platform: str
    price: float
    utilisation: Figure = Field(description="Of logical CPUs, 0…1.")
    apu: Figure
    few: bool
    visits: int
    machines: int


class MachineTypesAnswer(Answer):
    """Two machine types under equal traffic for each machine."""

    asked: AskedOf
    price_ratio: float | None = Field(description="new ÷ old. Null like the next ones: `because` says why.")
    utilisation_ratio: Figure | None = Field(
        description="old ÷ new: machines of the old type that one of the new replaces, by utilisation."
    )
    apu_ratio: Figure | None = Field(description="The same by APU.")
    by_utilisation: _Advice | None = Field(
        description="The type that costs less for the same work; unclear: the interval holds the ratio of prices."
    )
    by_apu: _Advice | None
    stress_test: bool | None = Field(
        description="A stress test must decide: the two disagree, or APU itself is unclear."
    )
    rows: list[TypeRow] = Field(description="Old, then new, as far as they have visits.")
    coefficients: list[Coefficient] = Field(description="Overlap coefficients that were used.")
    left_out: list[LeftOut]
    inputs: InputsAnswer
    because: Because | None


_FORMS = forms_of(MachineTypesAnswer, "rows")


def machine_types_document(question: MachineTypesQuestion, found: FoundTypes) -> Json:
    """The answer of /analysis/machine-types."""
    choice = found.choice
    rows = ((found.old, question.old_price), (found.new, question.new_price))
    return {
        "asked": asked_document(question.selection),
        "price_ratio": choice and choice.price_ratio,
        "utilisation_ratio": figure_document(None if choice is None else choice.utilisation_ratio),
        "apu_ratio": figure_document(None if choice is None else choice.apu_ratio),
        "by_utilisation": choice and choice.by_utilisation.value,
        "by_apu": choice and choice.by_apu.value,
        "stress_test": choice and choice.stress_test,
        "rows": [_row(row, price) for row, price in rows if row is not None],
        "coefficients": [coefficient_document(each) for each in found.apu.coefficients],
        "left_out": reasons_document(found.apu.left_out),
        "inputs": inputs_document(found.apu.inputs),
        "because": because_document(found.unsaid),
    }


def _row(row: LoadRow, price: float) -> Json:
    return {
        "platform": row.value,
        "price": price,
        "utilisation": figure_document(row.utilisation),
        "apu": figure_document(row.apu),
        "few": row.few,
        "visits": row.visits,
        "machines": row.machines,
    }


def add(router: APIRouter, asker: Asker) -> None:
    """Add the route."""

    @router.get(
        "/analysis/machine-types",
        summary="Is the new machine type worth its price",
        description="Two platforms under equal traffic for each machine: how many old machines one new one replaces, by CPU "
        "utilisation and by APU, against the ratio of their prices. Choose machines and times at which traffic is equal.",
        response_model=MachineTypesAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def machine_types(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        old: Annotated[str, Query(description="A platform, as /labels has it.", max_length=_LONGEST_NAME)],
        new: Annotated[str, Query(description="Another platform.", max_length=_LONGEST_NAME)],
        old_price: Annotated[
            float, Query(gt=0, le=1e12, description="Of a machine of the old type, in any currency.")
        ],
        new_price: Annotated[float, Query(gt=0, le=1e12, description="Of one of the new, in the same.")],
        coefficient: Annotated[
            float | None,
            Query(ge=1, le=10, description="Overlap coefficient of a platform that has none of its own."),
        ] = None,
    ) -> Response:
        def document() -> Json:
            question = MachineTypesQuestion(selection, old, new, old_price, new_price, coefficient)
            return machine_types_document(question, asker.queries.ask(question))

        return await asker.answer(request, _FORMS, document)
