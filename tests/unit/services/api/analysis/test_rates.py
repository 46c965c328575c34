"""GIVEN request rates in a query WHEN they are read THEN holes stay holes, and a mistake is pointed at."""

import pytest

from services.api.analysis.capacity import rates_of
from storage.errors import BadSelection


def test_nothing_between_commas_is_not_known():
    assert rates_of("812,, 640.5,0,") == (812.0, None, 640.5, 0.0, None)
    assert rates_of("") == (None,)


@pytest.mark.parametrize(("text", "at"), [("x", 0), ("1,2,many", 4), ("1,,2 3", 3)])
def test_a_mistake_is_pointed_at(text: str, at: int):
    with pytest.raises(BadSelection, match="is not a request rate") as error:
        rates_of(text)
    assert (error.value.at, error.value.parameter) == (at, "rates")
