"""Which ids are in use: one byte for every id a dictionary ever gave."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


class Marks:
    """Marks of the ids up to the highest there was when marking began; later ones are never in question."""

    def __init__(self, highest: Mapping[str, int]) -> None:
        self.highest = dict(highest)
        self._used = {name: np.zeros(high + 1, np.bool_) for name, high in highest.items()}

    def use(self, dictionary: str, ids: Int64s) -> None:
        """Mark these; 0 and below stand for no id."""
        used = self._used[dictionary]
        if len(ids) and (int(ids.max()) >= len(used) or int(ids.min()) < 0):
            ids = ids[(ids < len(used)) & (ids > 0)]
        used[ids] = True

    def unused(self, dictionary: str, ids: Int64s) -> Int64s:
        """Those of the ids, none above the highest, that are not marked."""
        return ids[~self._used[dictionary][ids]]
