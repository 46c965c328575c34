"""What can go wrong when something is started, and who must act.

ServiceError
├── SettingsProblem     operator: a setting is missing, wrong, or unsafe as it is
├── CannotStart         operator: a part of the stack did not come up; the text holds its last words
├── CertificateProblem  operator: a certificate, a key or their folder is not as it must be
├── CannotWrite         user: a file or a folder that a command was told to write to; disk or rights
├── BackupFailed        operator: a dump was not made, or not restored; the text says what PostgreSQL said
├── AlreadyRunning      user: another `fleetprof up` has this state directory
└── NotRunning          user: start `fleetprof up` first, or name an address
"""


class ServiceError(Exception):
    """Every error a command raises on purpose; its text says what happened, why, and what to do."""


class SettingsProblem(ServiceError):
    """A setting is missing, wrong, or unsafe as it is."""


class CannotStart(ServiceError):
    """A part of the stack did not come up."""


class CertificateProblem(ServiceError):
    """A certificate, a key or the folder they lie in is missing, in the way, or damaged."""


class CannotWrite(ServiceError):
    """Output cannot go where it was told to."""


class NoRates(ServiceError):
    """No request rates come from where they were to come from."""


class BackupFailed(ServiceError):
    """A dump was not made, or not restored."""


class AlreadyRunning(ServiceError):
    """Another `fleetprof up` has this state directory."""


class NotRunning(ServiceError):
    """Nothing answers where it should."""
