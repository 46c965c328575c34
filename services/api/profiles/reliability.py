"""Convergence and stability of a profile: /reliability."""

from fastapi import APIRouter, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Keys, Selected, keys_of
from services.api.profiles.estimates import IntervalAnswer, measured_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.selections.selection import Selection
from storage.query.shapes.reliability import ReliabilityAnswer as FoundReliability
from storage.query.shapes.reliability import ReliabilityQuestion


class FitPoint(Answer):
    """Random subsets of the visits."""

    samples: float = Field(
        description="Mean number of samples of the subsets, less their share of all samples, because the other visits "
        "vary as well."
    )
    distance: float = Field(description="Mean Manhattan distance of the subsets from the other visits, 0…2.")


class Fit(Answer):
    """How a profile converges: distance = 2 · (1 + (samples / scale)^(bend / 2))^(-1 / bend), in the end C / √samples."""

    constant: IntervalAnswer = Field(
        description="C of the law C / √samples through the present point: the present distance × √samples. 0: all "
        "visits are alike."
    )
    exponent: float = Field(
        description="Present slope of the curve on logarithmic scales: -0.5 where the law holds, nearer to 0 if a long "
        "tail of rows has few samples."
    )
    scale: float = Field(description="Scale of the curve, in samples. 0: the distance is 0 throughout.")
    bend: float = Field(description="Bend of the curve: the larger, the sooner the curve follows the law.")
    samples_per_visit: float = Field(description="Mean over `visits`.")
    visits: int = Field(
        description="Visits with a sample of a row, which the fit uses. `totals.visits_ingested` also counts visits "
        "that watched and saw nothing of the selection."
    )
    points: list[FitPoint]


class ReliabilityAnswer(Answer):
    """The reliability of a profile as a whole, over the self shares of its rows."""

    selection: SelectionEcho
    totals: TotalsAnswer
    by: list[str]
    rows_total: int
    entropy: IntervalAnswer | None = Field(
        description="Entropy in nats: representative profiles have the same. Null, like the next fields: too few "
        "visits, or no random design."
    )
    manhattan: IntervalAnswer | None = Field(
        description="Distance of two random halves of the visits, 0…2, with the range of 95 % of splits."
    )
    fit: Fit | None = Field(description="Null if fewer than 8 visits have a sample of a row.")


_FORMS = forms_of(ReliabilityAnswer)


def reliability_document(selection: Selection, found: FoundReliability) -> Json:
    """The answer of /reliability."""
    trust = found.reliability
    return {
        "selection": selection_document(selection, found.kind),
        "totals": totals_document(found.totals, found.kind.seconds_per_unit),
        "by": list(found.by),
        "rows_total": trust.rows_total,
        "entropy": trust.entropy and measured_document(trust.entropy),
        "manhattan": trust.manhattan and measured_document(trust.manhattan),
        "fit": trust.fit
        and {
            "constant": measured_document(trust.fit.constant),
            "exponent": trust.fit.exponent,
            "scale": trust.fit.curve.scale,
            "bend": trust.fit.curve.bend,
            "samples_per_visit": trust.fit.samples_per_visit,
            "visits": trust.fit.visits,
            "points": [
                {"samples": samples, "distance": distance}
                for samples, distance in zip(
                    trust.fit.samples.tolist(), trust.fit.distance.tolist(), strict=True
                )
            ],
        },
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/reliability",
        summary="Reliability of a profile",
        description="Entropy, the distance of two random halves of the visits, and the convergence of the profile with "
        "its samples.",
        response_model=ReliabilityAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def reliability(request: Request, selection: Selected, by: Keys = "function") -> Response:
        def document() -> Json:
            found = handler.queries.ask(ReliabilityQuestion(selection, keys_of(by)))
            return reliability_document(selection, found)

        return await handler.answer(request, _FORMS, document)
