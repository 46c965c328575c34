"""Query parameters that several routes share, with what OpenAPI says about them."""

from typing import Annotated

from fastapi import Depends, Query

from storage.query.selections.matchers import LONGEST as LONGEST_SELECT
from storage.query.selections.patterns import LONGEST as LONGEST_PATTERN
from storage.query.selections.selection import DEFAULT_CAMPAIGN, DEFAULT_EVENT, Selection, parse_selection

_TIME = "RFC 3339 with a zone, or relative: `now`, `now-15m`, `now-1h30m` (units s m h d w)."


async def selection(
    *,
    event: Annotated[
        str, Query(description="What was sampled; /status lists the events.", max_length=200)
    ] = DEFAULT_EVENT,
    unit: Annotated[
        str,
        Query(
            description="Unit of the event, where it has several. Empty: nanoseconds if it has them.",
            max_length=200,
        ),
    ] = "",
    start: Annotated[
        str,
        Query(
            alias="from",
            description=f"Start, inclusive. {_TIME}",
            examples=["now-15m", "2026-11-21T04:00:00Z"],
            max_length=64,
        ),
    ] = "now-1h",
    to: Annotated[
        str, Query(description=f"End, exclusive. {_TIME}", examples=["now"], max_length=64)
    ] = "now",
    select: Annotated[
        str,
        Query(
            description='Label matchers, e.g. `{application="nginx",platform=~"AMD.*",machine!="db1"}`. '
            "Operators = != =~ !~; regular expressions (RE2) match the whole value; a label that is not there is "
            "the empty text; `app` is short for application.",
            examples=['{application="nginx",platform=~"AMD.*"}'],
            max_length=LONGEST_SELECT,
        ),
    ] = "{}",
    campaign: Annotated[str, Query(description="Whose visits.", max_length=200)] = DEFAULT_CAMPAIGN,
    focus: Annotated[
        str,
        Query(
            description="Only stacks with a function whose name this RE2 expression matches somewhere.",
            max_length=LONGEST_PATTERN,
        ),
    ] = "",
    ignore: Annotated[
        str,
        Query(
            description="No stacks with a function whose name this RE2 expression matches somewhere.",
            max_length=LONGEST_PATTERN,
        ),
    ] = "",
) -> Selection:
    """What a request is about."""
    return parse_selection(
        event=event,
        unit=unit,
        start=start,
        end=to,
        select=select,
        campaign=campaign,
        focus=focus,
        ignore=ignore,
    )


async def base_selection(
    selected: Annotated[Selection, Depends(selection)],
    *,
    base_from: Annotated[
        str, Query(description=f"Start of the base, inclusive. {_TIME}", max_length=64, examples=["now-25h"])
    ],
    base_to: Annotated[
        str, Query(description=f"End of the base, exclusive. {_TIME}", max_length=64, examples=["now-24h"])
    ],
    base_select: Annotated[
        str | None,
        Query(
            description="Label matchers of the base; those of the selection unless given.",
            max_length=LONGEST_SELECT,
        ),
    ] = None,
    base_campaign: Annotated[
        str | None,
        Query(description="Whose visits the base is of; the selection's unless given.", max_length=200),
    ] = None,
) -> Selection:
    """What a selection is compared with; `focus` and `ignore` are the selection's."""
    return parse_selection(
        event=selected.event,
        unit=selected.unit,
        start=base_from,
        end=base_to,
        select=selected.select if base_select is None else base_select,
        campaign=selected.campaign if base_campaign is None else base_campaign,
        focus=selected.focus,
        ignore=selected.ignore,
    )


Selected = Annotated[Selection, Depends(selection)]

Base = Annotated[Selection, Depends(base_selection)]
"""The base of a request that compares."""

Keys = Annotated[
    str,
    Query(
        description="Keys, comma-separated: one of function, file, binary, and any labels of /labels.",
        examples=["function", "application,version"],
        max_length=500,
    ),
]
"""What the rows of a request go by."""
_KEY_ALIASES = {"app": "application"}


def keys_of(by: str) -> tuple[str, ...]:
    """The keys that the text names."""
    return tuple(_KEY_ALIASES.get(key.strip(), key.strip()) for key in by.split(","))
