"""The label that `except` names."""

import pytest

from services.api.profiles.labels import label_of
from storage.errors import BadSelection


def test_one_label_is_named():
    assert label_of("") == label_of("  ") == ""
    assert label_of("app") == "application"
    assert label_of('"app"') == "app"


@pytest.mark.parametrize("text", ["application,version", ","])
def test_other_numbers_of_labels_are_refused(text: str):
    with pytest.raises(BadSelection) as refused:
        label_of(text)
    assert refused.value.parameter == "except"
