"""Errors of operators' changes, and who must act.

ServiceError
├── BadCampaign        user: the change is invalid
├── DrawsNothing       user: the campaign holds visits by hand; it has no plan to change
├── VisitRefused       user: the machine cannot be visited now; the text gives the reason
└── CollectorAway      operator: no collector runs, so nothing makes the visit
"""

from services.errors import ServiceError


class BadCampaign(ServiceError):
    """A change that makes no valid campaign."""


class DrawsNothing(ServiceError):
    """The campaign of visits by hand draws no rounds."""


class VisitRefused(ServiceError):
    """The machine is not to be visited now."""

    def __init__(self, message: str, *, hint: str) -> None:
        """`hint` is what to do instead, a sentence."""
        super().__init__(message)
        self.hint = hint


class CollectorAway(ServiceError):
    """No collector runs."""
