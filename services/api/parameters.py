"""Query parameters that several routes share, with what OpenAPI says about them."""

from typing import Annotated

from fastapi import Depends, Query

from storage.query.matchers import LONGEST as LONGEST_SELECT
from storage.query.patterns import LONGEST as LONGEST_PATTERN
from storage.query.selection import DEFAULT_CAMPAIGN, DEFAULT_EVENT, Selection, parse_selection

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


Selected = Annotated[Selection, Depends(selection)]
