"""Random questions: an application drawn by its traffic, a window that begins and ends with an hour."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.store import history
from benchmarks.store.vocabulary import APPLICATIONS
from storage.query.selections.selection import Selection, parse_selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

WEEK: Final = 7 * 24
MONTH: Final = 28 * 24
_NODES: Final = 20_000
"""What a browser asks for."""


class Draws:
    """Draws selections of the history; deterministic for its seed."""

    def __init__(self, popularity: npt.NDArray[np.float64], seed: int) -> None:
        """`popularity`: share of each application in the fleet's process groups."""
        self._popular = np.cumsum(popularity)
        self._rng = np.random.default_rng(seed)

    def application(self) -> str:
        """One of the applications, by its traffic."""
        number = int(np.searchsorted(self._popular, self._rng.random()))
        return f"app{min(number, APPLICATIONS - 1):03d}"

    def week(self, campaign: str = "fleet", **matched: str) -> Selection:
        """Seven days of the history that begin with any hour."""
        return self._window(WEEK, campaign, matched)

    def month(self, campaign: str = "fleet", **matched: str) -> Selection:
        """28 days of the history that begin with any hour: its 30 days have 49 such."""
        return self._window(MONTH, campaign, matched)

    def one_of(self, some: Sequence[int]) -> int:
        """One of these."""
        return some[int(self._rng.integers(len(some)))]

    def version(self) -> str:
        """One of the versions that the history's programs have."""
        return f"r{self._rng.integers(history.VERSIONS)}"

    def _window(self, hours: int, campaign: str, matched: dict[str, str]) -> Selection:
        first = history.BEGIN + int(self._rng.integers(history.HOURS - hours + 1))
        select = ",".join(f'{label}="{value}"' for label, value in matched.items())
        start, end = (datetime.fromtimestamp(3600 * hour, UTC).isoformat() for hour in (first, first + hours))
        return parse_selection(start=start, end=end, select="{" + select + "}", campaign=campaign)
