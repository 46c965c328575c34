"""What callers of this package can do wrong, and why a question may have no answer.

AnalysisError(ValueError)
├── BadShape            developer: the arrays given do not belong together
└── NotEstimable           user: the data do not carry the answer; `reason` is the same word for programs
    ├── InsufficientData       collect more: fewer observations than the model needs
    ├── NotANumber      mend the source: a value is missing, NaN, infinite or outside of what it can be
    ├── Constant        collect where it varies: a model cannot learn from what is always the same
    ├── Contradictory   mend the source, or do not use the model: the values cannot all be true
    ├── Unreachable     ask for less: nothing meets the wish
    └── Unbounded       nothing to choose: everything meets the wish
"""

from typing import ClassVar


class AnalysisError(ValueError):
    """Every error that this package raises on purpose; its text is one sentence."""


class BadShape(AnalysisError):
    """Arrays that describe the same things have different lengths, or name things that are not there."""


class NotEstimable(AnalysisError):
    """A model has no answer to these data; the text says because of what. Never answered with a zero instead."""

    reason: ClassVar[str] = "unknown"


class InsufficientData(NotEstimable):
    """Fewer observations than the model needs."""

    reason = "too_little"


class NotANumber(NotEstimable):
    """A value is missing, NaN, infinite, or outside of the range that the quantity can have."""

    reason = "not_a_number"


class Constant(NotEstimable):
    """What a model learns from does not vary."""

    reason = "constant"


class Contradictory(NotEstimable):
    """The values cannot all be true, or break an assumption of the model."""

    reason = "contradictory"


class Unreachable(NotEstimable):
    """Nothing meets the wish: a target beyond the model's limit, constraints that exclude each other."""

    reason = "unreachable"


class Unbounded(NotEstimable):
    """Everything meets the wish, so there is no lowest that does."""

    reason = "unbounded"
