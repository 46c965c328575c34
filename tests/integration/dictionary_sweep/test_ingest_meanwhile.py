"""A capture that is ingested during a sweep has all its rows."""

import random
import threading
from uuid import UUID

import pytest
from sqlalchemy import Engine, func, select

from storage.database import open_engine
from storage.dictionary_sweep import delete
from storage.dictionary_sweep.seal_stacks import seal_stacks
from storage.dictionary_sweep.sweep import sweep
from storage.ingest.interning import Interner
from storage.schema import (
    dictionary_touched,
)
from tests.ingested import archived
from tests.integration.dictionary_sweep.ingestions import NEXT_DAY, broken, ingested, is_as_ingested, vanish

pytestmark = pytest.mark.integration


@pytest.mark.usefixtures("small_blocks")
class TestIngestionMeanwhile:
    @pytest.mark.slow
    @pytest.mark.parametrize(("remembers", "sealed"), [(True, False), (False, False), (True, True)])
    def test_of_vanishing_stacks_at_every_moment_of_a_sweep(  # noqa: PLR0917 - fixtures
        self,
        engine: Engine,
        remembers: bool,
        sealed: bool,
        interner: Interner,
        two_days: tuple[UUID, UUID],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Whether the ingester looked them up before the sweep or does now, they are there afterwards."""
        monkeypatch.setattr(delete, "BATCH", 4)
        visits = archived(engine, 40, drawn_at=NEXT_DAY)
        moment, wanted = 0, 0

        def ingest_now() -> bool:
            nonlocal moment
            moment += 1
            if moment == wanted:
                ingested(engine, interner if remembers else Interner(engine), visits[wanted], 1)
            return False

        for wanted in range(1, len(visits)):
            moment = 0
            if sealed:
                seal_stacks(engine, least=1)
            assert sweep(engine, stopping=ingest_now) is not None
            if moment < wanted:
                break
            assert broken(engine) == {}
            assert is_as_ingested(engine, visits[wanted], 1)
            vanish(engine, visits[wanted])
        assert is_as_ingested(engine, two_days[1], 2)
        assert moment < wanted, "later moments were never tried"
        assert wanted > 10
        with engine.connect() as connection:
            assert connection.scalar(select(func.count()).select_from(dictionary_touched)) == 0

    @pytest.mark.slow
    def test_of_many_at_once_while_sweeps_follow_on_each_other(
        self, engine: Engine, database_url: str
    ) -> None:
        """Visits are reprocessed and again with other stacks, so that all of them vanish and come back."""
        crews, seeds, generations, between_sweeps = 3, 4, 12, 6
        visits = [archived(engine, 2) for _ in range(crews)]
        last: dict[UUID, int] = {}
        errors: list[BaseException] = []
        progress = threading.Semaphore(0)
        """An ingestion each: sweeps without a pause would begin epochs faster than anyone can ingest in one."""

        def crew(number: int) -> None:
            rng = random.Random(number)
            own = open_engine(database_url, application="ingester")
            interner = Interner(own)
            try:
                for generation in range(1, generations + 1):
                    for visit_id in visits[number]:
                        last[visit_id] = rng.randrange(1, seeds + 1)
                        ingested(own, interner, visit_id, last[visit_id], generation)
                        progress.release()
            except BaseException as error:  # noqa: BLE001 - told to the test below
                errors.append(error)
            finally:
                own.dispose()

        threads = [threading.Thread(target=crew, args=(n,)) for n in range(crews)]
        for thread in threads:
            thread.start()
        freed, ingestions = 0, crews * 2 * generations
        while ingestions and not errors:
            ingestions -= progress.acquire(timeout=30)
            if ingestions % between_sweeps == 0:
                done = sweep(engine)
                assert done is not None
                freed += done.freed["stack"]
        for thread in threads:
            thread.join(60)
        assert errors == []
        assert broken(engine) == {}
        assert all(is_as_ingested(engine, visit_id, seed) for visit_id, seed in last.items())
        assert freed > 0
