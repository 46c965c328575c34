"""Errors of starting and running programs, and the person who must act.

ServiceError
├── SettingsProblem     operator: a setting is missing, wrong or unsafe
├── CannotStart         operator: a part of the stack did not start; the text ends with its last output
├── CertificateProblem  operator: a certificate, a key or their folder is invalid
├── CannotWrite         user: a command cannot write its output file or folder; disk or permissions
├── CannotRecord        user: the program cannot be profiled; a typing error, or a missing permission
├── NoRates             user: the source of request rates provides none
├── BackupFailed        operator: a dump or restore failed; the text contains PostgreSQL's message
├── AlreadyRunning      user: another `fleetprof up` holds this state directory
├── NotRunning          user: start `fleetprof up` first, or give an address
└── ApiRefused          user: the API at FLEETPROF_URL refused; the text is its sentence
"""


class ServiceError(Exception):
    """Base of errors that commands raise on purpose; the text states the problem, the reason and the remedy."""


class SettingsProblem(ServiceError):
    """A setting is missing, wrong or unsafe."""


class CannotStart(ServiceError):
    """A part of the stack did not start."""


class CertificateProblem(ServiceError):
    """A certificate, a key or their folder is missing, damaged or in the way."""


class CannotWrite(ServiceError):
    """Output cannot be written to the given place."""


class CannotRecord(ServiceError):
    """A program cannot be started or sampled."""


class NoRates(ServiceError):
    """The given source provides no request rates."""


class BackupFailed(ServiceError):
    """A dump or a restore failed."""


class AlreadyRunning(ServiceError):
    """Another `fleetprof up` holds this state directory."""


class NotRunning(ServiceError):
    """No process responds at the expected address."""


class ApiRefused(ServiceError):
    """A remote API answered with a problem, or not at all."""

    def __init__(self, message: str, status: int) -> None:
        """`status` is HTTP's; 0: no HTTP answer."""
        super().__init__(message)
        self.status = status
