"""Errors of the gateway, and who must act.

GatewayError
├── ProcessGone        no action: the process ended while it was read
├── AccessDenied       the operator: the gateway lacks a capability (`fleetprof doctor` names it)
├── BadImage           no action: a file is invalid; its code has no unwind rules
├── FileRefused        no action: a file of another user is not opened, for the given reason; its data is missing
├── RuntimeUnsupported no action: a program's interpreter is of a kind whose frames are not read; native frames remain
├── UnsupportedHost    the operator: this system or kernel cannot be sampled at all
├── EventUnavailable   no action: the event cannot be opened here; the capture has the reason
├── BadEventName       the caller: no event can have that name
├── BadFormat          no action: a file of sysfs or tracefs is not understood; its event is unsupported
├── UnsafeAddress      the operator: every user could use an address or socket
├── BadCertificates    the operator: TLS cannot use a certificate, key or authority
├── CannotConfine      the operator: privileges cannot be dropped as configured
├── PlanRefused        the caller: the plan is invalid, expired, repeated or not allowed
├── SymbolsRefused     the caller or the operator: symbols are not sent, for the given reason
└── CalibrationRefused the caller or the operator: nothing is measured, for the given reason

"""

from typing import Final


class GatewayError(Exception):
    """Base of all deliberate errors of the gateway."""


class ProcessGone(GatewayError):
    """The process ended; its memory and files can no longer be read. No action."""


class AccessDenied(GatewayError):
    """The kernel denied the gateway access to a process. The operator grants the capability."""


class BadImage(GatewayError):
    """An ELF file or a table in it is damaged, hostile, or of an unsupported kind. No action."""


class FileRefused(GatewayError):
    """A file that another user owns or chooses is not opened; the text has the reason. No action."""


class RuntimeUnsupported(GatewayError):
    """An interpreter's frames are not read; the text has the reason. Its programs have native frames only."""


class UnsupportedHost(GatewayError):
    """Not Linux, not x86-64, or a kernel without features that sampling needs. The operator must act."""


class EventUnavailable(GatewayError):
    """An event could not be opened.

    `support` is a `capture_pb2.Support` value, `errno` the kernel's error (0 if the event was not opened), and the text
    has the fix, if there is one.
    """

    def __init__(self, message: str, *, support: int, errno: int) -> None:
        super().__init__(message)
        self.support: Final = support
        self.errno: Final = errno


class BadEventName(GatewayError):
    """A name in none of the forms of event names. The text has an example."""


class BadFormat(GatewayError):
    """A file of sysfs or tracefs, or a value for its term, is not understood. No action."""


class UnsafeAddress(GatewayError):
    """Listening there would let every user command the gateway. The text has the setting to change."""


class BadCertificates(GatewayError):
    """TLS cannot use a certificate, key or authority. The text names the files."""


class CannotConfine(GatewayError):
    """Privileges cannot be dropped, or the user cannot be changed. The text has the fix."""


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
