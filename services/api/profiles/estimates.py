"""Numbers in answers: estimates with their intervals, and seconds."""

from analysis.measured import Measured
from services.api.answer import Answer, Json
from storage.query.estimation.estimates import Interval


class IntervalAnswer(Answer):
    """An estimate for the fleet with its 95 % interval."""

    value: float
    lo: float
    hi: float


def interval_document(interval: Interval | None, scale: float | None) -> Json | None:
    """The interval times `scale`; None without an estimate or a scale (None or 0)."""
    if interval is None or not scale:
        return None
    scaled = interval.scaled(scale)
    return {"value": scaled.value, "lo": scaled.lo, "hi": scaled.hi}


def measured_document(measured: Measured) -> Json:
    """The value and interval in their own units: shares, distances, nats."""
    return {"value": measured.value, "lo": measured.lo, "hi": measured.hi}


def as_seconds(units: int, scale: float | None) -> float | None:
    """Observed core-seconds; None if the units are not time (`scale` None)."""
    return None if scale is None else units * scale
