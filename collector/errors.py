"""What can go wrong in the collector, and who must act.

    CollectorError
    ├── BadAddress              operator: write unix:/path or host:port for the machine
    ├── BadCredentials          operator: give the files of mutual TLS, or a Unix socket
    ├── BadPlan                 user: the campaign's plan asks for something that means nothing
    ├── BadInventory            user: mend the named lines of the file
    ├── NoAnswer                operator: the machine could not be described or measured; its gateway or the way to it
    ├── CalibrationFailed         user or operator: a gateway measures nothing, and says why
    └── MalformedReply                 developer of the gateway: the reply is not what gateway.proto says

A visit that fails raises nothing: its outcome is a value (`collector.visit.VisitResult`), recorded with
the visit like any other.
"""


class CollectorError(Exception):
    """Every error the collector raises on purpose; its text is one sentence for a person."""


class BadAddress(CollectorError):
    """An address that is neither unix:/absolute/path nor host:port."""


class BadCredentials(CollectorError):
    """The files of mutual TLS are missing or unreadable, and the address needs them."""


class BadPlan(CollectorError):
    """A campaign's plan that no gateway could carry out."""


class BadInventory(CollectorError):
    """A machine, or a file of them, that cannot be taken into the inventory."""


class NoAnswer(CollectorError):
    """A gateway did not describe or measure its machine."""


class CalibrationFailed(CollectorError):
    """A gateway refused to measure its machine."""


class MalformedReply(CollectorError):
    """A gateway's reply breaks the order, the limits or the checksum that gateway.proto sets."""
