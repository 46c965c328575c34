"""An application's slowdown beside others on a chip: /analysis/interference."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.interference.pieces import NAMES
from services.api.analysis.envelope import (
    Figure,
    InputsAnswer,
    LeftOut,
    MachineSelectionEcho,
    NoAnswerReason,
    asked_document,
    because_document,
    figure_document,
    inputs_document,
    reasons_document,
)
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.errors import BadSelection
from storage.query.models.interference import Mix, Piece, TargetQuestion
from storage.query.models.interference import TargetAnswer as FoundTarget
from storage.query.models.interference_ground import Known
from storage.query.models.interference_ground import Source as FoundSource
from storage.query.selections.selection import Selection


class Source(Answer):
    """Training data of an answer's models: visits or experiments, never both."""

    trained_by: str = Field(
        description="Source of the training data: visits of the fleet, or uploaded experiments."
    )
    experiments: str | None = Field(description="The name of the experiments.")
    visits: int = Field(
        description="Training runs beside known neighbours. A run that shows two targets counts twice."
    )
    runs: int = Field(
        description="Training runs of the experiments beside other applications, counted likewise."
    )
    instead_of_visits: NoAnswerReason | None = Field(
        description="The reason why visits could not train the model, if experiments were used without a request for "
        "them."
    )


class Chip(Answer):
    """The chips, and the counters used for them."""

    platform: str = Field(description="Empty: no visit or run is left.")
    lines: str = Field(
        description="Counter used for lines brought into the shared cache. Empty: the counter that the "
        "experiments used.",
        examples=["l2-lines-in"],
    )
    peak_gbs: float | None = Field(
        description="GB/s of a chip's memory. Pieces end at 25 and 75 % of it. Null: not known."
    )
    peak_is_seen: bool = Field(
        description="The bandwidth is the largest that a visit saw, because no figure was given or measured."
    )


class SoloRow(Answer):
    """An application alone on a chip."""

    application: str
    cpi: float | None = Field(
        description="Cycles per instruction. Null: the experiments measured time, or pressure only."
    )
    time_s: float | None = Field(description="Seconds, where experiments measured time.")
    lines: float = Field(description="Million lines brought into the shared cache per CPU second.")
    gigabytes: float = Field(description="GB read from memory and written to it per CPU second.")
    cores: float = Field(description="Cores that it keeps busy in a mix that gives no number.")
    visits: int = Field(description="Visits in which it had a chip to itself.")
    runs: int = Field(description="Runs of the experiments alone.")


class PieceRow(Answer):
    """Degradation = intercept + cache·c + bandwidth·b, in standard deviations from the means."""

    piece: str = Field(description="cache-bound, both or bandwidth-bound.")
    mixes: int = Field(description="0: there is no function, and `because` gives the reason.")
    outliers: int = Field(description="Training mixes that were left out because of their residual.")
    intercept: float | None
    cache: float | None
    bandwidth: float | None
    cache_mean: float | None = Field(description="Millions of lines per second.")
    cache_sigma: float | None
    bandwidth_mean: float | None = Field(description="GB/s.")
    bandwidth_sigma: float | None
    r2: float | None
    f_p: float | None = Field(description="p-value of the whole function.")
    t_p: list[float] = Field(description="p-values of the principal components that were kept.")
    because: NoAnswerReason | None


class MixAnswer(Answer):
    """The requested mix."""

    lines: float | None = Field(description="Millions of lines per second, including the target's own.")
    gigabytes: float | None = Field(description="GB per second, including the target's own.")
    degradation: Figure | None = Field(
        description="Time ratio − 1 in this mix, with the interval of one visit."
    )
    baseline: float | None = Field(
        description="Mean degradation of all training mixes, regardless of pressure."
    )
    piece: str | None
    extrapolated: bool | None = Field(description="No training mix had such pressure.")
    because: NoAnswerReason | None


class InterferenceAnswer(Answer):
    """One application's degradation as a function of the total pressure on its chip."""

    asked: MachineSelectionEcho
    target: str
    source: Source
    chip: Chip
    solo: SoloRow | None = Field(description="The target alone. Null: too few visits, or no run.")
    typical_lines: float | None = Field(
        description="Mean pressure of the target itself, millions of lines per second."
    )
    typical_gigabytes: float | None = Field(description="GB per second.")
    mixes: int = Field(description="Training visits, or runs of experiments, beside known neighbours.")
    strangers: int = Field(description="Visits beside applications of unknown pressure.")
    baseline: float | None = Field(description="Mean degradation of the mixes.")
    baseline_error: float | None = Field(
        description="Mean absolute error of predicting the mean degradation."
    )
    error: float | None = Field(description="Mean absolute error of the function, on the same mixes.")
    rows: list[PieceRow]
    rows_total: int
    mix: MixAnswer | None = Field(description="Null: no mix was requested, or no prediction is possible.")
    neighbours: list[SoloRow] = Field(description="Applications whose pressure is known.")
    left_out: list[LeftOut]
    inputs: InputsAnswer
    because: NoAnswerReason | None


Experiments = Annotated[
    str,
    Query(
        max_length=100,
        description="The uploaded experiments that train the model (/experiments). Empty: the fleet's visits, or the "
        "newest suitable experiments if the visits are not enough; see `source`.",
    ),
]
_FORMS = forms_of(InterferenceAnswer, "rows")


def interference_document(selection: Selection, found: FoundTarget) -> Json:
    """The answer of /analysis/interference."""
    model = found.model
    return {
        "asked": asked_document(selection),
        "target": found.target,
        "source": source_document(found.source),
        "chip": chip_document(found.platform, found.lines, found.peak_gbs, seen=found.peak_is_seen),
        "solo": found.solo and _solo_document(found.target, found.solo),
        "typical_lines": model and float(model.typical.cache[0]),
        "typical_gigabytes": model and float(model.typical.bandwidth[0]),
        "mixes": model.observations if model else 0,
        "strangers": found.strangers,
        "baseline": model and model.baseline,
        "baseline_error": model and model.baseline_error,
        "error": model and model.error,
        "rows": [_piece_document(piece) for piece in found.pieces],
        "rows_total": len(found.pieces),
        "mix": found.mix and _mix_document(found.mix),
        "neighbours": [_solo_document(name, solo) for name, solo in sorted(found.neighbours.items())],
        "left_out": reasons_document(found.left_out),
        "inputs": inputs_document(found.inputs),
        "because": because_document(found.unavailable),
    }


def source_document(source: FoundSource) -> Json:
    """The data that trained the models."""
    return {
        "trained_by": "experiments" if source.experiments else "visits",
        "experiments": source.experiments or None,
        "visits": source.visits,
        "runs": source.runs,
        "instead_of_visits": because_document(source.instead_of),
    }


def chip_document(platform: str, lines: str, peak_gbs: float | None, *, seen: bool) -> Json:
    """The chips that an answer is about."""
    return {"platform": platform, "lines": lines, "peak_gbs": peak_gbs, "peak_is_seen": seen}


def _solo_document(application: str, known: Known) -> Json:
    return {
        "application": application,
        "cpi": known.cpi,
        "time_s": known.time_s,
        "lines": known.lines_per_cpu_s,
        "gigabytes": known.gigabytes_per_cpu_s,
        "cores": known.cores,
        "visits": known.visits,
        "runs": known.runs,
    }


def _piece_document(piece: Piece) -> Json:
    fit = piece.fit
    mean, sigma = (fit.mean.tolist(), fit.sigma.tolist()) if fit else ([None, None], [None, None])
    return {
        "piece": piece.name,
        "mixes": fit.observations if fit else 0,
        "outliers": fit.outliers if fit else 0,
        "intercept": fit and fit.plane.intercept,
        "cache": fit and fit.plane.cache,
        "bandwidth": fit and fit.plane.bandwidth,
        "cache_mean": mean[0],
        "cache_sigma": sigma[0],
        "bandwidth_mean": mean[1],
        "bandwidth_sigma": sigma[1],
        "r2": fit and fit.r2,
        "f_p": fit and fit.f_p,
        "t_p": fit.t_p.tolist() if fit else [],
        "because": because_document(piece.unavailable),
    }


def _mix_document(mix: Mix) -> Json:
    found = mix.prediction
    known = mix.lines == mix.lines  # NaN if a neighbour's pressure is unknown
    return {
        "lines": mix.lines if known else None,
        "gigabytes": mix.gigabytes if known else None,
        "degradation": found and figure_document(found.degradation),
        "baseline": found and found.baseline,
        "piece": found and NAMES[found.piece],
        "extrapolated": found and found.extrapolated,
        "because": because_document(mix.unavailable),
    }


def named_numbers(text: str, parameter: str) -> list[tuple[str, float | None]]:
    """`checkout:0.1,feed` as names and their numbers; None: no number. Raises `BadSelection`."""
    found: list[tuple[str, float | None]] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, number = part.rpartition(":")
        if not colon:
            found.append((part, None))
            continue
        try:
            found.append((name.strip(), float(number)))
        except ValueError as error:
            raise BadSelection(
                f"{number[:40]!r} is not a number.",
                hint=f"For example {parameter}=checkout:2,feed:1.",
                parameter=parameter,
            ) from error
    return found


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/interference",
        summary="Slowdown of an application beside others",
        description="The degradation of one application as a function of the total pressure on its chip: lines into the "
        "shared cache, and memory bandwidth. Visits of machines with one socket train it, or uploaded "
        "experiments. The answer has the prediction for a mix, beside the mean.",
        response_model=InterferenceAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def interference(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        target: Annotated[
            str,
            Query(min_length=1, max_length=500, description="The application to explain."),
        ],
        platform: Annotated[
            str,
            Query(
                max_length=500,
                description="Platform of the chips. Empty: the platform with most visits, or runs, of the target.",
            ),
        ] = "",
        beside: Annotated[
            str,
            Query(
                max_length=8000,
                description="A mix to predict: neighbours and the cores that each keeps busy, `feed:4,etl:1.5`. Default "
                "number of cores: 1, or with experiments as many as in the neighbour's run alone.",
            ),
        ] = "",
        cores: Annotated[
            float | None,
            Query(
                gt=0,
                le=10_000,
                description="Cores that the target keeps busy in the mix. Default: its average.",
            ),
        ] = None,
        peak_gbs: Annotated[
            float | None,
            Query(
                ge=0.1,
                le=100_000,
                description="GB/s of a chip's memory. Default: the calibrated figure, or the largest observed.",
            ),
        ] = None,
        experiments: Experiments = "",
    ) -> Response:
        def document() -> Json:
            mix = tuple(named_numbers(beside, "beside"))
            question = TargetQuestion(selection, target, platform, mix, cores, peak_gbs, experiments)
            return interference_document(selection, handler.queries.ask(question))

        return await handler.answer(request, _FORMS, document)
