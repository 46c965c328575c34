"""GIVEN rows of a table WHEN they are written THEN files of the right size hold them, in their order."""

from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from storage.segments.location import Lake, folder_of
from storage.segments.writer import TableWriter

DAY = date(2026, 11, 18)
STAMP = "20261121T010203000045Z-0a1b2c3d"


@pytest.mark.parametrize(
    ("batches", "sizes"), [([], [0]), ([3], [3]), ([4, 4, 4], [8, 4]), ([5, 0, 5, 1], [5, 5, 1])]
)
def test_a_file_is_full_after_the_batch_that_fills_it(tmp_path: Path, batches: list[int], sizes: list[int]):
    lake = Lake(str(tmp_path))
    writer = TableWriter(lake, "machines", DAY, STAMP, rows_a_file=5)
    done = 0
    for size in batches:
        writer.add([range(done, done + size), [f"m{n}" for n in range(done, done + size)]])
        done += size
    found = writer.close()
    assert [file.rows for file in found] == [size for size in sizes if size or len(sizes) == 1]
    folder = tmp_path / folder_of("machines", DAY)
    assert sorted(path.name for path in folder.iterdir()) == [file.name for file in found]
    tables = [pq.read_table(folder / file.name, partitioning=None) for file in found]
    assert [n for table in tables for n in table["machine_id"].to_pylist()] == list(range(done))
    assert [(folder / file.name).stat().st_size for file in found] == [file.bytes for file in found]
    assert tables[0].schema.names == ["machine_id", "name"], "also of a table without rows"
