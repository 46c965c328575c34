"""DuckDB over sorted Parquet: weighted sums and moments in SQL, intervals by our formulas.

It gets the tables that a user of DuckDB would prepare: the functions of each stack, and each visit's samples by
function, per application and in total (`pairs`), sorted. Each question reads the visits from PostgreSQL and computes
their weights like ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np
import pyarrow as pa

from analysis import moments
from analysis.weights import weigh
from benchmarks.store.fleet import PERIOD_NS
from storage.database import snapshot
from storage.query.estimation.estimates import Estimate, estimates
from storage.query.estimation.strata import read_strata
from storage.snapshots.stack_reading import read_stacks

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    from sqlalchemy import Engine

    from analysis.weights import Weights
    from storage.query.selections.selection import Selection

_STACKS: Final = """
    CREATE TABLE stack_function AS
    SELECT stack, unnest(list_distinct(functions)) AS function, functions[-1] AS leaf FROM stacks
"""
_PAIRS: Final = """
    COPY (
        SELECT application, function, visit, sum(samples) FILTER (function = leaf) AS self, sum(samples) AS total
        FROM {facts} JOIN stack_function USING (stack) GROUP BY ALL ORDER BY application, function
    ) TO '{folder}/pairs.parquet' (COMPRESSION zstd)
"""
_ALL_PAIRS: Final = """
    COPY (
        SELECT function, visit, sum(self) AS self, sum(total) AS total
        FROM read_parquet('{folder}/pairs.parquet') GROUP BY ALL ORDER BY function
    ) TO '{folder}/all-pairs.parquet' (COMPRESSION zstd)
"""
_BY_APPLICATION: Final = """
    COPY (SELECT application, visit, sum(samples) AS samples FROM {facts} GROUP BY ALL ORDER BY application)
    TO '{folder}/by-application.parquet' (COMPRESSION zstd)
"""
_SUMS: Final = """
    SELECT {key} AS key, sum(coalesce(self, 0)) AS self, sum(total) AS total, sum(coalesce(self, 0) * weight) AS weighted
    FROM ({pairs}) JOIN w USING (visit) GROUP BY key ORDER BY weighted DESC, key
"""
_MOMENTS: Final = """
    SELECT key, g, count(*) FILTER (z > 0) AS n, sum(z) AS z, sum(z * z) AS zz, sum(z * zx) AS zx, sum(z * z * z * z) AS z4
    FROM (SELECT {key} AS key, g, coalesce({value}, 0) * weight AS z, x * weight AS zx FROM ({pairs}) JOIN w USING (visit) WHERE g >= 0)
    SEMI JOIN shown USING (key) GROUP BY key, g
"""


@dataclass(frozen=True)
class Rows:
    """Rows of a table: all keys with their exact sums, and estimates of those shown on a page."""

    self: dict[int, int]
    total: dict[int, int]
    own: dict[int, Estimate | None]
    of_total: dict[int, Estimate | None]


class DuckDb:
    """One campaign's facts; questions name applications by id."""

    def __init__(self, engine: Engine, folder: Path, campaign: int) -> None:
        """`folder` contains the files of `write_facts`."""
        self._engine, self._folder, self._campaign = engine, folder, campaign
        self._duck = duckdb.connect()
        self._facts = f"read_parquet('{folder}/facts-*.parquet')"
        self._prepare()
        self._visits = self._duck.execute(
            f"SELECT * FROM read_parquet('{folder}/visits-*.parquet') ORDER BY visit"
        ).fetchnumpy()

    def close(self) -> None:
        """Close the database."""
        self._duck.close()

    def functions(self, selection: Selection, application: int | None, shown: int) -> Rows:
        """The table of functions, self and total, with intervals of the heaviest."""
        if application is None:
            pairs = f"FROM read_parquet('{self._folder}/all-pairs.parquet')"
        else:
            pairs = f"FROM read_parquet('{self._folder}/pairs.parquet') WHERE application = {application}"
        return self._rows(selection, application, "function", pairs, shown)

    def applications(self, selection: Selection, shown: int) -> Rows:
        """The table of applications; a sample is in one row only, so self and total are equal."""
        pairs = f"SELECT application, visit, samples AS self, samples AS total FROM read_parquet('{self._folder}/by-application.parquet')"
        return self._rows(selection, None, "application", pairs, shown)

    def stacks(self, selection: Selection, application: int | None) -> dict[int, int]:
        """Sums by stack, exact and weighted: no tree, no intervals, no names."""
        self._weigh(selection, application)
        which = "" if application is None else f"WHERE application = {application}"
        found = self._duck.execute(
            f"SELECT stack, sum(samples) AS samples, sum(samples * weight) AS weighted FROM {self._facts} JOIN w USING (visit)"
            f" {which} GROUP BY stack"
        ).fetchnumpy()
        return dict(zip(found["stack"].tolist(), found["samples"].astype(np.int64).tolist(), strict=True))

    def _prepare(self) -> None:
        with self._engine.connect() as connection:
            ids, functions, lengths = read_stacks(connection, None, limit=1 << 40)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(functions, pa.int32()))
        self._duck.register("stacks", pa.table({"stack": pa.array(ids.astype(np.int32)), "functions": lists}))
        self._duck.execute(_STACKS)
        self._duck.unregister("stacks")
        for statement in (_PAIRS, _ALL_PAIRS, _BY_APPLICATION):
            self._duck.execute(statement.format(facts=self._facts, folder=self._folder))

    def _weigh(
        self, selection: Selection, application: int | None
    ) -> tuple[Weights, npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Weights, and by visit w·x and the group; registers the visits of the selection as `w`."""
        v = self._visits
        first, end = (int(at.timestamp()) // 3600 for at in (selection.start, selection.end))
        chosen = (v["hour"] >= first) & (v["hour"] < end)
        visit, hour, stratum, klass = (
            v[name][chosen].astype(np.int64) for name in ("visit", "hour", "stratum", "class")
        )
        with snapshot(self._engine) as connection:
            strata = read_strata(connection, self._campaign, selection.start, selection.end)
        assert strata is not None
        row = strata.row(stratum, hour // 24)
        weights = weigh(strata.frame(row, klass, np.ones(len(row)), np.full(len(row), 5.0)))
        weight, group = weights.weight[row, klass], weights.group[row, klass]
        self._duck.register("chosen", pa.table({"visit": visit, "weight": weight, "g": group}))
        which = "" if application is None else f"WHERE application = {application}"
        self._duck.execute(
            "CREATE OR REPLACE TEMP TABLE w AS SELECT c.*, coalesce(x, 0) AS x FROM chosen c LEFT JOIN ("
            f"SELECT visit, sum(samples) AS x FROM read_parquet('{self._folder}/by-application.parquet') {which} GROUP BY visit"
            ") USING (visit) ORDER BY visit"
        )
        x = self._duck.execute("SELECT x FROM w ORDER BY visit").fetchnumpy()["x"].astype(np.float64)
        return weights, weight * x, group

    def _rows(self, selection: Selection, application: int | None, key: str, pairs: str, shown: int) -> Rows:
        weights, zx, group = self._weigh(selection, application)
        sums = self._duck.execute(_SUMS.format(key=key, pairs=pairs)).fetchnumpy()
        keys = sums["key"].tolist()
        page = np.sort(sums["key"][:shown])
        self._duck.register("shown", pa.table({"key": page}))
        own, of_total = (
            self._estimates(page, weights, zx, group, _MOMENTS.format(key=key, value=value, pairs=pairs))
            for value in ("self", "total")
        )
        return Rows(
            dict(zip(keys, sums["self"].astype(np.int64).tolist(), strict=True)),
            dict(zip(keys, sums["total"].astype(np.int64).tolist(), strict=True)),
            own,
            of_total,
        )

    def _estimates(
        self,
        page: npt.NDArray[np.int64],
        weights: Weights,
        zx: npt.NDArray[np.float64],
        group: npt.NDArray[np.int64],
        query: str,
    ) -> dict[int, Estimate | None]:
        rows = self._duck.execute(query).fetchnumpy()
        groups, counted = len(weights.visits), group >= 0
        p = float(PERIOD_NS)
        found = moments.from_sums(
            np.ones(groups), np.arange(groups), weights,
            x=np.bincount(group[counted], zx[counted] * p, groups).astype(np.float64), xx=np.bincount(group[counted], (zx[counted] * p) ** 2, groups).astype(np.float64),
            cell=rows["g"].astype(np.int64), row=np.searchsorted(page, rows["key"]),
            y=rows["z"] * p, yy=rows["zz"] * p**2, xy=rows["zx"] * p**2, yyyy=rows["z4"] * p**4,
            visits=rows["n"].astype(np.float64), rows=len(page),
        )  # fmt: skip
        return dict(zip(page.tolist(), estimates(found, len(page)), strict=True))
