"""The cheaper of two machine types for the same requests: /analysis/machine-types."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.measured import given, quotient
from analysis.smt.capacity import Capacity
from analysis.smt.machine_choice import Advice
from analysis.smt.served_work import ServedWork
from services.api.analysis.apu import Coefficient, coefficient_document
from services.api.analysis.capacity import rates_of
from services.api.analysis.envelope import (
    Figure,
    LeftOut,
    NoAnswerReason,
    because_document,
    figure_document,
    reasons_document,
    step_of,
)
from services.api.analysis.model_answers import OfMachines, of_machines
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.errors import BadSelection
from storage.query.models.machine_types import MachineRates, MachineTypesQuestion, Served
from storage.query.models.machine_types import MachineTypesAnswer as FoundTypes
from storage.query.models.no_answer import Unavailable

_LONGEST_NAME = 200
_LONGEST_RATES = 16_000
_Advice = Literal["old", "new", "unclear"]


class ServedAnswer(Answer):
    """The requests that one machine serves at the compared load, by one measure of load."""

    rate: Figure | None = Field(description="Requests per second. Null: `because` gives the reason.")
    price: Figure | None = Field(description="Price of a machine per request per second.")
    observations: int | None = Field(description="Steps with a rate and a load.")
    reach: float | None = Field(
        description="Largest observed rate ÷ rate: the further from 1, the longer the extrapolation."
    )
    curved: bool | None = Field(description="The points bend, so the rate is not reliable.")
    because: NoAnswerReason | None


class TypeRow(Answer):
    """One of the two machine types."""

    platform: str
    price: float
    utilisation: Figure | None = Field(
        description="Utilisation of logical CPUs, 0…1. Null: no visit has an APU."
    )
    apu: Figure | None = Field(description="APU by `apu_basis`.")
    low_confidence: bool
    visits: int
    machines: int | None = Field(description="Machines with visits that have an APU.")
    by_utilisation: ServedAnswer | None = Field(
        description="Null without request rates, like the next field."
    )
    by_apu: ServedAnswer | None


class MachineTypesAnswer(OfMachines):
    """Two machine types, under equal traffic for each machine, or at equal load by their request rates."""

    basis: Literal["equal_traffic", "request_rates"] = Field(
        description="equal_traffic: both types are assumed to get equally many requests per machine. request_rates: "
        "both are compared at the load `full`, regardless of their traffic."
    )
    full: float | None = Field(
        description="Load at which the types are compared. Null without request rates."
    )
    step_seconds: int | None = Field(
        description="Level of the intervals of mean rates and loads. Null without rates."
    )
    apu_basis: Literal["counters", "operating_system"] | None = Field(
        description="Source of APU, the same for both types. counters: cycle counters, if both types have them in nine "
        "of ten visits. operating_system: times of logical CPUs, with threads assumed to be busy "
        "independently of each other. Null: no APU is given."
    )
    price_ratio: float | None = Field(description="new ÷ old. Null: `because` gives the reason.")
    utilisation_ratio: Figure | None = Field(
        description="Machines of the old type that one of the new replaces, by utilisation: by loads under equal "
        "traffic, or by requests at equal load. Null, like the next fields: `because` or "
        "`utilisation_because` gives the reason."
    )
    apu_ratio: Figure | None = Field(description="The same by APU.")
    by_utilisation: _Advice | None = Field(
        description="The type that costs less for the same work. unclear: the interval contains the ratio of prices."
    )
    by_apu: _Advice | None
    stress_test: bool | None = Field(
        description="A stress test must decide: the two disagree, APU itself is unclear, or load is not a line of the "
        "rate."
    )
    utilisation_because: NoAnswerReason | None = Field(
        description="The reason why utilisation gives no answer, with request rates."
    )
    apu_because: NoAnswerReason | None
    rows: list[TypeRow] = Field(description="The old type, then the new one, if they have visits.")
    coefficients: list[Coefficient] = Field(description="The overlap coefficients used.")
    left_out: list[LeftOut]


_FORMS = forms_of(MachineTypesAnswer, "rows")


def machine_types_document(question: MachineTypesQuestion, found: FoundTypes) -> Json:
    """The answer of /analysis/machine-types."""
    rates = question.rates
    rows = [
        _row(question.old, question.old_price, found, old=True),
        _row(question.new, question.new_price, found, old=False),
    ]
    figures = {
        "basis": "equal_traffic" if rates is None else "request_rates",
        "full": rates and rates.full,
        "step_seconds": rates and rates.step_s,
        "apu_basis": None
        if found.unavailable is not None
        else "counters"
        if found.counted
        else "operating_system",
        **(_chosen(found) if found.served is None else _compared(found.served)),
        "rows": [row for row in rows if row["visits"]],
        "coefficients": [coefficient_document(each) for each in found.apu.coefficients],
        "left_out": reasons_document(found.apu.left_out),
    }
    return of_machines(question.selection, found.apu.inputs, found.unavailable, figures)


def _chosen(found: FoundTypes) -> Json:
    choice = found.choice
    return {
        "price_ratio": choice and choice.price_ratio,
        "utilisation_ratio": figure_document(None if choice is None else choice.utilisation_ratio),
        "apu_ratio": figure_document(None if choice is None else choice.apu_ratio),
        "by_utilisation": choice and choice.by_utilisation.value,
        "by_apu": choice and choice.by_apu.value,
        "stress_test": choice and choice.stress_test,
        "utilisation_because": None,
        "apu_because": None,
    }


def _compared(served: Served) -> Json:
    by = {"utilisation": served.by_utilisation, "apu": served.by_apu}
    advice_by_method = {name: found for name, found in by.items() if isinstance(found, ServedWork)}
    return {
        "price_ratio": next((found.price_ratio for found in advice_by_method.values()), None),
        **{
            f"{name}_ratio": figure_document(
                advice_by_method[name].ratio if name in advice_by_method else None
            )
            for name in by
        },
        **{
            f"by_{name}": advice_by_method[name].advice.value if name in advice_by_method else None
            for name in by
        },
        "stress_test": _undecided(advice_by_method) if advice_by_method else None,
        **{
            f"{name}_because": because_document(found if isinstance(found, Unavailable) else None)
            for name, found in by.items()
        },
    }


def _undecided(advice_by_method: Mapping[str, ServedWork]) -> bool:
    """Whether a stress test must decide; without APU it must, because utilisation overestimates free capacity."""
    advice = {found.advice for found in advice_by_method.values()}
    unclear = "apu" not in advice_by_method or advice_by_method["apu"].advice is Advice.UNCLEAR
    return unclear or len(advice) > 1 or any(found.curved for found in advice_by_method.values())


def _row(platform: str, price: float, found: FoundTypes, *, old: bool) -> Json:
    row, served = found.old if old else found.new, found.served
    seen = None if served is None else served.old if old else served.new
    return {
        "platform": platform,
        "price": price,
        "utilisation": figure_document(None if row is None else row.utilisation),
        "apu": figure_document(None if row is None else found.apu_of(row)),
        "low_confidence": row is not None and row.low_confidence,
        "visits": row.visits if row is not None else 0 if seen is None else seen.inputs.used,
        "machines": None if row is None else row.machines,
        "by_utilisation": None if seen is None else _served(seen.by_utilisation, price),
        "by_apu": None
        if seen is None
        else _served(seen.by_hardware if found.counted else seen.by_apu, price),
    }


def _served(found: Capacity | Unavailable, price: float) -> Json:
    if isinstance(found, Unavailable):
        names = ("rate", "price", "observations", "reach", "curved")
        return {**dict.fromkeys(names), "because": because_document(found)}
    return {
        "rate": figure_document(found.limit),
        "price": figure_document(quotient(given(price), found.limit)),
        "observations": found.observations,
        "reach": found.reach,
        "curved": found.curved,
        "because": None,
    }


def machine_rates(old: str, new: str, step: str, full: float) -> MachineRates | None:
    """The rates in these texts; None: both are empty. Raises `BadSelection`."""
    if not old and not new:
        return None
    for parameter, text in (("old_rates", old), ("new_rates", new)):
        if not text:
            raise BadSelection(
                "Request rates of only one type cannot be compared.",
                hint=f"{parameter}=812,,640",
                parameter=parameter,
            )
    return MachineRates(_rates_of(old, "old_rates"), _rates_of(new, "new_rates"), step_of(step) or 3600, full)


def _rates_of(text: str, parameter: str) -> tuple[float | None, ...]:
    try:
        return rates_of(text)
    except BadSelection as error:
        error.parameter, error.hint = parameter, f"{parameter}=812,,640"
        raise


def _rates(whose: str) -> Any:
    return Query(
        max_length=_LONGEST_RATES,
        description=f"Requests per second of one machine of the {whose} type: a mean over its machines for each step in "
        "order, separated by commas. Leave unknown steps empty. Empty for both types: machines of both get "
        "equal traffic.",
        examples=["8.1,,6.4"],
    )


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/machine-types",
        summary="Compare the price and capacity of two machine types",
        description="The number of machines of one platform that a machine of another replaces, by CPU utilisation and "
        "by APU, compared with the ratio of their prices. With request rates per machine, both are compared "
        "at the same load. Without them, choose machines and times at which each machine gets equal "
        "traffic.",
        response_model=MachineTypesAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def machine_types(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        old: Annotated[str, Query(description="A platform, as /labels lists it.", max_length=_LONGEST_NAME)],
        new: Annotated[str, Query(description="Another platform.", max_length=_LONGEST_NAME)],
        old_price: Annotated[
            float, Query(gt=0, le=1e12, description="Price of a machine of the old type, in any currency.")
        ],
        new_price: Annotated[
            float,
            Query(gt=0, le=1e12, description="Price of a machine of the new type, in the same currency."),
        ],
        coefficient: Annotated[
            float | None,
            Query(ge=1, le=10, description="Overlap coefficient of a platform without one."),
        ] = None,
        old_rates: Annotated[str, _rates("old")] = "",
        new_rates: Annotated[str, _rates("new")] = "",
        step: Annotated[
            str,
            Query(
                description="Length of a step of the rates, counted from midnight UTC: `1h`, `10m`.",
                max_length=20,
            ),
        ] = "1h",
        full: Annotated[
            float, Query(gt=0, le=1, description="Load at which the rates of the types are compared.")
        ] = 1.0,
    ) -> Response:
        rates = machine_rates(old_rates, new_rates, step, full)
        question = MachineTypesQuestion(selection, old, new, old_price, new_price, coefficient, rates)
        return await handler.answer(
            request, _FORMS, lambda: machine_types_document(question, handler.queries.ask(question))
        )
