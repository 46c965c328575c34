"""GIVEN a figure that is none WHEN an answer is written THEN it is a mistake of ours, and no invalid JSON."""

import json

import pytest

from services.api.routes import _json


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_not_written(figure: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        _json({"share": figure})


def test_answers_are_compact_json() -> None:
    content, media_type = _json({"names": ["größer", None], "share": 0.5})
    assert content == '{"names":["größer",null],"share":0.5}'.encode()
    assert json.loads(content)["share"] == 0.5
    assert media_type == "application/json"
