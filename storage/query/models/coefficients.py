"""The overlap coefficient of the applications on a platform: calibrated, mixed, or given (DIGEST A1)."""

from collections.abc import Sequence

from analysis.smt import overlap
from storage import calibrations
from storage.arrays import Float
from storage.calibrations import Calibration


class Coefficients:
    """Calibrated coefficients, and a default for platforms without one."""

    def __init__(self, known: Sequence[Calibration], otherwise: float | None) -> None:
        """`otherwise` is the default; None: platforms without a calibrated coefficient have none."""
        self._known = known
        self._otherwise = otherwise
        self._found: dict[tuple[str, str], Calibration | None] = {}

    @property
    def used(self) -> tuple[Calibration, ...]:
        """Calibrations that were looked up and found."""
        different = {(c.platform, c.workload): c for c in self._found.values() if c is not None}
        return tuple(different[key] for key in sorted(different))

    def of(self, platform: str, applications: Sequence[str], seconds: Float) -> float | None:
        """The coefficient of a mix; None: that of one application is unknown."""
        values = [self._one(platform, application) for application in applications or ("",)]
        if any(value is None for value in values):
            return None
        given = [value for value in values if value is not None]
        return given[0] if len(given) == 1 or not seconds.sum() else overlap.mixed(given, seconds)

    def _one(self, platform: str, application: str) -> float | None:
        key = (platform, application)
        if key not in self._found:
            self._found[key] = calibrations.of_platform(self._known, platform, application)
        found = self._found[key]
        return self._otherwise if found is None else found.value
