"""Two days of visits, the earlier of which is gone, and sweeps in small steps."""

from uuid import UUID

import pytest
from sqlalchemy import Engine

from storage import stack_blocks
from storage.dictionary_sweep import delete_stacks, epochs
from storage.ingest.interning import Interner
from tests.ingested import archived
from tests.integration.dictionary_sweep.ingestions import NEXT_DAY, drop, ingested


@pytest.fixture
def interner(engine: Engine) -> Interner:
    return Interner(engine)


@pytest.fixture
def two_days(engine: Engine, interner: Interner) -> tuple[UUID, UUID]:
    """Seed 1 on a day that is dropped, seed 2 on the next."""
    [old] = archived(engine)
    [new] = archived(engine, drawn_at=NEXT_DAY)
    ingested(engine, interner, old, 1)
    ingested(engine, interner, new, 2)
    drop(engine, NEXT_DAY)
    return old, new


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of few stacks, each a transaction of its own."""
    monkeypatch.setattr(delete_stacks, "_BLOCKS", 1)
    monkeypatch.setattr(stack_blocks, "SPAN", 16)
    monkeypatch.setattr(epochs, "SPAN", 16)
