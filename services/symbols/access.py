"""The interface of commands to a repository of symbols, local or remote; answers are those of the HTTP API."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from services.configuration.settings import Settings
from services.symbols.symbol_files import LocalFile

Json = dict[str, Any]
Sent = Callable[[int], None]


class SymbolAccess(Protocol):
    """A repository of symbols. `services.api.symbol_models` describes the answers.

    Every method raises a `ServiceError` or `StorageError` with a sentence for a person.
    """

    def known(self, sha256s: Sequence[bytes]) -> Json:
        """`KnownFiles`: the files that are stored, and the limits on uploads."""

    def upload(self, file: LocalFile, *, sent: Sent) -> Json:
        """`UploadAnswer`; `sent` is called with the number of bytes read so far."""

    def upload_sources(self, key: str, archive: Path, *, sent: Sent) -> Json:
        """`SourcesAnswer`: store the archive's files as the sources of this binary."""

    def listing(self, query: Mapping[str, str]) -> Json:
        """`SymbolsAnswer`; the query is that of the route."""

    def show(self, key: str) -> Json:
        """`BinaryAnswer`."""

    def remove(self, key: str, sha256: bytes) -> Json:
        """`RemovedFile`."""

    def reprocessings(self) -> Json:
        """`Reprocessings`."""

    def close(self) -> None:
        """Close open resources."""


def open_access(settings: Settings, url: str | None, token: str | None) -> SymbolAccess:
    """The repository at `url`, else at FLEETPROF_URL, else in this machine's database and archive.

    Raises SettingsProblem.
    """
    if where := url or settings.url:
        from services.symbols.remote_access import RemoteSymbols  # noqa: PLC0415 - one of the two is needed

        return RemoteSymbols(where, token or settings.token)
    from services.symbols.local_access import LocalSymbols  # noqa: PLC0415

    return LocalSymbols(settings)
