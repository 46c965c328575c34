"""Dictionary rows that nothing uses go, and no other."""

from uuid import UUID

import pytest
from sqlalchemy import Engine, func, insert, select, update

from storage.dictionary_sweep.sweep import Swept, sweep
from storage.ingest.interning import Interner
from storage.schema import (
    binary,
    chunk,
    debug_file,
    dim_value,
    function,
    label_set,
    line_chunk,
    profile,
)
from tests.ingested import archived
from tests.integration.dictionary_sweep.ingestions import (
    DICTIONARIES,
    NEXT_DAY,
    broken,
    capture_of,
    ingested,
    is_as_ingested,
    key_of,
    rows,
)
from tests.synthetic_captures import expected_stacks

pytestmark = pytest.mark.integration


class TestWhatGoes:
    def test_all_that_only_dropped_days_used_and_nothing_else(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        before = rows(engine)
        swept = sweep(engine)
        assert swept is not None
        after = rows(engine)
        assert dict(swept.freed) == {name: before[name] - after[name] for name in DICTIONARIES}
        assert broken(engine) == {}
        assert is_as_ingested(engine, two_days[1], 2)
        with engine.connect() as connection:
            names = set(connection.scalars(select(function.c.name)))
            used = {name for _, names in expected_stacks(*capture_of(two_days[1], 2)) for name in names}
            assert used <= names
            # Lines name functions too: those of frames in no stack are there for nothing else.
            assert not any(name.startswith("s1") for name in names)
            values = set(connection.scalars(select(dim_value.c.value)))
            assert "app2" in values
            assert "app1" not in values
            assert [labels["comm"] for labels in connection.scalars(select(label_set.c.labels))] == ["comm2"]
        again = sweep(engine)
        assert again is not None
        assert sum(again.freed.values()) == 0

    def test_the_sweep_says_how_much_it_read(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        swept = sweep(engine)
        assert isinstance(swept, Swept)
        with engine.connect() as connection:
            facts = connection.scalar(select(func.sum(profile.c.facts)))
            lines = connection.scalar(select(func.sum(line_chunk.c.facts)))
        assert facts
        assert lines
        assert (swept.facts, swept.corrupt) == (facts + lines, 0)

    def test_a_chunk_nobody_can_read_keeps_nothing_and_stops_nothing(
        self, engine: Engine, interner: Interner, two_days: tuple[UUID, UUID]
    ) -> None:
        [other] = archived(engine, drawn_at=NEXT_DAY)
        ingested(engine, interner, other, 3)
        with engine.begin() as connection:
            mine = select(profile.c.profile_id).where(profile.c.visit_id == other)
            connection.execute(update(chunk).where(chunk.c.profile_id.in_(mine)).values(data=b"\x02rot"))
        swept = sweep(engine)
        assert swept is not None
        assert swept.corrupt == 1
        assert is_as_ingested(engine, two_days[1], 2)

    def test_a_binary_stays_while_a_capture_a_file_or_a_function_speaks_of_it(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        with engine.begin() as connection:
            for key in ("nothing", "uploaded"):
                connection.execute(insert(binary).values(key=key, name=key, path=key, kind="file"))
            connection.execute(
                insert(debug_file).values(
                    binary_key="uploaded",
                    kind="executable",
                    quality=3,
                    bytes=1,
                    raw_bytes=1,
                    sha256=b"",
                    origin="",
                )
            )
        sweep(engine)
        with engine.connect() as connection:
            # The nameless function of seed 2 may be in none of its stacks.
            nameless_ones = set(connection.scalars(select(function.c.binary_key)))
            assert set(connection.scalars(select(binary.c.key))) == (
                {"uploaded"} | (nameless_ones & {key_of(2)})
            )
