"""A month of few visits in a separate database: the store of a small installation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from benchmarks.store.bulk import Loader
from benchmarks.store.calendar import MONTH_DAYS
from benchmarks.store.compact_phase import tables
from benchmarks.store.database import another_database, bytes_by_table, growth
from benchmarks.store.load_phase import parts, rollup
from benchmarks.store.synthetic_store import make
from storage import migrate
from storage.database import open_engine
from storage.dictionary_sweep.seal_stacks import seal_stacks
from storage.rollup.compact import compact

if TYPE_CHECKING:
    from benchmarks.store.run import Run

_FACTS_A_STACK: Final = 8
"""As in a month of 20 million facts with 2.4 million known stacks: in sparse stores few stacks recur often."""
_HOURS: Final = 24 * MONTH_DAYS


def keep_sparse(run: Run) -> None:
    """Load, merge, roll up and compact the month, and measure its bytes."""
    size, calendar = run.size, run.loaded.calendar
    url = another_database(run.server, "sparse")
    migrate.upgrade(url)
    engine = open_engine(url, application="bench")
    with engine.connect() as connection:
        empty = bytes_by_table(connection)
    run.say(f"sparse: {size.sparse:,} facts over {MONTH_DAYS} days")
    made = make(
        url, stacks=size.sparse // _FACTS_A_STACK, new=0, machines=size.machines, days=calendar.days,
        deep_every=size.deep_every,
    )  # fmt: skip
    loader = Loader(url, made.ids)
    facts = visits = 0
    for part in parts(made.visits(size.sparse)):
        timed = []
        for visit in part:
            hour = calendar.end_hour - _HOURS + min(facts * _HOURS // size.sparse, _HOURS - 1)
            timed.append(replace(visit, hour=hour))
            facts += len(visit.stacks)
        loader.load(timed)
        rollup(url)
        visits += len(part)
    loader.close()
    compact(engine, calendar.closed_at)
    seal_stacks(engine)
    with engine.connect() as connection:
        found = growth(bytes_by_table(connection), empty)
    engine.dispose()
    run.add("facts_sparse", facts, f"{visits:,} visits in {MONTH_DAYS} days")
    run.add("bytes_per_fact_sparse", sum(found.values()) / facts, "as bytes_per_fact")
    tables(run, "bytes_per_fact_sparse_", found, facts)
