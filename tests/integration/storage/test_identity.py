"""GIVEN a database WHEN it is asked who it is THEN it says the same until it is restored or copied."""

import pytest
from sqlalchemy import Engine, update

from storage import identity
from storage.schema import database_identity

pytestmark = pytest.mark.integration


def known(engine: Engine) -> identity.DatabaseIdentity:
    with engine.connect() as connection:
        return identity.known(connection)


def test_a_new_database_gets_an_identity_and_keeps_it(engine: Engine):
    assert known(engine) == identity.DatabaseIdentity(None, frozenset())
    given = identity.ensure(engine)
    assert identity.ensure(engine) == given
    assert known(engine) == identity.DatabaseIdentity(given, frozenset())


def test_a_restored_one_gets_another_and_knows_the_former(engine: Engine):
    former = identity.ensure(engine)
    with engine.begin() as connection:
        fresh = identity.renew(connection)
    assert fresh != former
    assert known(engine) == identity.DatabaseIdentity(fresh, frozenset({former}))


def test_one_that_was_copied_by_other_means_notices_it(engine: Engine):
    former = identity.ensure(engine)
    with engine.begin() as connection:
        connection.execute(update(database_identity).values(server="elsewhere/1"))
    assert known(engine) == identity.DatabaseIdentity(None, frozenset({former}))
    assert identity.ensure(engine) != former
