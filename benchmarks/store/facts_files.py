"""The second campaign's facts as Parquet files for the peers, written while the history is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.store.bulk import BulkVisit

_VISITS_A_PART: Final = 1_000_000
_CLASSES: Final = 4


def write_facts(folder: Path, part: int, visits: Sequence[BulkVisit]) -> None:
    """Two files of some visits: `facts-N`, sorted by application and hour, and `visits-N`."""
    folder.mkdir(exist_ok=True)
    numbers = part * _VISITS_A_PART + np.arange(len(visits), dtype=np.int32)
    facts = [len(visit.stacks) for visit in visits]
    columns = {
        "application": np.concatenate([np.repeat(v.applications, v.sizes) for v in visits]).astype(np.int32),
        "hour": np.repeat(np.array([v.hour for v in visits], np.int32), facts),
        "visit": np.repeat(numbers, facts),
        "stack": np.concatenate([v.stacks for v in visits]),
        "samples": np.concatenate([v.counts for v in visits]),
    }
    order = np.lexsort((columns["hour"], columns["application"]))
    _write(folder / f"facts-{part}.parquet", {name: column[order] for name, column in columns.items()})
    machine = np.array([v.machine for v in visits])
    _write(
        folder / f"visits-{part}.parquet",
        {
            "visit": numbers,
            "hour": np.array([v.hour for v in visits], np.int32),
            "stratum": np.array([v.stratum_id for v in visits], np.int32),
            "machine": np.array([v.machine_id for v in visits], np.int32),
            # The machine's class as in `database.archived`.
            "class": (1 + np.minimum(machine % 10 * _CLASSES // 10, _CLASSES - 1)).astype(np.int8),
        },
    )


def _write(path: Path, columns: dict[str, np.ndarray]) -> None:
    pq.write_table(pa.table(columns), path, compression="zstd")
