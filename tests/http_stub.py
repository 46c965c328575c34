"""A small HTTP server of a loopback address, which answers as a test says."""

import http.server
import threading
from collections.abc import Callable

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Server:
    """Answers every GET by `answer`, and remembers the paths that were asked for."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.answer: Answer = lambda request: request.send_error(404)
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.answer(self)

            def log_message(self, *_: object) -> None: ...

        self._server = http.server.ThreadingHTTPServer((host, 0), Handler)
        self.url = f"http://{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def sends(body: bytes, **headers: str) -> Answer:
    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def redirects(where: str) -> Answer:
    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", where)
        request.end_headers()

    return answer
