"""Access to an API, with the records of sign-in in a test's database or, where none is at hand, in memory."""

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine

from services.api.access_records import DatabaseRecords, RecordCopy, Records
from services.api.auth import Access
from services.api.login_links import mint_login_url
from services.api.signing import session_secret
from services.api.tokens import Role, parse_tokens


class MemoryAccessRecords:
    """`services.api.access_records.AccessRecords` of one process."""

    def __init__(self) -> None:
        self.spent: set[str] = set()
        self.records = Records()

    def spend_link(self, nonce: str, expires_at: datetime) -> bool:
        if nonce in self.spent:
            return False
        self.spent.add(nonce)
        return True

    def end_session(self, nonce: str, expires_at: datetime) -> None:
        self.records = Records(self.records.ended | {nonce}, self.records.tokens)

    def read(self, used_tokens: Collection[int]) -> Records:
        return self.records


def access_of(state_dir: Path, tokens: Sequence[str] = (), engine: Engine | None = None, **options) -> Access:
    """By tokens, and by links of this state directory; its records are read."""
    # An app that does not start as a whole reads them once: for it no time passes.
    copy = (
        RecordCopy(MemoryAccessRecords(), clock=lambda: 0.0)
        if engine is None
        else RecordCopy(DatabaseRecords(engine))
    )
    made = Access(session_secret(state_dir), copy, parse_tokens(tokens), **options)
    made.records.refresh()
    return made


def login_url(state_dir: Path, url: str, role: Role = Role.ADMIN) -> str:
    """A link that the user of this state directory makes."""
    return mint_login_url(session_secret(state_dir), url, role)
