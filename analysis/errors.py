"""What callers of this package can do wrong.

AnalysisError(ValueError)
└── BadShape        developer: the arrays given do not belong together
"""


class AnalysisError(ValueError):
    """Every error that this package raises on purpose; its text is one sentence."""


class BadShape(AnalysisError):
    """Arrays that describe the same things have different lengths, or name things that are not there."""
