"""The cheaper of two machine types for the same requests: /analysis/machine-types."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from services.api.analysis.capacity import rates_of
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.command_line.durations import step_of
from storage.errors import BadSelection
from storage.query.answers.machine_types import MachineTypesAnswer
from storage.query.models.machine_types import MachineRates, MachineTypesQuestion

_LONGEST_NAME = 200
_LONGEST_RATES = 16_000


_FORMS = forms_of(MachineTypesAnswer, "rows")


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
        response_model=described_by(MachineTypesAnswer),
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
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
