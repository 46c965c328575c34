"""Requests that are the same or not, answers to them, and a clock for what is kept of these."""

from http import HTTPStatus

from fastapi import Request, Response

from services.api.problems import Problem


class Clock:
    """Seconds that pass when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def problem(kind: str, status: HTTPStatus = HTTPStatus.SERVICE_UNAVAILABLE) -> Response:
    return Problem(status, "A sentence.", kind=kind).response("id")


def request(query: str = "from=now-1h", **headers: str) -> Request:
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": "/api/v1/table",
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
    )


def answer(content: bytes = b"{}") -> Response:
    return Response(content, media_type="application/json", headers={"Cache-Control": "no-store"})
