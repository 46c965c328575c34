"""Stacks out of the lake are those of PostgreSQL, and so are the files that hold them."""

import pytest

from services.api.formats import collapsed, pprof
from services.api.formats.stack_profile import Value, profile_of
from storage.query.shapes.stack_samples import StackSamplesQuestion
from tests.small_lake import WHOLE, Drawn, Store, minutes

pytestmark = pytest.mark.integration


@pytest.mark.slow
def test_the_lake_has_the_same_stacks(store: Store) -> None:
    store.ingest(
        [
            Drawn(119 * n, groups=(("nginx", "red", (n, 2, 1, 0, 0, 3)), ("db", "", (1, 0, 0, n, 2, 0))))
            for n in range(1, 36)
        ]
    )
    store.export()
    selection = minutes(0, WHOLE, focus="work")
    store.check(StackSamplesQuestion(selection, ("application", "colour"), estimated=True))
    question = StackSamplesQuestion(minutes(0, WHOLE), ("application",), most=3)
    answers = store.postgres.ask(question), store.duckdb.ask(question).answer
    assert answers[0].table.remainder.stacks > 0
    one, other = (profile_of(question.selection, answer, source="") for answer in answers)
    assert b"".join(pprof.plain(one)) == b"".join(pprof.plain(other))
    written = [b"".join(collapsed.lines(of, Value.ESTIMATE)) for of in (one, other)]
    assert written[0] == written[1] != b""
