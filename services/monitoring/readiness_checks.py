"""Readiness checks of the servers that a process depends on; each check connects anew.

No connection stays open between two checks: a pool's children are forked from the checking process, and must not
inherit a connection of their parent.
"""

from redis import RedisError

from services.monitoring.queue_lengths import open_broker
from services.monitoring.readiness import Check
from storage.archive import Archive
from storage.database import open_engine
from storage.errors import ArchiveError, BlobMissing, StorageError
from storage.migrate import require_current

_NO_BLOB = "probes/none"


def database(url: str) -> Check:
    """Check that the database responds and has exactly this program's schema revision."""
    engine = open_engine(url, application="probe", pool_size=1)

    def check() -> str | None:
        try:
            with engine.connect() as connection:
                require_current(connection)
        except StorageError as error:
            return str(error)
        finally:
            engine.dispose()
        return None

    return check


def archive(url: str) -> Check:
    """Check that the archive accepts a request for a blob."""
    blobs = Archive(url)

    def check() -> str | None:
        try:
            blobs.size(_NO_BLOB)
        except BlobMissing:
            return None
        except ArchiveError as error:
            return str(error)
        return None

    return check


def broker(url: str) -> Check:
    """Check that the broker responds."""

    def check() -> str | None:
        try:
            with open_broker(url) as client:
                client.ping()
        except (RedisError, OSError) as error:
            return f"The broker does not respond: {error}"
        return None

    return check
