"""The answer of changes: first sights of label values, and marks of deploys."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho


@dataclass(frozen=True, slots=True)
class Change(Answer):
    """Something new in the fleet."""

    kind: Annotated[
        Literal["first_sight", "mark"],
        Field(
            description="first_sight: visits saw a new value of a label. mark: an operator marked a deploy."
        ),
    ]
    application: Annotated[
        str | None, Field(description="Null: the change is of machines, not of one application.")
    ]
    label: Annotated[
        str,
        Field(
            description="version, compiler, kernel, …; application for a new application. Of a mark: version."
        ),
    ]
    value: Annotated[str, Field(description="The new value.")]
    previous: Annotated[
        str | None,
        Field(
            description="The value with the largest share in the 20 visits before, empty for profiles without the label. "
            "Null for new applications and for marks."
        ),
    ]
    time: Annotated[
        str,
        Field(
            description="Draw time of the first visit that saw the value, RFC 3339. Of a mark: its time.",
        ),
    ]
    last_without: Annotated[
        str | None,
        Field(
            description="Draw time of the last visit before `time` that saw the application without the value: the change "
            "happened between the two. Null for marks."
        ),
    ]
    visits_before: Annotated[
        int | None,
        Field(
            description="Visits that saw the application (for labels of machines, any visits) before `time`. Null for marks."
        ),
    ]
    chance: Annotated[
        Share | None,
        Field(
            description="Probability that a value which had been there all the time would be seen this late by chance. Values "
            "with more than 0.01 are left out. Null for marks."
        ),
    ]
    visits: Annotated[int | None, Field(description="Visits that saw the value. Null for marks.")]
    share_now: Annotated[
        Interval | None,
        Field(
            description="Share of the application's time (for labels of machines and new applications, of the selection) "
            "since `now_from`: the progress of the roll-out. Null for marks, without visits since then, and without a "
            "random design."
        ),
    ]
    deploy_id: Annotated[int | None, Field(description="Id of a mark. Null for first sights.")]
    text: Annotated[str | None, Field(description="Description of a mark. Null for first sights.")]
    link: Annotated[
        str | None, Field(description="http or https URL of a mark, empty: none. Null for first sights.")
    ]
    added_by: Annotated[str | None, Field(description="Who added the mark. Null for first sights.")]


@dataclass(frozen=True, slots=True)
class ChangesAnswer(Answer):
    """Changes of the fleet in a time range, the newest first."""

    selection: SelectionEcho
    known_from: Annotated[
        str | None,
        Field(
            description="Draw time of the first visit that was read, RFC 3339. A value is new if visits from here on did not "
            "see it. Null: there are no visits."
        ),
    ]
    now_from: Annotated[str, Field(description="Start of the time that `share_now` refers to, RFC 3339.")]
    labels: tuple[str, ...]
    changes: tuple[Change, ...]
    changes_total: Annotated[int, Field(description="Number of changes before `limit` is applied.")]
    unsure: Annotated[
        int,
        Field(
            description="Values first seen in the time range that may have been there before: chance explains why no "
            "earlier visit saw them."
        ),
    ]
