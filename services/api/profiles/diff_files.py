"""The stacks behind a comparison, as files beside the answer's own forms."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Protocol

from fastapi import Query

from services.api.formats import collapsed, diff_profile, pprof
from services.api.formats.documents import Document
from services.api.formats.forms import Form
from services.api.formats.stack_profile import StackProfile, Value
from services.api.profiles.selection_address import address
from storage.query.answers.answer import Answer
from storage.query.facts.selection_echo import selection_echo
from storage.query.selections.selection import Selection
from storage.query.shapes.diff_stacks import DiffStacksAnswer, DiffStacksQuestion

ValueOfBoth = Annotated[
    Value,
    Query(
        description="Value of collapsed stacks: the fleet's units as estimated, units as observed, or samples. A pprof "
        "file has all three."
    ),
]


@dataclass(frozen=True, slots=True)
class DiffFile:
    """A request for all stacks of a selection and its base, whichever rows or nodes the answer shows."""

    ask: Callable[[DiffStacksQuestion], DiffStacksAnswer]
    selection: Selection
    base: Selection
    route: str
    """The answer's route, e.g. "diff"."""
    value: Value = Value.ESTIMATE

    def profile(self) -> StackProfile:
        """The stacks of both sides. Raises what `ask` raises."""
        found = self.ask(DiffStacksQuestion(self.selection, self.base))
        base = selection_echo(self.base, found.kind)
        more = {
            "base_from": base.from_,
            "base_to": base.to,
            "base_select": base.select,
            "base_campaign": base.campaign,
        }
        source = address(self.route, self.selection, found.kind, more)
        return diff_profile.diff_profile(self.selection, found, source=f"fleetprof {source}")


class _OfBoth(Protocol):
    @property
    def stacks(self) -> DiffFile: ...


FILES: Final[tuple[Form[_OfBoth], ...]] = (
    Form(
        "pprof",
        pprof.MEDIA_TYPE,
        "pb.gz",
        lambda query: pprof.packed(query.stacks.profile()),
        packed=True,
        in_parts=True,
    ),
    Form(
        "collapsed",
        collapsed.MEDIA_TYPE,
        "collapsed.txt",
        lambda query: diff_profile.lines(query.stacks.profile(), query.stacks.value),
        parameters="; charset=utf-8",
        in_parts=True,
    ),
)
"""pprof and collapsed forms for queries whose `stacks` have two sides."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A request for a comparison with rows and stacks. Calling it returns the document."""

    document: Document
    stacks: DiffFile

    def __call__(self) -> Answer:
        """The document."""
        return self.document()
