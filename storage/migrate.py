"""Versions of the schema: which revisions a database has and lacks, and how they are applied.

`storage.partitions` creates and drops partitions; revisions never do. Every process checks the revision in its
readiness check. Alembic, which takes 0.3 s and 6 MB to import, is loaded only to apply or compare revisions.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text

from storage.database import open_engine
from storage.errors import DatabaseRefused, NotMigrated
from storage.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config

_SCRIPTS = Path(__file__).parent / "migrations"
_LOCK = 0x666C_6565_7401
"""Advisory lock that serializes concurrent upgrades."""


def upgrade(url: str) -> list[str]:
    """Upgrade the database to this program's schema; return the applied revisions, oldest first.

    Runs in one transaction. Concurrent calls wait for the first one and then find nothing to do. Raises
    `DatabaseRefused` for a database that another program uses.
    """
    engine = open_engine(url, application="migrate", pool_size=1)
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            todo = missing(connection)
            if revision_of(connection) is None:
                _require_empty(connection)
            if todo:
                from alembic import command  # noqa: PLC0415 - see above

                config = _config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        return todo
    finally:
        engine.dispose()


def pending(url: str) -> list[str]:
    """The revisions `upgrade` would apply, oldest first; changes nothing."""
    engine = open_engine(url, application="migrate", pool_size=1)
    try:
        with engine.connect() as connection:
            return missing(connection)
    finally:
        engine.dispose()


def missing(connection: Connection) -> list[str]:
    """The revisions this database lacks, oldest first.

    Raises `NotMigrated` if the database is newer than this program.
    """
    known = _known()
    current = revision_of(connection)
    if current is None:
        return list(known)
    if current not in known:
        raise NotMigrated(
            f"The database is at revision {current}, which is unknown to this fleetprof: install a "
            "newer fleetprof, or use another database if a different program created this one."
        )
    return list(known[known.index(current) + 1 :])


def require_current(connection: Connection) -> None:
    """Raise `NotMigrated`, with the command to run, unless the schema is this program's."""
    if lacking := missing(connection):
        raise NotMigrated(f"The database lacks {len(lacking)} schema revision(s); run: fleetprof db upgrade")


def differences(connection: Connection) -> list[Any]:
    """Changes that Alembic would make to match `storage.schema`; empty: none."""
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415 - see above
    from alembic.runtime.migration import MigrationContext  # noqa: PLC0415

    context = MigrationContext.configure(connection, opts=comparison(connection))
    return list(compare_metadata(context, metadata))


def comparison(connection: Connection) -> dict[str, Any]:
    """Alembic's comparison options: partitions are skipped, because Alembic would otherwise drop all of them."""
    rows = connection.execute(text("SELECT inhrelid::regclass::text FROM pg_inherits"))
    children = {str(name).rpartition(".")[2] for (name,) in rows}

    def include_name(name: str | None, kind: str, _parents: object) -> bool:
        return not (kind == "table" and name in children)

    return {"include_name": include_name, "compare_type": True, "compare_server_default": True}


@cache
def _known() -> tuple[str, ...]:
    """This program's revisions, oldest first: a revision's file is named NUMBER_what_it_does.py."""
    return tuple(sorted(file.name.partition("_")[0] for file in _SCRIPTS.glob("versions/[0-9]*_*.py")))


def revision_of(connection: Connection) -> str | None:
    """The revision that Alembic recorded in the database; None: none."""
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def _require_empty(connection: Connection) -> None:
    """Protect other programs' databases: a generic variable such as DATABASE_URL may point to one."""
    theirs = connection.scalars(
        text(
            "SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace"
            " AND c.relkind IN ('r', 'p') AND c.relname <> 'alembic_version' AND NOT EXISTS (SELECT FROM pg_depend d"
            " WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY 1"
        )
    ).all()
    if theirs:
        name = connection.scalar(text("SELECT current_database()"))
        raise DatabaseRefused(
            f"Database {name!r} contains tables of another program "
            f"({', '.join(theirs[:3])}{', …' * (len(theirs) > 3)}). Set FLEETPROF_DATABASE_URL to a "
            "separate database, or unset DATABASE_URL."
        )


def _config() -> "Config":
    from alembic.config import Config  # noqa: PLC0415 - see above

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
