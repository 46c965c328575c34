"""What the first page of the web UI asks, and views that an operator names, so that they can be asked before anybody opens them.

Kept answers are found by the text of a request, so these are word for word what a browser sends; a test reads
them out of the page's own sources.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from starlette.types import Scope

from services.api.auth import Access
from services.api.encoding import MEDIA_TYPE
from services.api.formats.forms import STACKS_ONLY
from services.api.query_string import near
from services.api.sessions import SESSION_HEADER, cookie_name
from services.errors import SettingsProblem
from storage.errors import BadSelection
from storage.query.selections.selection import PATTERNS, parse_selection

_SELECTION: Final = "event=cpu&from=now-1h&to=now&campaign=fleet"
HOME: Final = (
    ("/api/v1/table", f"{_SELECTION}&by=function&sort=-self&limit=200&offset=0", "*/*"),
    ("/api/v1/flame", f"{_SELECTION}&nodes=200000", MEDIA_TYPE),
)
"""Path, query and Accept of each."""
_CODINGS: Final = b"gzip, deflate, br, zstd"
"""As browsers of today accept over TLS. Who reads fewer, as Firefox without TLS, has the kept answer packed anew."""

_WRITTEN_AS_IT_IS: Final = "%&=+"
"""In a query, besides letters and digits: what has a meaning there."""


def home_requests(access: Access, views: Sequence[str] = ()) -> list[Scope]:
    """The page's questions as this process asks them itself, by a session with the least role; then views, paths with queries."""
    own = access.own_session()
    cookie = f"{cookie_name(secure=False)}={own.cookie}"
    return [
        {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                (b"host", b"localhost"),
                (b"accept", accept.encode()),
                (b"accept-encoding", _CODINGS),
                (b"cache-control", b"no-cache"),
                (b"cookie", cookie.encode()),
                (SESSION_HEADER.lower().encode(), own.binding.encode()),
            ],
            "client": None,
            "server": None,
        }
        for path, query, accept in (*HOME, *map(_as_the_page_asks, views))
    ]


def check_views(views: Sequence[str], described: Mapping[str, Any], kept: Collection[str]) -> None:
    """Raises SettingsProblem for a view that no answer can be kept of.

    `described` is the API's OpenAPI document; `kept` has the paths whose answers are kept, none: nothing is.
    """
    if views and not kept:
        raise SettingsProblem(
            "FLEETPROF_WARMED: no answers are kept while FLEETPROF_ANSWER_SECONDS or FLEETPROF_ANSWER_BYTES is 0."
        )
    for view in views:
        path, query, _ = _as_the_page_asks(view)
        route = described["paths"].get(path, {}).get("get")
        if route is not None and path not in kept:
            raise SettingsProblem(f"FLEETPROF_WARMED: answers of {path} are not kept.")
        if route is None:
            paths = get_close_matches(path, kept, n=1)
            raise SettingsProblem(
                f"FLEETPROF_WARMED: {path} cannot be asked for.{f' Did you mean {paths[0]}?' if paths else ''}"
            )
        pairs = parse_qsl(query, keep_blank_values=True)
        given = dict(pairs)
        known = {each["name"]: each for each in route.get("parameters", ()) if each["in"] == "query"}
        for name in given.keys() - known.keys():
            meant = near(name, known)
            raise SettingsProblem(
                f"FLEETPROF_WARMED: {path} has no parameter {name!r}.{f' Did you mean {meant}?' if meant else ''}"
            )
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                raise SettingsProblem(f"FLEETPROF_WARMED: the parameter {name!r} is given more than once.")
        for name, each in known.items():
            if each.get("required") and name not in given:
                raise SettingsProblem(f"FLEETPROF_WARMED: {path} needs the parameter {name!r}.")
        if given.get("format") in STACKS_ONLY:  # sent part by part, never whole
            raise SettingsProblem(f"FLEETPROF_WARMED: answers of {path} as {given['format']} are not kept.")
        _check_selection(path, given)


def _check_selection(path: str, given: Mapping[str, str]) -> None:
    names = {"from": "start", "to": "end"}
    of_selections = {"event", "unit", "from", "to", "select", "campaign", *PATTERNS}
    asked: dict[str, Any] = {names.get(name, name): given[name] for name in of_selections & given.keys()}
    try:
        parse_selection(**asked)
    except BadSelection as error:
        raise SettingsProblem(f"FLEETPROF_WARMED: {path}: {error}") from error


def _as_the_page_asks(view: str) -> tuple[str, str, str]:
    """As browsers write it: a query is ASCII, and what is not is UTF-8 behind percent signs."""
    path, _, query = view.partition("?")
    return (
        path,
        quote(query, safe=_WRITTEN_AS_IT_IS),
        {known: accept for known, _, accept in HOME}.get(path, "*/*"),
    )
