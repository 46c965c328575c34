"""An object store's address, as it is printed."""

import pytest

from storage.blob_bucket import without_secrets


@pytest.mark.parametrize(
    ("archive", "printed"),
    [
        ("/srv/fleetprof/archive", "/srv/fleetprof/archive"),
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("s3://KEY:SECRET@bucket/prefix", "s3://***@bucket/prefix"),
        ("https://store.example/a?sig=SECRET", "https://store.example/a?***"),
        ("s3://KEY:SE@CRET@bucket", "s3://***@bucket"),
    ],
)
def test_an_archive_is_named_without_its_secrets(archive: str, printed: str):
    assert without_secrets(archive) == printed
