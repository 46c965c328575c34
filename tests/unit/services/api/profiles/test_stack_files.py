"""GIVEN an answer that is counted from stacks WHEN it is written in a form THEN only what that form takes is asked."""

import json

import pytest

from services.api.formats.documents import forms_of
from services.api.formats.forms import STACKS_ONLY
from services.api.profiles.stack_files import Counted, StackFile, with_stacks
from storage.errors import BadSelection
from storage.query.answers.labels import LabelsAnswer
from storage.query.selections.selection import parse_selection
from storage.query.shapes.stack_samples import StackSamples, StackSamplesQuestion
from storage.query.subject import Subject

FORMS = with_stacks(forms_of(LabelsAnswer, "labels.values"))
SELECTION = parse_selection(start="2026-11-18T12:00:00Z", end="2026-11-18T13:00:00Z")


def counted(question: StackSamplesQuestion | None, asked: list[StackSamplesQuestion]) -> Counted:
    def ask(wanted: StackSamplesQuestion) -> StackSamples:
        asked.append(wanted)
        raise LookupError

    def behind() -> StackSamplesQuestion:
        if question is None:
            raise BadSelection("No such stacks.")
        return question

    return Counted(lambda: {"rows": []}, StackFile(ask, behind, "labels"))


def test_rows_are_had_where_a_file_is_not() -> None:
    asked: list[StackSamplesQuestion] = []
    written = FORMS.named("json").write(counted(None, asked))
    assert isinstance(written, bytes)
    assert json.loads(written) == {"rows": []}
    with pytest.raises(BadSelection):
        FORMS.named("pprof").write(counted(None, asked))
    assert asked == []


@pytest.mark.parametrize("form", STACKS_ONLY)
def test_a_file_asks_for_the_stacks_before_its_first_part(form: str) -> None:
    asked: list[StackSamplesQuestion] = []
    question = StackSamplesQuestion(SELECTION, through=Subject(7))
    with pytest.raises(LookupError):
        next(iter(FORMS.named(form).write(counted(question, asked))))
    assert asked == [question]
