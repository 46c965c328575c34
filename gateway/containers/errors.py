"""Errors of label sources, and who must act.

LabelsUnavailable (GatewayError)
├── BadLabelsFile        the operator: the file is unreadable or too large; bad lines alone are skipped
└── KubeletUnavailable   the operator: the kubelet does not answer, refuses, or sends an invalid reply

None of them fails a capture: it continues without those labels and has a note.
"""

from gateway.errors import GatewayError


class LabelsUnavailable(GatewayError):
    """Base of errors of container labels."""


class BadLabelsFile(LabelsUnavailable):
    """The labels file is unreadable or too large; the text has the details."""


class KubeletUnavailable(LabelsUnavailable):
    """The kubelet cannot be reached, or its reply is not a list of pods. The text has the reason."""
