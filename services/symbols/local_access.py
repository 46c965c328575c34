"""The repository of symbols in this machine's database and archive, without an API."""

import getpass
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from services.configuration.settings import Settings
from services.symbols import symbol_documents
from services.symbols.access import Sent
from services.symbols.symbol_files import LocalFile
from services.symbols.symbol_service import ListingQuery, SymbolService
from storage.archive import Archive
from storage.database import open_engine
from storage.symbols.missing_symbols import Order, Which
from symbolizer.worker.broker import make_caller

Json = dict[str, Any]


class LocalSymbols:
    """A `services.symbols.access.SymbolAccess` that calls the service directly."""

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsProblem without a database; connects on first use."""
        self._engine = open_engine(settings.needed_database_url(), application="symbols", pool_size=1)
        redis_url = settings.known_redis_url()
        self._service = SymbolService(
            self._engine,
            Archive(settings.archive),
            announce=make_caller(redis_url) if redis_url else None,
            largest_bytes=settings.symbol_upload_bytes,
        )

    def known(self, sha256s: Sequence[bytes]) -> Json:
        """The files that are stored."""
        found = self._service.known(sha256s)
        return symbol_documents.known(
            self._service, (f for files in found.values() for f in files), allowed=True
        )

    def upload(self, file: LocalFile, *, sent: Sent) -> Json:
        """Inspect and store a file."""
        done = self._service.add(file.path, name=file.name, uploaded_by=_who())
        sent(file.size)
        return symbol_documents.uploaded(done)

    def upload_sources(self, key: str, archive: Path, *, sent: Sent) -> Json:
        """Store the sources of an archive."""
        done = self._service.add_sources(key, archive)
        sent(archive.stat().st_size)
        return done | {"sampled": self._service.is_sampled(key)}

    def listing(self, query: Mapping[str, str]) -> Json:
        """Binaries by their unnamed samples."""
        listing_query = ListingQuery(
            which=Which(query.get("show", Which.MISSING)),
            order=Order(query.get("sort", Order.CPU)),
            find=query.get("find", ""),
            limit=int(query.get("limit", 100)),
            offset=int(query.get("offset", 0)),
            days=int(query.get("days", 1)),
        )
        return symbol_documents.listing(self._service, self._service.listing(listing_query), allowed=True)

    def show(self, key: str) -> Json:
        """Everything about one binary."""
        return symbol_documents.details(self._service, *self._service.show(key), allowed=True)

    def remove(self, key: str, sha256: bytes) -> Json:
        """Remove a file."""
        return symbol_documents.removed(self._service.remove(key, sha256))

    def reprocessings(self) -> Json:
        """Reprocessings: those in progress first, then the latest."""
        return symbol_documents.reprocessings(self._service.reprocessings())

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def _who() -> str:
    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (KeyError, OSError):  # a user id without an account
        return platform.node()
