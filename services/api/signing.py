"""Texts signed with the secret of a state directory, and marks that its processes share."""

import base64
import hmac
import os
import secrets
import time
from hashlib import sha256
from pathlib import Path

from services.errors import SettingsProblem

_SECRET_BYTES = 32


def secret_of(state_dir: Path) -> bytes:
    """The state directory's secret; the first process creates it. Raises SettingsProblem for a damaged one."""
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


class Marks:
    """Empty files of a folder. Each is created once, by any process."""

    def __init__(self, folder: Path, keep_s: float) -> None:
        """Creating a mark removes those older than `keep_s` seconds."""
        self._folder = folder
        self._keep_s = keep_s

    def make(self, name: str) -> bool:
        """Create the mark; True for the first caller only."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.close(os.open(self._folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        for entry in os.scandir(self._folder):
            if entry.stat().st_mtime < time.time() - self._keep_s:
                Path(entry.path).unlink(missing_ok=True)
        return True

    def has(self, name: str) -> bool:
        """Whether the mark exists."""
        return (self._folder / name).exists()
