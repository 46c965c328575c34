"""The set of used ids: one byte for every id that a dictionary has assigned."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


class Marks:
    """Marks of the ids up to the highest one when marking began; later ids are never candidates."""

    def __init__(self, highest: Mapping[str, int]) -> None:
        self.highest = dict(highest)
        self._used = {name: np.zeros(high + 1, np.bool_) for name, high in highest.items()}

    def use(self, dictionary: str, ids: Int64s) -> None:
        """Mark these ids; 0 and below mean no id."""
        used = self._used[dictionary]
        if len(ids) and (int(ids.max()) >= len(used) or int(ids.min()) < 0):
            ids = ids[(ids < len(used)) & (ids > 0)]
        used[ids] = True

    def unused(self, dictionary: str, ids: Int64s) -> Int64s:
        """The unmarked ids; none may be above the highest."""
        return ids[~self._used[dictionary][ids]]
