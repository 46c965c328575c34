"""Two API processes of one installation: one database, one secret, and a state directory for each."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.access_records import DatabaseRecords, RecordCopy
from services.api.app import create_app
from services.api.auth import Access
from services.api.signing import session_secret
from services.api.tokens import parse_tokens
from storage.query.query_engine import QueryEngine
from tests.integration.api.fetch_answers import ADMIN, BASE, OPERATOR, TOKEN

TOKENS = (f"viewer:{TOKEN}", f"operator:{OPERATOR}", f"admin:{ADMIN}")


@contextmanager
def two_replicas(engine: Engine, folder: Path) -> Iterator[tuple[TestClient, TestClient]]:
    """Clients of both."""
    file = folder / "secret"
    file.write_text("s" * 64)
    with ExitStack() as opened:

        def replica(name: str) -> TestClient:
            queries = QueryEngine(engine)
            opened.callback(queries.close)
            secret = session_secret(folder / name, file)
            access = Access(secret, RecordCopy(DatabaseRecords(engine)), parse_tokens(TOKENS))
            app = create_app(queries, access, static=folder, shared=engine)
            return opened.enter_context(TestClient(app, base_url=BASE))

        yield replica("one"), replica("other")
