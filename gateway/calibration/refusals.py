"""Constructors of the refusals of a calibration."""

from __future__ import annotations

from fleetpb import gateway_pb2
from gateway.errors import CalibrationRefused


def busy(message: str) -> CalibrationRefused:
    """Retry later."""
    return CalibrationRefused(gateway_pb2.CalibrateRefusal.BUSY, message)


def no_siblings(message: str) -> CalibrationRefused:
    """No core has two threads."""
    return CalibrationRefused(gateway_pb2.CalibrateRefusal.NO_SIBLINGS, message)


def unsupported(message: str) -> CalibrationRefused:
    """The machine or the operator's limits lack what the measurement needs."""
    return CalibrationRefused(gateway_pb2.CalibrateRefusal.UNSUPPORTED, message)


def invalid(message: str) -> CalibrationRefused:
    """The request is invalid."""
    return CalibrationRefused(gateway_pb2.CalibrateRefusal.INVALID, message)


def not_allowed(message: str) -> CalibrationRefused:
    """The operator does not allow it."""
    return CalibrationRefused(gateway_pb2.CalibrateRefusal.NOT_ALLOWED, message)
