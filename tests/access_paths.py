"""Access paths that a test chooses: made stores are too small for merged cells to save anything."""

from collections.abc import Iterator
from contextlib import contextmanager

from storage.query.access_path import Access, Costs, Planner
from storage.query.query_engine import QueryEngine

FREE = Costs(sums=0, some_functions=0, some_functions_of_all=0, stacks=0, stacks_of_all=0, few_visits=0)
BY_CELLS = Planner(costs=FREE)
"""Cells wherever they can tell."""
BY_STACKS = Planner(frozenset({Access.STACK_CELLS, Access.VISITS}), FREE)
BY_VISITS = Planner(frozenset({Access.VISITS}))


@contextmanager
def planned(queries: QueryEngine, planner: Planner) -> Iterator[None]:
    """Questions inside are read as this planner says."""
    before, queries.planner = queries.planner, planner
    try:
        yield
    finally:
        queries.planner = before
