"""A kubelet that says what it is told to: a real HTTP server with a made list of pods."""

import datetime as dt
import http.server
import ipaddress
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

A = "0123456789abcdef" * 4
B = "f" * 64
UID = "1f3b7a12-9c2e-4a57-8a0f-3c2b1d4e5f60"
HASH = "0123456789abcdef0123456789abcdef"
POD: dict[str, Any] = {
    "metadata": {
        "name": "shop-6f7d9c5b8-x2x9z",
        "namespace": "web",
        "uid": UID,
        "labels": {"app": "shop", "team": "ads", "pod-template-hash": "6f7d9c5b8", "secret": "x"},
        "annotations": {"kubernetes.io/config.hash": HASH, "token": "y"},
        "ownerReferences": [{"kind": "ReplicaSet", "name": "shop-6f7d9c5b8", "controller": True}],
    },
    "spec": {"containers": [{"name": "main", "env": [{"name": "PASSWORD", "value": "z"}]}]},
    "status": {
        "qosClass": "Burstable",
        "containerStatuses": [
            {
                "name": "main",
                "image": "registry:5000/web/shop:1.2@sha256:00",
                "containerID": f"containerd://{A}",
            },
            {"name": "starting", "image": "x"},
        ],
        "initContainerStatuses": [{"name": "init", "image": "sha256:00", "containerID": f"cri-o://{B}"}],
    },
}


def listed(*pods: object) -> str:
    return json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": list(pods)})


Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


def says(text: str | bytes, status: int = 200, **headers: str) -> Answer:
    body = text.encode() if isinstance(text, str) else text

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


class Kubelet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that hangs up is what these tests are about."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Kubelet)
        self.server.asked.append((self.path, self.headers.get("Authorization", "")))
        self.server.answer(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        pass


@contextmanager
def kubelet(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[tuple[Kubelet, str]]:
    with Kubelet(answer) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        host, port = str(server.server_address[0]), server.server_address[1]
        try:
            yield server, f"{'https' if context else 'http'}://{host}:{port}"
        finally:
            server.shutdown()
            thread.join()


def write_self_signed(path: Path) -> Path:
    """Certificate and key for 127.0.0.1 in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubelet")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
