"""What the first page of the web UI asks, so that it can be asked before anybody opens it.

Kept answers are found by the text of a request, so these are word for word what a browser sends; a test reads
them out of the page's own sources.
"""

from typing import Final

from starlette.types import Scope

from services.api.auth import SESSION_COOKIE, Access
from services.api.encoding import MEDIA_TYPE

_SELECTION: Final = "event=cpu&from=now-1h&to=now&campaign=fleet"
HOME: Final = (
    ("/api/v1/table", f"{_SELECTION}&by=function&sort=-self&limit=200&offset=0", "*/*"),
    ("/api/v1/flame", f"{_SELECTION}&nodes=200000", MEDIA_TYPE),
)
"""Path, query and Accept of each."""
_CODINGS: Final = b"gzip, deflate, br, zstd"
"""As browsers of today accept over TLS. Who reads fewer, as Firefox without TLS, has the kept answer packed anew."""


def home_requests(access: Access) -> list[Scope]:
    """The page's questions as this process asks them itself, by a session with the least role."""
    cookie = f"{SESSION_COOKIE}={access.own_session()}"
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
            ],
            "client": None,
            "server": None,
        }
        for path, query, accept in HOME
    ]
