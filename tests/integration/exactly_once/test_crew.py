"""GIVEN a test that has other children than a crew's WHEN the crew is looked after THEN it leaves those alone."""

import os
from pathlib import Path

import pytest

from storage.archive import Archive
from tests.integration.exactly_once.crew import Actor, Crew, Journal, Stage
from tests.integration.exactly_once.world import World

STATUS = 3


def child_of_another_test() -> int:
    """Has ended, and nobody has waited for it."""
    child = os.fork()
    if child == 0:
        os._exit(STATUS)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    return child


def at_once(actor: Actor) -> None:
    """Ends."""


def until_told(actor: Actor) -> None:
    """Does nothing."""
    while not actor.stopping():
        pass


@pytest.mark.parametrize("role", [at_once, until_told])
def test_children_of_others_are_not_reaped(tmp_path: Path, role):
    stage = Stage("postgresql:///none", World({}), Archive(str(tmp_path)), Journal(tmp_path / "journal"))
    other = child_of_another_test()
    with Crew(stage, 1) as crew:
        crew.start(role)
        crew.tend()
    assert os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) == STATUS
