"""A remote repository of symbols, over its HTTP API."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, TypeVar
from urllib.parse import quote

import zstandard

from services.client.json_api import JsonApi
from services.symbols.errors import UnusableFile
from services.symbols.source_tree import MEDIA_TYPE
from services.symbols.symbol_files import LocalFile

_T = TypeVar("_T")
Json = dict[str, Any]
Sent = Callable[[int], None]
"""Called with the number of bytes of the file read so far."""

_AT_ONCE: Final = 1 << 20
_LEVEL: Final = 3


class RemoteSymbols:
    """A `services.symbols.access.SymbolAccess` over HTTP. For one thread."""

    def __init__(self, url: str, token: str | None) -> None:
        """Raises SettingsProblem for an invalid http(s) URL, and for a token sent unencrypted to another machine."""
        self._api = JsonApi(url, token, needs="an API token of the role operator")

    def known(self, sha256s: Sequence[bytes]) -> Json:
        """The answer of `/debug-files`."""
        return self._api.ask("GET", "/debug-files", [("sha256", digest.hex()) for digest in sha256s])

    def upload(self, file: LocalFile, *, sent: Sent) -> Json:
        """Post a file, compressed in transit. Raises `UnusableFile` if it cannot be read."""
        query = [("name", file.name)]
        return self._post("/symbols", query, lambda: file.path.open("rb"), "application/octet-stream", sent)

    def upload_sources(self, key: str, archive: Path, *, sent: Sent) -> Json:
        """Post an archive of sources. Raises `UnusableFile` if it cannot be read."""
        return self._post("/sources", [("key", key)], lambda: archive.open("rb"), MEDIA_TYPE, sent)

    def listing(self, query: Mapping[str, str]) -> Json:
        """The answer of `/symbols`."""
        return self._api.ask("GET", "/symbols", list(query.items()))

    def show(self, key: str) -> Json:
        """The answer of `/symbols/KEY`."""
        return self._api.ask("GET", f"/symbols/{quote(key, safe='')}")

    def remove(self, key: str, sha256: bytes) -> Json:
        """Delete one file."""
        return self._api.ask("DELETE", f"/symbols/{quote(key, safe='')}/{sha256.hex()}")

    def reprocessings(self) -> Json:
        """The answer of `/reprocessings`."""
        return self._api.ask("GET", "/reprocessings")

    def close(self) -> None:
        """Does nothing: no connection stays open."""

    def _post(
        self,
        route: str,
        query: Sequence[tuple[str, str]],
        opened: Callable[[], IO[bytes]],
        kind: str,
        sent: Sent,
    ) -> Json:
        def body() -> Iterator[bytes]:
            with _read(opened) as file:
                yield from _packed(file, sent)

        headers = {"Content-Type": kind, "Content-Encoding": "zstd"}
        return self._api.ask("POST", route, query, body, headers)


def _read(step: Callable[[], _T]) -> _T:
    """The step's result. Raises `UnusableFile` for an OSError, which elsewhere here means a failure of the API."""
    try:
        return step()
    except OSError as error:
        raise UnusableFile(f"Cannot read the file: {error.strerror or error}.") from error


def _packed(file: IO[bytes], sent: Sent) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
    count = 0
    while part := _read(lambda: file.read(_AT_ONCE)):
        count += len(part)
        if packed := packer.compress(part):
            yield packed
        sent(count)
    yield packer.flush()
