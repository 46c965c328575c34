"""What can go wrong with names, and who must act.

NamesUnavailable (GatewayError)
├── BadLabelsFile        the operator: the file cannot be read or is too large; bad lines alone are left out
└── KubeletUnavailable   the operator: the kubelet does not answer, refuses, or answers nonsense

None of them fails a capture: it goes on without those names and says so in a note.
"""

from gateway.errors import GatewayError


class LabelsUnavailable(GatewayError):
    """Base of what goes wrong with names of containers."""


class BadLabelsFile(LabelsUnavailable):
    """The labels file cannot be read, or is larger than is read. The text says which and why."""


class KubeletUnavailable(LabelsUnavailable):
    """The kubelet could not be asked, or its answer is no list of pods. The text says why."""
