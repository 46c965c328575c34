"""Fetches this machine's pods from its kubelet in a thread, so that no capture waits for it.

The read-only port (10255) answers everyone; the authenticated one (10250) needs the token of a service account with
access to nodes/pods (before Kubernetes 1.33: nodes/proxy). The token is read for each request: it changes every hour.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gateway.containers.errors import KubeletUnavailable
from gateway.containers.label_settings import POD_LABELS
from gateway.containers.pods import Pods, parse_pods
from gateway.errors import FileRefused
from gateway.process.untrusted_file import read_untrusted

if TYPE_CHECKING:
    import http.client
    from collections.abc import Callable, Sequence

    from gateway.containers.label_settings import Kubelet

MAX_BYTES: Final = 8 << 20
"""Limit of a reply: some 1000 pods. It is in memory twice for a moment, and the gateway's memory is small."""
MAX_TOKEN_BYTES: Final = 16 << 10
MAX_AUTHORITY_BYTES: Final = 1 << 20
TIMEOUT_S: Final = 3.0
"""Timeout of each step: connection, TLS, and every piece of the reply."""
DEADLINE_S: Final = 10.0
"""Timeout of the whole reply with headers: a piece every three seconds would take hours."""
FRESH_S: Final = 30.0
"""A younger reply is not requested again."""
KEPT_S: Final = 300.0
"""An older reply is not used: pods that started since would have no names."""
_PIECE: Final = 1 << 16
_MAX_WHY: Final = 200
_LATE: Final = f"its response took longer than {DEADLINE_S:g} s"


class KubeletPods:
    """The kubelet's last reply. `request` starts a request, `pods` never waits."""

    def __init__(
        self, kubelet: Kubelet, labels: Sequence[str] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Nothing is requested yet. `labels` are taken from pods besides POD_LABELS."""
        self._kubelet = kubelet
        self._wanted = tuple(dict.fromkeys((*POD_LABELS, *labels)))
        self._clock = clock
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._requested_at = float("-inf")
        self._received_at = float("-inf")
        self._pods = Pods()
        self._failure = ""

    @property
    def pods(self) -> Pods:
        """Pods of the last valid reply; empty before the first one, and when it is older than `KEPT_S`."""
        return self._pods if self._clock() - self._received_at <= KEPT_S else Pods()

    @property
    def failure(self) -> str:
        """Why the last request failed, or that it takes too long, as a sentence; "": it did not fail."""
        waited = self._clock() - self._requested_at
        if self._thread is not None and self._thread.is_alive() and waited > DEADLINE_S:
            return f"the kubelet at {self._kubelet.address} sent no labels: no response for {waited:.0f} s"
        return self._failure

    def request(self) -> None:
        """Start a request in the background, unless one is running or has just finished."""
        with self._lock:
            if (self._thread is not None and self._thread.is_alive()) or (
                self._clock() - self._requested_at < FRESH_S
            ):
                return
            self._requested_at = self._clock()
            self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)
            self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the running request; whether it has finished. For tests and `doctor`, not for captures."""
        thread = self._thread
        if thread is None:
            return False
        thread.join(timeout_s)
        return not thread.is_alive()

    def _run(self) -> None:
        try:
            self._pods = parse_pods(fetch(self._kubelet), self._wanted)
            self._received_at = self._clock()
            self._failure = ""
        except KubeletUnavailable as error:
            # It contains text from an unknown server.
            why = "".join(letter if letter.isprintable() else "?" for letter in str(error)[:_MAX_WHY])
            self._failure = f"the kubelet at {self._kubelet.address} sent no labels: {why}"


def fetch(kubelet: Kubelet) -> str:
    """The text of the kubelet's list of pods; raises KubeletUnavailable. Follows no redirect, uses no proxy."""
    # Imported here: 3 MiB that a gateway without Kubernetes never needs.
    import http.client  # noqa: PLC0415
    import ssl  # noqa: PLC0415

    late = threading.Event()
    headers = {"Accept": "application/json", "User-Agent": "fleetprof-gateway"}
    try:
        if kubelet.token_file is not None:
            token = read_untrusted(kubelet.token_file, MAX_TOKEN_BYTES).decode("ascii").strip()
            headers["Authorization"] = f"Bearer {token}"
        connection: http.client.HTTPConnection
        if kubelet.secure:
            # By content: OpenSSL would open the file itself, and could block. Without one it would use the system's.
            known = None
            if kubelet.authority is not None:
                authority = read_untrusted(kubelet.authority, MAX_AUTHORITY_BYTES)
                known = authority.decode("ascii", "ignore") or "none"
            context = ssl.create_default_context(cadata=known)
            connection = http.client.HTTPSConnection(kubelet.address, timeout=TIMEOUT_S, context=context)
        else:
            connection = http.client.HTTPConnection(kubelet.address, timeout=TIMEOUT_S)
        try:
            connection.connect()
            # A socket's timeout applies to each piece, and none to all headers together.
            watch = threading.Timer(DEADLINE_S, _cut, (connection.sock, late))
            watch.daemon = True
            watch.start()
            try:
                connection.request("GET", kubelet.path, headers=headers)
                text = _read(connection.getresponse())
            finally:
                watch.cancel()
        finally:
            connection.close()
    except FileRefused as error:
        raise KubeletUnavailable(f"cannot read the file of its token or authority: {error}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        # The text of a ValueError would contain the token, which has a line break or another invalid character. A
        # certificate that cannot be verified is a ValueError too, and its text is what the operator needs.
        secret = isinstance(error, ValueError) and not isinstance(error, OSError)
        what = "the token is not one line of ASCII" if secret else str(error) or type(error).__name__
        raise KubeletUnavailable(_LATE if late.is_set() else what) from None
    if late.is_set():
        raise KubeletUnavailable(_LATE)
    return text


def _cut(connected: socket.socket, late: threading.Event) -> None:
    """Shut down a connection from another thread, so that its reader sees the end of the reply."""
    late.set()
    with suppress(OSError):
        # Not the TLS socket's method, which changes state that its reader uses.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _read(response: http.client.HTTPResponse) -> str:
    if response.status != 200:
        hint = ": the token may not get nodes/pods" if response.status in {401, 403} else ""
        raise KubeletUnavailable(f"it responded with {response.status}{hint}")
    pieces = []
    size = 0
    while piece := response.read1(_PIECE):
        size += len(piece)
        if size > MAX_BYTES:
            raise KubeletUnavailable(f"its list of pods has more than {MAX_BYTES} bytes")
        pieces.append(piece)
    return b"".join(pieces).decode("utf-8", "replace")
