"""For which time the engine is asked, and what of its answers is compared."""

from datetime import UTC, datetime

from sqlalchemy import Engine

from storage.database import snapshot
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.stacks.build import build
from storage.query.stacks.files import StackFiles

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PERIOD = 10_000_000


def around_noon(**more) -> Selection:
    return parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z", **more)


def until_built(queries: QueryEngine) -> None:
    with queries._building:
        assert queries._source.stacks.overlay_nodes == 0


def rebuild(engine: Engine, queries: QueryEngine, files: StackFiles) -> None:
    """Have the queries map a file of what the store has now."""
    with snapshot(engine) as connection:
        held = files.open(connection)
    build(engine, files, "" if held is None else held.token)
    queries.warm()
    until_built(queries)


def shown(answer) -> dict[tuple[str, ...], tuple[int, int]]:
    return {
        tuple(v for k, v in r.key.items() if k not in {"status", "kind"}): (r.self, r.total)
        for r in answer.rows
    }
