"""Comparison of figures of answers with true values."""

from storage.query.answers.figures import Figure


def holds(figure: Figure, true: float) -> bool:
    """Whether the figure's interval has the true value; an end that is None is open."""
    return (figure.lo is None or figure.lo <= true) and (figure.hi is None or true <= figure.hi)
