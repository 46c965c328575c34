"""Text values of profile labels, which external programs group by."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, select

from storage.schema import DIMENSIONS, dim_value, label_set
from storage.snapshots.copy_binary import among

_MOST = 100_000
"""Maximum cached values."""


class LabelTexts:
    """Label texts by id, loaded on demand and cleared when full; one per stream."""

    def __init__(self) -> None:
        self._values: dict[int, str] = {}
        self._sets: dict[int, dict[str, str]] = {}

    def load(self, connection: Connection, values: Iterable[int], sets: Iterable[int]) -> None:
        """Load these ids of values and label sets."""
        if len(self._values) + len(self._sets) > _MOST:
            self._values, self._sets = {}, {}
        if missing := sorted(set(values) - self._values.keys()):
            found = select(dim_value.c.value_id, dim_value.c.value).where(
                among(dim_value.c.value_id, missing)
            )
            self._values |= {row.value_id: row.value for row in connection.execute(found)}
        if missing := sorted(set(sets) - self._sets.keys()):
            rows = select(label_set.c.label_set_id, label_set.c.labels).where(
                among(label_set.c.label_set_id, missing)
            )
            self._sets |= {row.label_set_id: row.labels for row in connection.execute(rows)}

    def of(self, values: Sequence[int], label_set_id: int) -> dict[str, str]:
        """The non-empty labels of a profile, sorted by name; `values` in the order of `DIMENSIONS`."""
        texts = (self._values.get(id_, "") for id_ in values)
        labels = {**self._sets.get(label_set_id, {}), **dict(zip(DIMENSIONS, texts, strict=True))}
        return {name: labels[name] for name in sorted(labels) if labels[name]}
