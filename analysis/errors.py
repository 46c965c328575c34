"""Errors of this package: misuse by callers, and data without an answer.

AnalysisError(ValueError)
├── BadShape               developer: the given arrays do not belong together
└── NotEstimable           user: the data cannot answer; `reason` identifies the class for programs
    ├── InsufficientData   collect more: fewer observations than the model needs
    ├── NotANumber         fix the source: a value is missing, NaN, infinite or out of range
    ├── Constant           collect data that varies: a model cannot learn from constant data
    ├── Contradictory      fix the source, or do not use the model: the values cannot all be true
    ├── Unreachable        relax the request: nothing satisfies it
    └── Unbounded          nothing to choose: everything satisfies the request
"""

from typing import ClassVar


class AnalysisError(ValueError):
    """Base class of this package's errors; the text is one sentence."""


class BadShape(AnalysisError):
    """Arrays about the same items have different lengths, or refer to missing items."""


class NotEstimable(AnalysisError):
    """A model has no answer for these data; the text gives the reason. A zero is never returned in its place."""

    reason: ClassVar[str] = "unknown"


class InsufficientData(NotEstimable):
    """Fewer observations than the model needs."""

    reason = "too_little"


class NotANumber(NotEstimable):
    """A value is missing, NaN, infinite, or outside the quantity's range."""

    reason = "not_a_number"


class Constant(NotEstimable):
    """The input of a model does not vary."""

    reason = "constant"


class Contradictory(NotEstimable):
    """The values cannot all be true, or violate an assumption of the model."""

    reason = "contradictory"


class Unreachable(NotEstimable):
    """Nothing satisfies the request: a target beyond the model's limit, or constraints that exclude each other."""

    reason = "unreachable"


class Unbounded(NotEstimable):
    """Everything satisfies the request, so there is no lowest value."""

    reason = "unbounded"
