"""The engine that answers a command's queries: PostgreSQL, or DuckDB over the lake."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TypeVar

from services.configuration.lake_settings import limits_of, needed_lake, older_days
from services.configuration.settings import Settings
from services.queries.engine_choice import EngineChoice
from services.queries.local_queries import Json, Queries, postgres
from storage.query.reading import Question
from storage.segments.lake_engine import LakeEngine
from storage.segments.open_days import engine_of

_Answer = TypeVar("_Answer")
_SHOWN = 5


class LakeBackend:
    """Queries the lake and records which days were missing."""

    def __init__(self, engine: LakeEngine) -> None:
        self._engine = engine
        self.days: tuple[date, ...] = ()
        self.missing: tuple[date, ...] = ()
        self.reach: tuple[date, date] | None = None

    def ask(self, question: Question[_Answer]) -> _Answer:
        """The question's answer. Raises `BadSelection`, `UnknownCampaign`, `LakeError`."""
        found = self._engine.ask(question)
        self.days, self.missing, self.reach = found.days, found.missing, (found.first, found.last)
        return found.answer

    @property
    def document(self) -> Json:
        """The days used and missing, for programs."""
        return {"days": list(map(str, self.days)), "missing": list(map(str, self.missing))}

    @property
    def remark(self) -> str:
        """A note about coverage that belongs to the answer, a sentence."""
        assert self.reach is not None, "asked before"
        remark = f"Source: the lake, which contains {self.reach[0]} to {self.reach[1]}; {len(self.days)} of its days are used."
        if self.missing:
            more = f" and {len(self.missing) - _SHOWN} more" if len(self.missing) > _SHOWN else ""
            days = ", ".join(map(str, self.missing[:_SHOWN]))
            remark += f" Missing days, which are not covered: {days}{more}."
        return remark


@contextmanager
def open_backend(settings: Settings, by: EngineChoice) -> Iterator[Queries]:
    """The chosen engine, open inside the context. Raises SettingsProblem if it is not configured."""
    if by is EngineChoice.DUCKDB:
        lake = LakeEngine(needed_lake(settings), limits_of(settings), engine_of(settings.segments_engine))
        try:
            yield LakeBackend(lake)
        finally:
            lake.close()
        return
    with postgres(settings.needed_database_url(), older_days(settings)) as queries:
        yield queries
