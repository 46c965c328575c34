"""What the dictionary knows of one function."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, func, select

from storage.errors import UnknownFunction
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.answers.answer import extended
from storage.query.answers.function import FunctionAnswer, FunctionBuild
from storage.query.selections.times import format_time
from storage.query.stacks.function_names import FunctionRow
from storage.query.store_reading import StoreReading
from storage.schema import binary, function

MOST_LISTED = 100
_TOTAL = func.count().over().label("total")


@dataclass(frozen=True, slots=True)
class FunctionQuestion:
    """The function with this id, or the one that readers use in its place."""

    function_id: int

    def answer(self, reading: StoreReading) -> FunctionAnswer:
        """The function. Raises `UnknownFunction`, `DatabaseError`."""
        c, connection = function.c, reading.connection
        target = select(func.coalesce(c.alias_of, c.function_id)).where(c.function_id == self.function_id)
        found = connection.execute(
            _functions().where(c.function_id == target.scalar_subquery())
        ).one_or_none()
        if found is None:
            raise UnknownFunction(
                f"There is no function with the id {self.function_id}. Functions without stacks are removed, and ids are "
                "not used again."
            )
        builds = connection.execute(
            select(binary, _TOTAL)
            .where(binary.c.name == found.binary_name, found.binary_name != "")
            .order_by(binary.c.first_seen.desc(), binary.c.binary_id.desc())
            .limit(MOST_LISTED)
        ).all()
        others = connection.execute(
            _functions()
            .where(c.name == found.name, c.function_id != found.function_id, c.alias_of.is_(None))
            .order_by(c.binary_name, c.file, c.function_id)
            .limit(MOST_LISTED)
        ).all()
        return extended(
            FunctionAnswer,
            _row(found).named(),
            line=found.start_line or None,
            raw_name=found.raw_name or found.name,
            builds=tuple(
                FunctionBuild(row.key, row.path, row.status, row.reason, format_time(row.first_seen))
                for row in builds
            ),
            builds_total=builds[0].total if builds else 0,
            others=tuple(_row(row).named() for row in others),
            others_total=others[0].total if others else 0,
        )


def _functions() -> Select[Any]:
    return select(function, _TOTAL)


def _row(row: Row[Any]) -> FunctionRow:
    return FunctionRow(
        row.function_id, row.name, row.file, row.binary_name, Status(row.status), Kind(row.kind)
    )
