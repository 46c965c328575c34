"""The answer of movers: significant changes between two selections and their causes."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.diff import ComparedPart, Difference, DiffRow, IntervalLevel
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class Explained(Answer):
    """The part of a change that one label explains."""

    label: str
    kind: Annotated[
        Literal["mix", "within"],
        Field(
            description="mix: the values' parts of the whole changed, and their shares differ, as in a roll-out. within: "
            "the share changed in one value beyond its change in the others."
        ),
    ]
    value: Annotated[
        str,
        Field(
            description="The value with the largest effect: it came or went (mix), or changed (within). Empty: profiles "
            "without the label."
        ),
    ]
    explained: Annotated[
        Interval,
        Field(
            description="Explained part of the change. 1: all of it. Below 0 or above 1 if other changes counteract."
        ),
    ]
    p: Annotated[Share, Field(description="Probability that chance among visits explains as much.")]
    significant: bool


@dataclass(frozen=True, slots=True)
class Cause(Answer):
    """The causes of a row's changed share."""

    best: Annotated[
        Explained | None,
        Field(
            description="The best significant explanation, if it explains at least half of the change. Null: none of the "
            "labels explains it."
        ),
    ]
    inseparable: Annotated[
        tuple[Explained, ...],
        Field(
            description="Other labels that explain as much by a value that always occurs together with the best one's, such "
            "as a release built by a new compiler."
        ),
    ]
    explanations: Annotated[
        tuple[Explained, ...], Field(description="All explanations, best first, two for each label.")
    ]
    visits: Annotated[int, Field(description="Visits of the selection that were used.")]
    base_visits: int


@dataclass(frozen=True, slots=True)
class MoverUnavailable(Answer):
    """The reason why a value is missing."""

    reason: Annotated[
        str,
        Field(
            description="One word: too_little, constant, not_a_number, no_design, or not_computed for rows beyond the largest "
            "changes."
        ),
    ]
    detail: str


@dataclass(frozen=True, slots=True)
class Release(Answer):
    """Two versions of an application that ran in the selection's time."""

    application: str
    version: Annotated[str, Field(description="The newest version with enough visits.")]
    previous: Annotated[str, Field(description="The version before.")]


@dataclass(frozen=True, slots=True)
class ComparedRelease(Release):
    """A comparison of two versions of an application within the selection."""

    visits: Annotated[int, Field(description="Compared visits that saw the version.")]
    previous_visits: Annotated[int, Field(description="Compared visits that saw the previous version.")]
    same_time: Annotated[
        bool,
        Field(
            description="The visits are of the time in which both versions ran. False: that time has too few visits, so all "
            "of the range are compared, and what depends on the time of day or week may differ."
        ),
    ]
    share: Annotated[Share, Field(description="Estimated share of the version in the selection.")]
    examined: Annotated[int, Field(description="Number of compared rows.")]
    significant: Annotated[int, Field(description="Number of rows that changed significantly.")]
    power: Annotated[
        Share, Field(description="As `power` of the answer, for the comparison of these versions.")
    ]
    compared_part: ComparedPart


@dataclass(frozen=True, slots=True)
class Mover(DiffRow):
    """A row that changed by more than chance and by enough to act on."""

    release: Annotated[
        Release | None,
        Field(
            description="Set if the row changed between two versions of an application. Then `a_share` is the total's share "
            "of the application's time in `version`, `b_share` that in `previous`, both in the selection's time range. "
            "Null: the selection is compared with its base."
        ),
    ]
    selection_delta: Annotated[
        Difference,
        Field(
            description="`delta` times the share of the version in the selection; without a release, `delta`."
        ),
    ]
    cause: Annotated[Cause | None, Field(description="Null if there is no estimate.")]
    because: Annotated[
        MoverUnavailable | None,
        Field(description="The reason why there is no cause. Null if there is one."),
    ]


@dataclass(frozen=True, slots=True)
class MoversAnswer(Answer):
    """The movers of two selections, and their explanations."""

    selection: SelectionEcho
    base: SelectionEcho
    totals: Totals
    base_totals: Totals
    by: tuple[str, ...]
    movers: Annotated[
        tuple[Mover, ...], Field(description="Largest change of the selection first (`selection_delta`).")
    ]
    releases: Annotated[
        tuple[ComparedRelease, ...],
        Field(
            description="Applications whose newest version was compared with the one before, heaviest first. False "
            "discoveries are controlled over the rows of all comparisons together."
        ),
    ]
    examined: Annotated[
        int,
        Field(
            description="Number of rows compared between the selection and its base. At most 5 % of the significant rows, "
            "with those of releases, are chance."
        ),
    ]
    rows_total: Annotated[int, Field(description="Rows that the selection or its base has.")]
    least: Annotated[Share, Field(description="Smallest `delta` that makes a row a mover.")]
    labels: Annotated[
        tuple[str, ...],
        Field(
            description="Labels that were searched for causes: the requested labels that have several values."
        ),
    ]
    power: Annotated[
        Share | None,
        Field(
            description="Probability to detect that a row of 1 % grew by a factor of 1.5, with these visits and this number "
            "of rows."
        ),
    ]
    compared_part: ComparedPart
    interval_level: IntervalLevel
    part: Annotated[
        Share,
        Field(
            description="Share of the visits that were searched for causes: a random part, if there are many."
        ),
    ]
    because: Annotated[
        MoverUnavailable | None,
        Field(description="The reason why there are no movers. Null if there are any."),
    ]
