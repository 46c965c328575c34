"""Size of the merged history, daily rollups and compaction, and the size after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from benchmarks.store.cost import Cost
from benchmarks.store.database import bytes_by_table, growth
from benchmarks.store.load_phase import MICRO
from storage.dictionary_sweep.seal_stacks import seal_stacks
from storage.rollup.compact import compact
from storage.rollup.daily import roll_up_days

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.store.run import Run

DICTIONARIES: Final = ("stack", "stack_sealed", "stack_block", "function")
_SMALL: Final = 0.01
"""Bytes per fact; smaller tables are counted but not listed."""


def weigh_merged(run: Run) -> None:
    """Measure bytes before the history's last day ends."""
    facts, merged = run.loaded.facts, grown(run)
    run.add("bytes_per_fact_merged", sum(merged.values()) / facts, "while its day goes on")
    tables(run, "bytes_per_fact_merged_", merged, facts)


def fold_days(run: Run) -> None:
    """Roll up days as the collector does when they end, and measure bytes."""
    facts = run.loaded.facts
    run.say(f"roll_up_days: {facts:,} facts")
    _step(run, "roll_up_days", lambda: roll_up_days(run.engine, run.loaded.calendar.closed_at))
    run.add("bytes_per_fact_folded", sum(grown(run).values()) / facts, "with cells of whole days")


def compact_days(run: Run) -> None:
    """Compact as the collector does after two days, and measure the final bytes per fact."""
    facts = run.loaded.facts
    run.say(f"compact: {facts:,} facts")
    _step(run, "compact", lambda: compact(run.engine, run.loaded.calendar.closed_at))
    run.say("seal: the stacks' hash table")
    _step(run, "seal", lambda: seal_stacks(run.engine))
    with run.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    closed = grown(run)
    with run.engine.connect() as connection:
        stacks = connection.scalar(text("SELECT sum(stacks) FROM stack_block")) or 0
        profiles, median = connection.execute(
            text("SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY facts) FROM profile")
        ).one()
    run.add("facts", facts)
    run.add(
        "bytes_per_fact",
        sum(closed.values()) / facts,
        f"every table, index and TOAST, merged, folded and compacted; {run.size.hours} hours of history",
    )
    without = sum(size for name, size in closed.items() if name not in DICTIONARIES)
    run.add("bytes_per_fact_without_stacks", without / facts)
    tables(run, "bytes_per_fact_", closed, facts)
    run.add("bytes_per_stack", sum(closed.get(name, 0) for name in DICTIONARIES[:3]) / stacks)
    run.add("stacks", stacks)
    run.add("profiles", profiles)
    run.add("median_facts_per_profile", float(median))


def grown(run: Run) -> dict[str, int]:
    """Bytes by table that the dense store has gained since it was empty."""
    with run.engine.connect() as connection:
        return growth(bytes_by_table(connection), run.loaded.empty)


def tables(run: Run, prefix: str, sizes: Mapping[str, int], facts: int) -> None:
    """Add a figure for every significant table."""
    for name, size in sorted(sizes.items(), key=lambda each: -each[1]):
        if size >= _SMALL * facts:
            run.add(f"{prefix}{name}", size / facts)


def _step(run: Run, name: str, do: Callable[[], object]) -> None:
    cost, facts = Cost(), run.loaded.facts
    with cost.of(run.server):
        do()
    run.add(f"{name}_facts_per_s", facts / cost.wall_s)
    run.add(f"{name}_cpu_us_per_fact", cost.cpu_s / facts * MICRO)
    run.add(f"{name}_server_cpu_us_per_fact", cost.server_cpu_s / facts * MICRO)
