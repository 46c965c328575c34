"""GIVEN a server that shows a certificate WHEN its files change THEN new connections see what they hold, if it is a pair."""

import ssl
from pathlib import Path

import pytest

from services.certificates.serving import ServedPair
from tests.self_signed import self_signed


class Context(ssl.SSLContext):
    """Counts what is loaded into it."""

    loaded = 0

    def load_cert_chain(self, *arguments, **named) -> None:
        super().load_cert_chain(*arguments, **named)
        self.loaded += 1


def written(path: Path, content: bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.rename(path)


def test_a_pair_is_loaded_once_and_half_of_one_never(tmp_path: Path):
    certificate, key = tmp_path / "cert", tmp_path / "key"
    context = Context(ssl.PROTOCOL_TLS_SERVER)
    for path, content in zip((certificate, key), self_signed("one"), strict=True):
        written(path, content)
    pair = ServedPair(certificate, key)
    assert not pair.load_changed(context)
    another = self_signed("another")
    written(key, another[1])
    with pytest.raises(ssl.SSLError):
        pair.load_changed(context)
    assert not pair.load_changed(context), "it is said once"
    assert context.loaded == 0
    written(certificate, another[0])
    assert pair.load_changed(context)
    assert not pair.load_changed(context)
    assert context.loaded == 1
    key.unlink()
    with pytest.raises(FileNotFoundError):
        pair.load_changed(context)
    assert not pair.load_changed(context)
    assert context.loaded == 1
