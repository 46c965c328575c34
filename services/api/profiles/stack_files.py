"""The stacks behind an answer, as files beside the answer's own forms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Protocol

from fastapi import Query

from services.api.formats import profile_files
from services.api.formats.documents import Document
from services.api.formats.forms import Form, Forms
from services.api.formats.stack_profile import StackProfile, Value, profile_of
from services.api.profiles.selection_address import address
from storage.query.answers.answer import Answer
from storage.query.shapes.stack_samples import StackSamples, StackSamplesQuestion

ValueOfStacks = Annotated[
    Value,
    Query(
        description="Value of collapsed and speedscope stacks: the fleet's units as estimated, units as observed, or "
        "samples. A pprof file has all three."
    ),
]


@dataclass(frozen=True, slots=True)
class StackFile:
    """A request for all stacks behind an answer, whichever rows or nodes the answer shows."""

    ask: Callable[[StackSamplesQuestion], StackSamples]
    question: Callable[[], StackSamplesQuestion]
    """Called when a file is requested: a file accepts fewer labels than the rows."""
    route: str
    """The answer's route, e.g. "callers"."""
    more: Mapping[str, str] = field(default_factory=dict)
    """The route's parameters, besides the selection, that choose or divide stacks."""
    value: Value = Value.ESTIMATE
    """The unit of forms with one number per stack."""

    def profile(self) -> StackProfile:
        """The stacks as profile files contain them. Raises what `ask` raises."""
        question = self.question()
        found = self.ask(question)
        source = address(self.route, question.selection, found.kind, dict(self.more))
        return profile_of(question.selection, found, source=f"fleetprof {source}")


class _OfStacks(Protocol):
    @property
    def stacks(self) -> StackFile: ...


FILES: Final[tuple[Form[_OfStacks], ...]] = profile_files.forms(
    lambda query: query.stacks.profile(), lambda query: query.stacks.value
)
"""pprof, collapsed and speedscope forms for queries with `stacks`."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A request for an answer with rows and stacks. Calling it returns the document."""

    document: Document
    stacks: StackFile

    def __call__(self) -> Answer:
        """The document."""
        return self.document()


def with_stacks(forms: Forms[Document]) -> Forms[Counted]:
    """These forms of a document, and the files of the stacks behind it."""
    return Forms((*forms.forms, *FILES))
