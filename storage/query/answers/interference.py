"""The answer of an application's slowdown beside others on a chip."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Inputs, LeftOut, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class Source(Answer):
    """Training data of an answer's models: visits or experiments, never both."""

    trained_by: Annotated[
        str, Field(description="Source of the training data: visits of the fleet, or uploaded experiments.")
    ]
    experiments: Annotated[str | None, Field(description="The name of the experiments.")]
    visits: Annotated[
        int,
        Field(
            description="Training runs beside known neighbours. A run that shows two targets counts twice."
        ),
    ]
    runs: Annotated[
        int,
        Field(description="Training runs of the experiments beside other applications, counted likewise."),
    ]
    instead_of_visits: Annotated[
        Unavailable | None,
        Field(
            description="The reason why visits could not train the model, if experiments were used without a request for "
            "them."
        ),
    ]


@dataclass(frozen=True, slots=True)
class Chip(Answer):
    """The chips, and the counters used for them."""

    platform: Annotated[str, Field(description="Empty: no visit or run is left.")]
    lines: Annotated[
        str,
        Field(
            description="Counter used for lines brought into the shared cache. Empty: the counter that the "
            "experiments used.",
            examples=["l2-lines-in"],
        ),
    ]
    peak_gbs: Annotated[
        float | None,
        Field(description="GB/s of a chip's memory. Pieces end at 25 and 75 % of it. Null: not known."),
    ]
    peak_is_seen: Annotated[
        bool,
        Field(
            description="The bandwidth is the largest that a visit saw, because no figure was given or measured."
        ),
    ]


@dataclass(frozen=True, slots=True)
class SoloRow(Answer):
    """An application alone on a chip."""

    application: str
    cpi: Annotated[
        float | None,
        Field(description="Cycles per instruction. Null: the experiments measured time, or pressure only."),
    ]
    time_s: Annotated[float | None, Field(description="Seconds, where experiments measured time.")]
    lines: Annotated[float, Field(description="Million lines brought into the shared cache per CPU second.")]
    gigabytes: Annotated[float, Field(description="GB read from memory and written to it per CPU second.")]
    cores: Annotated[float, Field(description="Cores that it keeps busy in a mix that gives no number.")]
    visits: Annotated[int, Field(description="Visits in which it had a chip to itself.")]
    runs: Annotated[int, Field(description="Runs of the experiments alone.")]


@dataclass(frozen=True, slots=True)
class PieceRow(Answer):
    """Degradation = intercept + cache·c + bandwidth·b, in standard deviations from the means."""

    piece: Annotated[str, Field(description="cache-bound, both or bandwidth-bound.")]
    mixes: Annotated[int, Field(description="0: there is no function, and `because` gives the reason.")]
    outliers: Annotated[
        int, Field(description="Training mixes that were left out because of their residual.")
    ]
    intercept: float | None
    cache: float | None
    bandwidth: float | None
    cache_mean: Annotated[float | None, Field(description="Millions of lines per second.")]
    cache_sigma: float | None
    bandwidth_mean: Annotated[float | None, Field(description="GB/s.")]
    bandwidth_sigma: float | None
    r2: float | None
    f_p: Annotated[float | None, Field(description="p-value of the whole function.")]
    t_p: Annotated[
        tuple[float, ...], Field(description="p-values of the principal components that were kept.")
    ]
    because: Unavailable | None


@dataclass(frozen=True, slots=True)
class MixAnswer(Answer):
    """The requested mix."""

    lines: Annotated[
        float | None, Field(description="Millions of lines per second, including the target's own.")
    ]
    gigabytes: Annotated[float | None, Field(description="GB per second, including the target's own.")]
    degradation: Annotated[
        Figure | None, Field(description="Time ratio − 1 in this mix, with the interval of one visit.")
    ]
    baseline: Annotated[
        float | None, Field(description="Mean degradation of all training mixes, regardless of pressure.")
    ]
    piece: str | None
    extrapolated: Annotated[bool | None, Field(description="No training mix had such pressure.")]
    because: Unavailable | None


@dataclass(frozen=True, slots=True)
class InterferenceAnswer(Answer):
    """One application's degradation as a function of the total pressure on its chip."""

    selection: MachineSelectionEcho
    target: str
    source: Source
    chip: Chip
    solo: Annotated[SoloRow | None, Field(description="The target alone. Null: too few visits, or no run.")]
    typical_lines: Annotated[
        float | None, Field(description="Mean pressure of the target itself, millions of lines per second.")
    ]
    typical_gigabytes: Annotated[float | None, Field(description="GB per second.")]
    mixes: Annotated[
        int, Field(description="Training visits, or runs of experiments, beside known neighbours.")
    ]
    unknown_neighbour_visits: Annotated[
        int, Field(description="Visits beside applications of unknown pressure.")
    ]
    baseline: Annotated[float | None, Field(description="Mean degradation of the mixes.")]
    baseline_error: Annotated[
        float | None, Field(description="Mean absolute error of predicting the mean degradation.")
    ]
    error: Annotated[
        float | None, Field(description="Mean absolute error of the function, on the same mixes.")
    ]
    rows: tuple[PieceRow, ...]
    rows_total: int
    mix: Annotated[
        MixAnswer | None, Field(description="Null: no mix was requested, or no prediction is possible.")
    ]
    neighbours: Annotated[tuple[SoloRow, ...], Field(description="Applications whose pressure is known.")]
    left_out: tuple[LeftOut, ...]
    inputs: Inputs
    because: Unavailable | None
