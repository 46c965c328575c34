"""Questions to the API in the session of a page."""

from typing import Any
from urllib.parse import urljoin

from playwright.sync_api import Page

from services.api.sessions import SESSION_HEADER


def answer_to(page: Page, path: str, **parameters: str) -> dict[str, Any]:
    """What the API answers this page's visitor."""
    binding = page.evaluate("localStorage.getItem('fleetprof:session')")
    url = urljoin(page.url, f"/api/v1/{path}")
    document: dict[str, Any] = page.request.get(
        url, params=parameters, headers={SESSION_HEADER: binding}
    ).json()
    return document
