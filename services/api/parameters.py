"""Query parameters that several routes share, with their OpenAPI descriptions."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Query

from services.api.problems import Problem
from storage.query.selections.grammar import LONGEST as LONGEST_SELECT
from storage.query.selections.grammar import parse_keys
from storage.query.selections.patterns import LONGEST as LONGEST_PATTERN
from storage.query.selections.selection import (
    DEFAULT_CAMPAIGN,
    DEFAULT_EVENT,
    LONGEST_NAME,
    Selection,
    parse_selection,
)
from storage.query.selections.times import LONGEST as LONGEST_TIME

_TIME = "RFC 3339 with a zone, or relative: `now`, `now-15m`, `now-1h30m` (units s m h d w)."


def _pattern(what: str) -> Any:
    return Query(
        description=f"{what} An RE2 expression that matches any part of a frame's function, file or binary.",
        max_length=LONGEST_PATTERN,
    )


async def selection(
    *,
    event: Annotated[
        str, Query(description="The sampled event; /status lists the events.", max_length=LONGEST_NAME)
    ] = DEFAULT_EVENT,
    unit: Annotated[
        str,
        Query(
            description="Unit of the event, if it has several. Empty: nanoseconds if available.",
            max_length=LONGEST_NAME,
        ),
    ] = "",
    start: Annotated[
        str,
        Query(
            alias="from",
            description=f"Start, inclusive. {_TIME}",
            examples=["now-15m", "2026-11-21T04:00:00Z"],
            max_length=LONGEST_TIME,
        ),
    ] = "now-1h",
    to: Annotated[
        str, Query(description=f"End, exclusive. {_TIME}", examples=["now"], max_length=LONGEST_TIME)
    ] = "now",
    select: Annotated[
        str,
        Query(
            description='Matchers on labels, e.g. `{application="nginx",platform=~"AMD.*",machine!="db1"}`, and on '
            'frames: `function="malloc"` selects stacks that contain such a frame, and '
            '`self.function="malloc"` selects stacks whose innermost frame it is; likewise `file` and '
            "`binary`. Operators = != =~ !~; regular expressions (RE2) match the whole value. A missing "
            "label has the empty text as its value. `app` is short for application.",
            examples=['{application="nginx",platform=~"AMD.*"}', '{app="nginx",binary!~"libc.*"}'],
            max_length=LONGEST_SELECT,
        ),
    ] = "{}",
    campaign: Annotated[
        str, Query(description="The campaign that drew the visits.", max_length=LONGEST_NAME)
    ] = DEFAULT_CAMPAIGN,
    focus: Annotated[str, _pattern("Keep only stacks with a frame that matches.")] = "",
    ignore: Annotated[str, _pattern("Drop stacks with a frame that matches.")] = "",
    hide: Annotated[str, _pattern("Remove frames that match from their stacks.")] = "",
    show: Annotated[str, _pattern("Remove frames that do not match from their stacks.")] = "",
    show_from: Annotated[
        str,
        _pattern("Remove the callers of the outermost frame that matches, and stacks without such a frame."),
    ] = "",
) -> Selection:
    """The request's selection."""
    return parse_selection(
        event=event,
        unit=unit,
        start=start,
        end=to,
        select=select,
        campaign=campaign,
        focus=focus,
        ignore=ignore,
        hide=hide,
        show=show,
        show_from=show_from,
    )


_BASE_FROM = Query(
    description=f"Start of the base, inclusive. {_TIME}", max_length=LONGEST_TIME, examples=["now-25h"]
)
_BASE_TO = Query(
    description=f"End of the base, exclusive. {_TIME}", max_length=LONGEST_TIME, examples=["now-24h"]
)
_BaseSelect = Annotated[
    str | None,
    Query(
        description="Label matchers of the base. Default: those of the selection.",
        max_length=LONGEST_SELECT,
    ),
]
_BaseCampaign = Annotated[
    str | None,
    Query(description="The campaign of the base. Default: the selection's.", max_length=LONGEST_NAME),
]


async def base_selection(
    selected: Annotated[Selection, Depends(selection)],
    *,
    base_from: Annotated[str, _BASE_FROM],
    base_to: Annotated[str, _BASE_TO],
    base_select: _BaseSelect = None,
    base_campaign: _BaseCampaign = None,
) -> Selection:
    """The base that a selection is compared with. Frame patterns outside `select` are the selection's."""
    return parse_selection(
        event=selected.event,
        unit=selected.unit,
        start=base_from,
        end=base_to,
        select=selected.select if base_select is None else base_select,
        campaign=selected.campaign if base_campaign is None else base_campaign,
        focus=selected.focus,
        ignore=selected.ignore,
        hide=selected.hide,
        show=selected.show,
        show_from=selected.show_from,
        prefix="base_",
    )


async def base_if_given(
    selected: Annotated[Selection, Depends(selection)],
    *,
    base_from: Annotated[str | None, _BASE_FROM] = None,
    base_to: Annotated[str | None, _BASE_TO] = None,
    base_select: _BaseSelect = None,
    base_campaign: _BaseCampaign = None,
) -> Selection | None:
    """As `base_selection`; None if the request has none of the parameters.

    Raises the Problem 422 for a base without its time.
    """
    times = {"base_from": base_from, "base_to": base_to}
    if all(value is None for value in (*times.values(), base_select, base_campaign)):
        return None
    for name, value in times.items():
        if value is None:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"The base has no `{name}`.",
                kind="bad-parameter",
                hint="Set base_from and base_to, for example base_from=now-25h&base_to=now-24h.",
                parameter=name,
            )
    return await base_selection(
        selected,
        base_from=str(base_from),
        base_to=str(base_to),
        base_select=base_select,
        base_campaign=base_campaign,
    )


Selected = Annotated[Selection, Depends(selection)]

Base = Annotated[Selection, Depends(base_selection)]
"""The base of a request that compares."""

BaseIfGiven = Annotated[Selection | None, Depends(base_if_given)]
"""The base of a request that may compare."""

Keys = Annotated[
    str,
    Query(
        description="Keys, comma-separated: any of function, file, line (only in tables) and binary, and any labels of "
        "/labels. A label may be in double quotes.",
        examples=["function", "application,version", "function,line"],
        max_length=500,
    ),
]
"""The keys that a request's rows are grouped by."""


def keys_of(by: str) -> tuple[str, ...]:
    """The keys that the text names. Raises `BadSelection`."""
    return parse_keys(by)
