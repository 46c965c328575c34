"""Names the caller of a request, for logs and records of changes."""

from fastapi import Request

from services.api.auth import Access
from services.api.request_auth import role_of


def caller_name(request: Request, access: Access) -> str:
    """The role and the address, e.g. "operator at 10.0.0.7", as far as they are known: users have no names."""
    role = role_of(request, access)
    client = request.client.host if request.client else ""
    return " at ".join(part for part in (role.name.lower() if role else "", client) if part)
