"""Texts signed with one secret: that of a state directory, or that of a file which all replicas of the API read."""

import base64
import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from services.errors import SettingsProblem

_SECRET_BYTES = 32


def session_secret(state_dir: Path, file: Path | None = None) -> bytes:
    """The secret in the file of FLEETPROF_SESSION_SECRET_FILE; None: that of the state directory.

    Raises SettingsProblem for an unreadable file and for a secret that is too short.
    """
    return _secret_of_state(state_dir) if file is None else _secret_in(file)


def _secret_in(file: Path) -> bytes:
    try:
        secret = file.read_bytes().strip()  # editors and `openssl rand -hex` end a file with a line feed
    except OSError as error:
        raise SettingsProblem(
            f"FLEETPROF_SESSION_SECRET_FILE: cannot read {file}: {error.strerror or error}."
        ) from error
    if len(secret) < _SECRET_BYTES:
        raise SettingsProblem(
            f"FLEETPROF_SESSION_SECRET_FILE: {file} has {len(secret)} bytes, fewer than {_SECRET_BYTES}. Make a secret "
            "with `openssl rand -hex 32`."
        )
    return secret


def _secret_of_state(state_dir: Path) -> bytes:
    """The state directory's secret; the first process creates it."""
    path = state_dir / "api-secret"
    state_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    if not path.exists():
        fresh = state_dir / f".api-secret-{secrets.token_hex(8)}"
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            pass  # another process was faster: its secret counts
        finally:
            fresh.unlink()
    secret = path.read_bytes()
    if len(secret) < _SECRET_BYTES:
        raise SettingsProblem(f"{path} is damaged; remove it, then open a new link with `fleetprof url`.")
    return secret


def signed(secret: bytes, purpose: str, fields: tuple[str, ...]) -> str:
    """The fields, which contain no dot, and their signature for that purpose."""
    text = ".".join(fields)
    return f"{text}.{signature(secret, purpose, text)}"


def verified(secret: bytes, purpose: str, text: str, count: int) -> list[str] | None:
    """The fields of a text signed for that purpose; None: the signature or the number of fields is wrong."""
    body, _, found = text.rpartition(".")
    if not same(signature(secret, purpose, body), found):
        return None
    fields = body.split(".")
    return fields if len(fields) == count else None


def signature(secret: bytes, purpose: str, text: str) -> str:
    """A signature of URL-safe characters."""
    message = f"fleetprof {purpose}\0{text}".encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.new(secret, message, sha256).digest()).rstrip(b"=").decode()


def same(expected: str, found: str) -> bool:
    """Whether the texts are equal. Right and wrong texts take equally long."""
    return hmac.compare_digest(expected.encode(), found.encode("utf-8", "surrogatepass"))
