"""GIVEN a server that shows a certificate WHEN its files change THEN new connections see what they hold, if it is a pair."""

import ssl
from pathlib import Path

import pytest

from services.certificates.served_pair import ServedPair
from tests.self_signed import self_signed

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


class Server:
    """Of one context, as a listener has it all its life."""

    def __init__(self, folder: Path) -> None:
        self.certificate, self.key = folder / "cert", folder / "key"
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.first = self_signed("first")
        self.write(*self.first)
        self.context.load_cert_chain(self.certificate, self.key)
        self.pair = ServedPair(self.certificate, self.key)

    def write(self, certificate: bytes | None, key: bytes | None) -> None:
        for path, content in ((self.certificate, certificate), (self.key, key)):
            if content is not None:
                new = path.with_suffix(".new")
                new.write_bytes(content)
                new.rename(path)

    def changed(self) -> bool:
        return self.pair.show_changed(self.context)

    def shown(self) -> set[str]:
        """What callers see that name the host and that do not, of each version of TLS, in PEM."""
        return {handshake(self.context, version, name) for version in VERSIONS for name in ("first", None)}


def handshake(context: ssl.SSLContext, version: ssl.TLSVersion, name: str | None) -> str:
    """The server's certificate."""
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname = False
    trust.verify_mode = ssl.CERT_NONE
    trust.minimum_version = trust.maximum_version = version
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    caller = trust.wrap_bio(back, there, server_hostname=name)
    server = context.wrap_bio(there, back, server_side=True)
    for end in (caller, server, caller, server, caller):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    seen = caller.getpeercert(binary_form=True)
    assert seen is not None
    return ssl.DER_cert_to_PEM_cert(seen)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_a_pair_is_taken_once_and_half_of_one_never(server: Server):
    first, another = {server.first[0].decode()}, self_signed("another")
    assert not server.changed()
    server.write(None, another[1])
    with pytest.raises(ssl.SSLError):
        server.changed()
    assert not server.changed(), "it is said once"
    assert server.shown() == first
    server.write(another[0], None)
    assert server.changed()
    assert not server.changed()
    assert server.shown() == {another[0].decode()}
    server.key.unlink()
    with pytest.raises(FileNotFoundError):
        server.changed()
    assert not server.changed()
    assert server.shown() == {another[0].decode()}


def test_a_certificate_of_another_kind_of_key_takes_the_place_of_the_old_one(server: Server):
    for by_rsa in (True, False, True):
        certificate, key = self_signed("first", by_rsa=by_rsa)
        server.write(certificate, key)
        assert server.changed()
        assert server.shown() == {certificate.decode()}
