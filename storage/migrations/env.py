"""What Alembic runs to apply or write a revision; the connection is `storage.migrate`'s."""

from alembic import context
from sqlalchemy import Connection

from storage.migrate import comparison
from storage.schema import metadata


def _run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, **comparison(connection))
    with context.begin_transaction():
        context.run_migrations()


_run(context.config.attributes["connection"])
