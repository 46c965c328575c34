"""Random questions: an application drawn by its traffic, a window of whole hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.store.synthetic_store import VERSIONS
from benchmarks.store.vocabulary import APPLICATIONS
from storage.query.selections.selection import Selection, parse_selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_WEEK: Final = 7 * 24
_MONTH: Final = 28 * 24
_SCALED: Final = 7 / 8
"""Share of the data's hours in a window, if they are fewer than a week or a month, so that its begin can vary."""


@dataclass(frozen=True)
class Extent:
    """Range of windows: hours since 1970, the end exclusive."""

    begin: int
    end: int

    @property
    def week(self) -> int:
        """Hours of a window that stands for a week."""
        return self._window(_WEEK)

    @property
    def month(self) -> int:
        """Hours of a window that stands for 28 days."""
        return self._window(_MONTH)

    def says(self) -> str:
        """The windows in words."""
        return "; ".join(
            f"a {name} is {hours} h"
            + (f", 7/8 of the {self.end - self.begin} h there are" if hours < whole else "")
            for name, hours, whole in (("week", self.week, _WEEK), ("month", self.month, _MONTH))
        )

    def _window(self, hours: int) -> int:
        here = self.end - self.begin
        return hours if here >= hours else max(1, round(here * _SCALED))


class Draws:
    """Draws random selections of the data; deterministic by seed."""

    def __init__(
        self, popularity: npt.NDArray[np.float64], extent: Extent, seed: int, *, until_end: bool = False
    ) -> None:
        """`popularity`: share of the process groups by application. `until_end`: all windows end with the data."""
        self._popular = np.cumsum(popularity)
        self._extent, self._until_end = extent, until_end
        self._rng = np.random.default_rng(seed)

    def application(self) -> str:
        """One of the applications, by its traffic."""
        number = int(np.searchsorted(self._popular, self._rng.random()))
        return f"app{min(number, APPLICATIONS - 1):03d}"

    def week(self, campaign: str = "fleet", **matched: str) -> Selection:
        """A week of the data that begins with any hour."""
        return self._window(self._extent.week, campaign, matched)

    def month(self, campaign: str = "fleet", **matched: str) -> Selection:
        """28 days of the data that begin with any hour."""
        return self._window(self._extent.month, campaign, matched)

    def everything(self) -> Selection:
        """All data of the standing campaign."""
        return self._window(self._extent.end - self._extent.begin, "fleet", {})

    def one_of(self, some: Sequence[int]) -> int:
        """A random element."""
        return some[int(self._rng.integers(len(some)))]

    def version(self) -> str:
        """A random version of a program."""
        return f"r{self._rng.integers(VERSIONS)}"

    def _window(self, hours: int, campaign: str, matched: dict[str, str]) -> Selection:
        last = self._extent.end - hours
        first = last if self._until_end else int(self._rng.integers(self._extent.begin, last + 1))
        select = ",".join(f'{label}="{value}"' for label, value in matched.items())
        start, end = (datetime.fromtimestamp(3600 * hour, UTC).isoformat() for hour in (first, first + hours))
        return parse_selection(start=start, end=end, select="{" + select + "}", campaign=campaign)
