"""The answers about releases: versions of applications, roll-outs, and comparisons with the version before."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.diff import ComparedPart, Difference, IntervalLevel
from storage.query.answers.figures import Figure, Interval
from storage.query.answers.inputs import Because
from storage.query.answers.selection_echo import SelectionEcho

Verdict = Annotated[
    Literal["changed", "no_change", "too_little"],
    Field(
        description="changed: at least one function changed significantly. no_change: none did; `power` tells whether a "
        "change would have been found. too_little: one of the sides has too few visits."
    ),
]
Tested = Annotated[
    int,
    Field(
        description="Rows of all comparisons together. On average, at most 5 % of those called significant are chance."
    ),
]


@dataclass(frozen=True, slots=True)
class ChangedFunction(Answer):
    """A function whose total changed significantly as a share of its application's time."""

    key: Annotated[dict[str, str], Field(description="As in /table.")]
    function_id: int | None
    a_share: Annotated[Share, Field(description="Share of the total in the application's time now.")]
    b_share: Annotated[Share, Field(description="Share before.")]
    delta: Annotated[Difference, Field(description="a_share - b_share.")]
    lo: Annotated[Difference, Field(description="Interval of delta at `interval_level`.")]
    hi: Difference
    p: Share
    q: Annotated[Share, Field(description="As in /diff, over the rows of all comparisons.")]
    factor: Annotated[
        Figure | None,
        Field(
            description="a_share / b_share, with the interval of delta relative to b_share. Null: the function is new."
        ),
    ]
    extra_cores: Annotated[
        Figure | None,
        Field(
            description="delta times the mean number of cores of the application now (of the newest version, if versions "
            "are compared). The interval is that of delta: it leaves out the uncertainty of the cores. Null for events "
            "not counted in time."
        ),
    ]


@dataclass(frozen=True, slots=True)
class ReleaseComparison(Answer):
    """One application now and before: the newest version and the one before, or this week and last week."""

    kind: Annotated[
        Literal["release", "week"],
        Field(description="release: two versions at the same time. week: seven days and the seven before."),
    ]
    version: Annotated[str, Field(description="The newest version. Empty for a week.")]
    previous: Annotated[str, Field(description="The version before. Empty for a week.")]
    visits: Annotated[int, Field(description="Compared visits that saw the application now.")]
    previous_visits: Annotated[int, Field(description="Compared visits that saw it before.")]
    same_time: Annotated[
        bool,
        Field(
            description="The visits are of the time in which both versions ran. False: that time has too few visits, so all "
            "of the range are compared, and what depends on the time of day or week may differ."
        ),
    ]
    verdict: Verdict
    grew: Annotated[int, Field(description="Functions with a significantly larger share.")]
    shrank: Annotated[int, Field(description="Functions with a significantly smaller share.")]
    worst: Annotated[
        ChangedFunction | None,
        Field(description="The function whose share grew most, among those that grew significantly."),
    ]
    functions: Annotated[
        tuple[ChangedFunction, ...],
        Field(description="Functions that changed significantly, largest change first; at most 10."),
    ]
    examined: Annotated[int, Field(description="Compared rows: the heaviest totals of either side.")]
    power: Annotated[
        Share | None,
        Field(
            description="Probability to detect that a row of 1 % grew by a factor of 1.5, with these visits and all rows "
            "tested at once. Null without a test."
        ),
    ]
    compared_part: ComparedPart


@dataclass(frozen=True, slots=True)
class ReleasedVersion(Answer):
    """One version of an application in the time range."""

    version: str
    first_seen: Annotated[
        str | None,
        Field(
            description="Draw time of the first visit that saw it, RFC 3339. Null: it may have run before the first visit "
            "of the range."
        ),
    ]
    last_without: Annotated[
        str | None,
        Field(
            description="Draw time of the last visit of the application before `first_seen`: the version appeared between "
            "the two. Null with `first_seen`."
        ),
    ]
    last_seen: Annotated[str, Field(description="Draw time of the last visit that saw it, RFC 3339.")]
    visits: Annotated[int, Field(description="Visits that saw it.")]
    share: Annotated[
        Interval | None,
        Field(description="Share of the application's time in the range. Null without a random design."),
    ]
    share_now: Annotated[
        Interval | None,
        Field(
            description="Share of the application's time since `now_from`: the progress of the roll-out. Null: no visit "
            "since then saw the application."
        ),
    ]
    cores: Annotated[
        Interval | None,
        Field(
            description="Mean number of cores that it kept busy. Null for events not counted in time, and without a random "
            "design."
        ),
    ]


@dataclass(frozen=True, slots=True)
class ReleasedApplication(Answer):
    """An application, its versions, and its newest version compared with the one before."""

    application: str
    share: Annotated[Share, Field(description="Estimated share of the selection.")]
    visits: Annotated[int, Field(description="Visits that saw it with a version.")]
    newest: Annotated[str, Field(description="The newest version.")]
    previous: Annotated[str | None, Field(description="The version before. Null: there is only one.")]
    versions: Annotated[tuple[ReleasedVersion, ...], Field(description="Newest first; at most 20.")]
    versions_total: int
    comparison: Annotated[
        ReleaseComparison | None, Field(description="Null: there is only one version, or no random design.")
    ]
    because: Because


@dataclass(frozen=True, slots=True)
class ReleasesAnswer(Answer):
    """The releases of applications in a time range."""

    selection: SelectionEcho
    visits: Annotated[int, Field(description="Ingested visits with a sample of the selection.")]
    now_from: Annotated[str, Field(description="Start of the time that `share_now` refers to, RFC 3339.")]
    applications: Annotated[tuple[ReleasedApplication, ...], Field(description="Heaviest first.")]
    applications_total: Annotated[int, Field(description="Applications with a version.")]
    tested: Tested
    interval_level: IntervalLevel
