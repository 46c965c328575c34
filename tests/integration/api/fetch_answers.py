"""Who asks the API, for which time, and what a problem looks like."""

from datetime import UTC, datetime

from services.api.problems import ProblemDocument

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
RANGE = {"from": "2026-11-21T11:00:00Z", "to": "2026-11-21T13:00:00Z"}
"""Of `served.write_samples`."""
DESIGNED = {"from": "2026-11-18T12:00:00Z", "to": "2026-11-18T13:00:00Z"}
"""Of `served.write_fleet`."""
TOKEN = "t" * 24
OPERATOR = "o" * 24
ADMIN = "a" * 24
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BASE = "http://127.0.0.1:7070"


def problem(response, status: int) -> dict:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document = ProblemDocument.model_validate(response.json())
    assert document.status == status
    assert document.request_id == response.headers["x-request-id"]
    return response.json()
