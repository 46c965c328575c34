"""GIVEN an error of the store WHEN somebody asked over HTTP THEN the status says who must act."""

import json

import pytest

from services.api.problems import Problem, of_storage
from storage.errors import ArchiveUnavailable, BlobMissing, StorageError
from storage.symbols.errors import BadKey, SymbolFileChanged, SymbolFileTooLarge


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ArchiveUnavailable("It cannot be written."), 503),
        (BadKey("Not a path."), 422),
        (SymbolFileChanged("It was written to."), 422),
        (SymbolFileTooLarge("It has too many bytes."), 413),
        (BlobMissing("It is gone."), 500),
    ],
)
def test_each_error_has_its_status(error: StorageError, status: int) -> None:
    problem = of_storage(error)
    assert problem.status == status
    assert ("Retry-After" in problem.headers) == (status == 503)


def test_a_detail_that_is_no_unicode_is_said_all_the_same() -> None:
    response = Problem(of_storage(BadKey("x")).status, "caf\udce9.c is too large.").response("1")
    assert json.loads(response.body)["detail"] == "caf?.c is too large."
