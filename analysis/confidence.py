"""The confidence level of every interval, and the probabilities and quantiles that follow from it."""

LEVEL = 0.95
"""Share of intervals that contain the true value, 0…1. Every interval and every test uses it."""
ERROR = round(1 - LEVEL, 12)
"""Share of intervals that miss the true value, and of marked differences that are none."""


def tails(level: float | None = None) -> tuple[float, float]:
    """Probabilities below the ends of a two-sided interval, such as (0.025, 0.975); `level` defaults to `LEVEL`."""
    level = LEVEL if level is None else level
    return round((1 - level) / 2, 12), round((1 + level) / 2, 12)


def normal(level: float | None = None) -> float:
    """Half the width of a two-sided interval in standard errors, by the normal distribution: 1.96 at 0.95."""
    from scipy import special  # noqa: PLC0415  # clients read LEVEL, and run without SciPy

    return float(special.ndtri(tails(level)[1]))


def student(degrees: float, level: float | None = None) -> float:
    """Half the width of a two-sided interval in standard errors, by Student's t with `degrees` degrees of freedom."""
    from scipy import special  # noqa: PLC0415

    return float(special.stdtrit(degrees, tails(level)[1]))
