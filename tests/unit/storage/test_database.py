import psycopg2
import pytest
from psycopg2 import errorcodes
from sqlalchemy import Engine, create_engine

from storage import errors
from storage.database import normalized, open_engine, translate, translated


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@h:1/d",
        "postgres://u:p@h:1/d",
        "postgresql+psycopg2://u:p@h:1/d",
        "postgresql+asyncpg://u:p@h:1/d",
    ],
)
def test_every_spelling_of_a_url_gets_our_driver(url):
    assert normalized(url).render_as_string(hide_password=False) == "postgresql+psycopg2://u:p@h:1/d"


@pytest.mark.parametrize("url", ["sqlite:///x", "mysql://h/d", "nonsense", ""])
def test_other_urls_are_refused(url):
    with pytest.raises(errors.DatabaseRefused):
        normalized(url)


def test_a_refused_url_does_not_tell_its_password():
    with pytest.raises(errors.DatabaseRefused) as refused:
        normalized("mysql://u:secret@h/d")
    assert "secret" not in str(refused.value)


def _error(kind, text, code=None):
    error = kind(text)
    # pgcode is read-only but takes part in pickling, the one way to make an error with a code.
    error.__setstate__({"pgcode": code})
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            _error(
                psycopg2.OperationalError,
                'connection to server on socket "/x" failed: No such file or directory',
            ),
            errors.DatabaseUnavailable,
        ),
        (_error(psycopg2.OperationalError, 'FATAL:  database "x" does not exist'), errors.DatabaseRefused),
        (
            _error(psycopg2.OperationalError, 'FATAL:  password authentication failed for user "x"'),
            errors.DatabaseRefused,
        ),
        (_error(psycopg2.InterfaceError, "connection already closed"), errors.DatabaseUnavailable),
        (_error(psycopg2.OperationalError, "deadlock", errorcodes.DEADLOCK_DETECTED), errors.DatabaseBusy),
        (_error(psycopg2.OperationalError, "disk", errorcodes.DISK_FULL), errors.DatabaseFull),
        (_error(psycopg2.OperationalError, "memory", errorcodes.OUT_OF_MEMORY), errors.DatabaseFull),
        (_error(psycopg2.OperationalError, "in use", errorcodes.OBJECT_IN_USE), errors.DatabaseBusy),
        (_error(psycopg2.OperationalError, "read failed", errorcodes.IO_ERROR), errors.DatabaseFull),
        (
            _error(psycopg2.OperationalError, "broke", errorcodes.CONNECTION_FAILURE),
            errors.DatabaseUnavailable,
        ),
        (_error(psycopg2.OperationalError, "idle", "57P05"), errors.DatabaseUnavailable),
        (_error(psycopg2.OperationalError, "server closed the connection"), errors.DatabaseUnavailable),
        (
            _error(psycopg2.ProgrammingError, 'relation "x" does not exist', errorcodes.UNDEFINED_TABLE),
            errors.NotMigrated,
        ),
        (
            _error(
                psycopg2.IntegrityError,
                'no partition of relation "chunk" found for row',
                errorcodes.CHECK_VIOLATION,
            ),
            errors.PartitionMissing,
        ),
    ],
)
def test_errors_say_who_must_act(error, expected):
    meant = translate(error)
    assert type(meant) is expected
    with pytest.raises(expected) as raised, translated():
        raise error
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        _error(psycopg2.IntegrityError, "duplicate key", errorcodes.UNIQUE_VIOLATION),
        _error(psycopg2.IntegrityError, "check", errorcodes.CHECK_VIOLATION),
        # An index row too long: the same row is refused for ever, the server answers well.
        _error(psycopg2.OperationalError, "index row size", errorcodes.PROGRAM_LIMIT_EXCEEDED),
        _error(psycopg2.OperationalError, "too complex", errorcodes.STATEMENT_TOO_COMPLEX),
        ValueError("not of the database"),
    ],
)
def test_mistakes_of_ours_are_not_dressed_up(error):
    assert translate(error) is None
    with pytest.raises(type(error)), translated():
        raise error


def hooks(engine: Engine) -> list[bool]:
    """Whether there are any: of copying, and of counting waits."""
    of_engine, of_dialect = engine.dispatch, engine.dialect.dispatch
    listeners = (of_dialect.do_execute, of_engine.before_cursor_execute, of_engine.after_cursor_execute)
    return [bool(list(each)) for each in listeners]


def test_only_engines_opened_here_have_hooks():
    url = "postgresql+psycopg2://unused@localhost/nothing"
    assert hooks(open_engine(url, application="test")) == [True] * 3
    assert hooks(create_engine(url)) == [False] * 3
