"""The collector's errors, and who must act on them.

    CollectorError
    ├── BadAddress              operator: write unix:/path or host:port for the machine
    ├── BadCredentials          operator: give the files for mutual TLS, or use a Unix socket
    ├── BadPlan                 user: the campaign's plan is invalid
    ├── BadInventory            user: correct the named lines of the file
    ├── NoAnswer                operator: a machine was not described or measured; check its gateway and the network
    ├── CalibrationFailed       user or operator: the gateway refused to measure, with a reason
    └── MalformedReply          developer of the gateway: the reply violates gateway.proto

A visit that fails raises nothing: its outcome is a value (`collector.visit.VisitResult`), recorded with
the visit like any other.
"""


class CollectorError(Exception):
    """Base of the errors that the collector raises; the text is one sentence for a person."""


class BadAddress(CollectorError):
    """An address that is neither unix:/absolute/path nor host:port."""


class BadCredentials(CollectorError):
    """The files of mutual TLS are missing or unreadable, and the address needs them."""


class BadPlan(CollectorError):
    """A campaign's plan that no gateway could carry out."""


class BadInventory(CollectorError):
    """A machine, or a file of machines, that the inventory cannot accept."""


class NoAnswer(CollectorError):
    """A gateway did not describe or measure its machine."""


class CalibrationFailed(CollectorError):
    """A gateway refused to measure its machine."""


class MalformedReply(CollectorError):
    """A gateway's reply breaks the order, the limits or the checksum that gateway.proto sets."""
