"""Errors of marks of deploys, and who must act.

ServiceError
└── UnusableDeploy    user: the mark cannot be stored; the text names the member that is not valid
"""

from services.errors import ServiceError


class UnusableDeploy(ServiceError):
    """A mark cannot be stored; the text is the reason, a sentence."""

    def __init__(self, text: str, member: str) -> None:
        """`member`: the member of the mark that is not valid."""
        super().__init__(text)
        self.member = member
