"""A kubelet that answers, refuses, dawdles, lies: a real HTTP server, and nobody waits for it."""

import http.server
import os
import ssl
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.containers import kubelet as module
from gateway.containers.errors import KubeletUnavailable
from gateway.containers.kubelet import KubeletPods, fetch
from gateway.containers.label_settings import parse_kubelet
from tests.fake_kubelet import POD, A, Answer, kubelet, listed, says, write_self_signed
from tests.file_leases import leased

DEADLINE_S = 20.0


def test_its_pods_are_known_after_a_moment():
    with kubelet(says(listed(POD))) as (server, url):
        pods = KubeletPods(parse_kubelet(url, None, None))
        assert pods.pods.containers == {}
        pods.request()
        assert pods.wait(DEADLINE_S)
        assert pods.pods.containers[A]["k8s.pod.label.app"] == "shop"
        assert "k8s.pod.label.team" not in pods.pods.containers[A]
        assert pods.failure == ""
        assert server.asked == [("/pods", "")]


def test_an_answer_is_used_for_a_while_and_a_failure_does_not_lose_it():
    now = 0.0
    with kubelet(says(listed(POD))) as (server, url):
        pods = KubeletPods(parse_kubelet(url, None, None), ["team"], clock=lambda: now)
        for now, asked in ((0.0, 1), (29.0, 1), (31.0, 2)):  # noqa: B007 - the clock reads it
            pods.request()
            assert pods.wait(DEADLINE_S)
            assert len(server.asked) == asked
        server.answer = says("", 403)
        now = 100.0
        pods.request()
        assert pods.wait(DEADLINE_S)
        assert "403" in pods.failure
        assert "nodes/pods" in pods.failure
        assert pods.pods.containers[A]["k8s.pod.label.team"] == "ads"
        now = 31.0 + module.KEPT_S + 1
        assert pods.pods.containers == {}, "others have taken their place"


def test_nobody_waits_for_one_that_hangs():
    release = threading.Event()

    def hangs(_handler: http.server.BaseHTTPRequestHandler) -> None:
        release.wait(DEADLINE_S)

    with kubelet(hangs) as (server, url):
        now = 0.0
        pods = KubeletPods(parse_kubelet(url, None, None), clock=lambda: now)
        pods.request()
        now = 1000.0
        pods.request()
        assert pods.pods.containers == {}
        assert not pods.wait(0)
        assert "no response for 1000 s" in pods.failure
        release.set()
        assert pods.wait(DEADLINE_S)
        assert len(server.asked) <= 1
        assert pods.failure


def drips(handler: http.server.BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.005)


def drips_headers(handler: http.server.BaseHTTPRequestHandler) -> None:
    """One that would go on for as long as somebody reads."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    with suppress(OSError):
        while True:
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.005)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (says(listed(POD), 500), "500"),
        (says("", 302, Location="http://127.0.0.1:1/"), "302"),
        (says('{"kind":"Status"}'), "not a list of pods"),
        (says(listed(POD)[:-50]), "cut off or damaged"),
        (says(b"\xff" * 100), "not a list of pods"),
        (says(listed(POD)[:-9], **{"Content-Length": "99999999"}), "cut off or damaged"),
        (says("x" * 5000), "more than 1000 bytes"),
        (lambda handler: handler.wfile.write(b"nonsense\r\n\r\n") and None, "nonsense"),
        (lambda handler: handler.wfile.write(b"\x1b[31m" + b"x" * 5000 + b"\r\n\r\n") and None, "?[31mxxx"),
        (lambda handler: handler.connection.close(), ""),
        (drips, "took longer"),
        (drips_headers, "took longer"),
    ],
)
def test_what_is_no_answer_is_a_sentence(monkeypatch: pytest.MonkeyPatch, answer: Answer, why: str):
    if "1000" in why:
        monkeypatch.setattr(module, "MAX_BYTES", 1000)
    monkeypatch.setattr(module, "DEADLINE_S", 0.3)
    with kubelet(answer) as (_, url):
        pods = KubeletPods(parse_kubelet(url, None, None))
        pods.request()
        assert pods.wait(DEADLINE_S)
    assert pods.failure.startswith("the kubelet at 127.0.0.1")
    assert why in pods.failure
    assert pods.failure.isprintable()
    assert len(pods.failure) < 300
    assert pods.pods.containers == {}


def test_a_port_where_nobody_listens():
    with kubelet(says("")) as (_, url):
        pass
    with pytest.raises(KubeletUnavailable, match="refused"):
        fetch(parse_kubelet(url, None, None))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key, as kubelets make them."""
    return write_self_signed(tmp_path_factory.mktemp("kubelet") / "kubelet.pem")


def test_the_token_is_read_for_each_question_and_sent_over_tls_only(certificate: Path, tmp_path: Path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    token = tmp_path / "token"
    with kubelet(says(listed(POD)), context) as (server, url):
        settings = parse_kubelet(f"{url}/pods/", token, certificate)
        for value in ("one", "two"):
            token.write_text(f"{value}\n")
            assert "PodList" in fetch(settings)
        assert server.asked == [("/pods/", "Bearer one"), ("/pods/", "Bearer two")]
        token.write_text("a\r\nX-Evil: b")
        with pytest.raises(KubeletUnavailable, match="one line") as caught:
            fetch(settings)
        assert "Evil" not in str(caught.value)
        token.write_text("three")
        with pytest.raises(KubeletUnavailable, match="verif"):
            fetch(parse_kubelet(url, token, None))
        token.unlink()
        with pytest.raises(KubeletUnavailable, match="No such file"):
            fetch(settings)
        assert len(server.asked) == 2
    with pytest.raises(ValueError, match="without TLS"):
        parse_kubelet("http://127.0.0.1:10255", token, None)


def test_a_file_that_would_keep_it_waiting_is_not_read(certificate: Path, tmp_path: Path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    fifo, token = tmp_path / "fifo", tmp_path / "token"
    os.mkfifo(fifo)
    token.write_text("one")
    with kubelet(says(listed(POD)), context) as (server, url):
        for files in ((fifo, certificate), (token, fifo)):
            with pytest.raises(KubeletUnavailable, match="not a regular file"):
                fetch(parse_kubelet(url, *files))
        with leased(token), pytest.raises(KubeletUnavailable, match="lease"):
            fetch(parse_kubelet(url, token, certificate))
    assert server.asked == []


@pytest.mark.parametrize("text", ["", "no certificate", "é"])
def test_an_authority_without_certificates_is_not_the_systems(
    certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
):
    """Which OpenSSL takes from these files."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    authority = tmp_path / "authority"
    authority.write_text(text)
    with kubelet(says(listed(POD)), context) as (server, url):
        assert "PodList" in fetch(parse_kubelet(url, None, None))
        with pytest.raises(KubeletUnavailable):
            fetch(parse_kubelet(url, None, authority))
    assert len(server.asked) == 1
