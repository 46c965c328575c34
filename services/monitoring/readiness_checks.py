"""What a process's readiness depends on: its servers, asked each time anew.

No connection is kept between two questions: a pool's children are forked from the process that answers, and must
not find a connection of their parent's among their descriptors.
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
    """It answers, and its schema is this program's, to the last revision."""
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
    """It can be asked for a blob."""
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
    """It answers."""

    def check() -> str | None:
        try:
            with open_broker(url) as client:
                client.ping()
        except (RedisError, OSError) as error:
            return f"The broker does not answer: {error}"
        return None

    return check
