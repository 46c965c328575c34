"""What can go wrong in the gateway, and who must act.

GatewayError
├── ProcessGone        nobody: the process ended while it was looked at
├── AccessDenied       the operator: the gateway lacks a capability (`fleetprof doctor` names it)
├── BadImage           nobody: a file is not what it claims; its code is left without unwind rules
├── FileRefused        nobody: a file of another user's is not opened, and why; what it would have told is left out
├── UnsupportedHost    the operator: this system or kernel cannot be sampled at all
├── EventUnavailable   nobody: the event cannot be opened here; the capture says why
├── BadEventName       the caller: no event could ever go by that name
├── BadFormat          nobody: a file of sysfs or tracefs holds what is not understood; its event is unsupported
├── UnsafeAddress      the operator: an address or socket that anybody could use
├── BadCertificates    the operator: a certificate, key or authority that TLS cannot use
├── CannotConfine      the operator: privileges cannot be given up as was asked
├── PlanRefused        the caller: the plan is void, repeated, senseless or not allowed
├── SymbolsRefused     the caller or the operator: symbols are not given, and why
└── CalibrationRefused the caller or the operator: nothing is measured, and why

"""

from typing import Final


class GatewayError(Exception):
    """Base of everything the gateway raises on purpose."""


class ProcessGone(GatewayError):
    """The process ended; what it ran can no longer be read. Nobody must act."""


class AccessDenied(GatewayError):
    """The kernel refused to show a process to the gateway. The operator grants the capability."""


class BadImage(GatewayError):
    """An ELF file or a table in it is damaged, hostile, or of a kind that is not read. Nobody must act."""


class FileRefused(GatewayError):
    """A file that another user owns or chooses is not opened; the text says why. Nobody must act."""


class UnsupportedHost(GatewayError):
    """Not Linux, not x86-64, or a kernel without what sampling needs. The operator must act."""


class EventUnavailable(GatewayError):
    """An event could not be opened.

    `support` is a `capture_pb2.Support` value, `errno` the kernel's answer (0 where it was not asked),
    and the text says what to do if anything can be done.
    """

    def __init__(self, message: str, *, support: int, errno: int) -> None:
        super().__init__(message)
        self.support: Final = support
        self.errno: Final = errno


class BadEventName(GatewayError):
    """A name that follows no form that events' names have. The text says what they look like."""


class BadFormat(GatewayError):
    """A file of sysfs or tracefs, or a value for its term, that is not understood. Nobody must act."""


class UnsafeAddress(GatewayError):
    """Listening there would let anybody command the gateway. The text says what to set."""


class BadCertificates(GatewayError):
    """A certificate, key or authority that TLS cannot use. The text names the files."""


class CannotConfine(GatewayError):
    """Privileges cannot be given up, or the user to become cannot be become. The text says what to do."""


class PlanRefused(GatewayError):
    """A plan will not be carried out; `reason` is a `gateway_pb2.Refusal.Reason` value."""

    def __init__(self, reason: int, message: str) -> None:
        super().__init__(message)
        self.reason: Final = reason


class SymbolsRefused(GatewayError):
    """Symbols will not be sent; `reason` is a `gateway_pb2.SymbolsRefusal.Reason` value."""

    def __init__(self, reason: int, message: str) -> None:
        super().__init__(message)
        self.reason: Final = reason


class CalibrationRefused(GatewayError):
    """Nothing is measured; `reason` is a `gateway_pb2.CalibrateRefusal.Reason` value."""

    def __init__(self, reason: int, message: str) -> None:
        super().__init__(message)
        self.reason: Final = reason
