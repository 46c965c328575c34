"""GIVEN docs/export.md WHEN its examples are run against a real API THEN they print what it says."""

import os
import re
import shutil
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
import uvicorn
from sqlalchemy import Engine

from services.api.app import create_app
from services.api.profiles import call_graph, diff, flame, labels, reliability, stacks, status, table
from storage.query.query_engine import QueryEngine
from tests import go_pprof
from tests.access_records import access_of
from tests.polling import until
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

TEXT = (Path(__file__).parents[2] / "docs/export.md").read_text()
TOKEN = "t" * 24
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
EXAMPLES = _BLOCK.findall(TEXT)


@pytest.fixture
def url(engine: Engine, tmp_path: Path):
    """An API over eight visits, 5 s each, of a hundred machines in an hour."""
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 100}, random=Random(1))
        write = campaign.write
        main, work, read = (
            write.function(name, file=file, binary=binary, kind=kind)
            for name, file, binary, kind in (
                ("main", "main.c", "prog", 0),
                ("work", "work.c", "prog", 0),
                ("ksys_read", "", "vmlinux", 1),
            )
        )
        busy, waits = write.stack([main, work]), write.stack([main, read])
        for number in range(8):
            at = NOON + timedelta(minutes=5 * number)
            visit = campaign.answer(at, "east", utilisation=0.5, machine=f"m{number}")
            write.profile(visit, {busy: 60 + number, waits: 20}, labels={"application": "web"})
            write.profile(visit, {busy: 10}, labels={"application": "batch"})
    queries = QueryEngine(engine)
    access = access_of(tmp_path / "state", [f"viewer:{TOKEN}"])
    server = uvicorn.Server(
        uvicorn.Config(create_app(queries, access, static=tmp_path), port=0, lifespan="off", log_config=None)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        queries.close()


@pytest.mark.slow
def test_the_examples_print_what_is_said(url: str, database_url: str, tmp_path: Path) -> None:
    assert len(EXAMPLES) == 8
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    go_pprof.pprof()
    environment = {
        **os.environ,
        "URL": url,
        "TOKEN": TOKEN,
        "FLEETPROF_DATABASE_URL": database_url,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PPROF_TMPDIR": str(tmp_path),
    }
    for language, program, expected in EXAMPLES:
        command = ["sh", "-euc", program] if language == "sh" else [sys.executable, "-c", program]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert lines(done.stdout) == lines(expected), program


def lines(text: str) -> list[str]:
    """Blanks do not count, nor do a number's last digits: sums differ in them by the order of their terms."""
    rounded = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.6g}", text)
    return [" ".join(line.split()) for line in rounded.strip().splitlines()]


def test_every_form_is_in_the_table() -> None:
    for module in (table, diff, reliability, labels, status, call_graph):
        forms = getattr(module, "FORMS", None) or module._FORMS
        assert {form.name for form in forms.forms} >= {"json", "arrow", "csv"}, module.__name__
    for form in (*stacks.FORMS.forms, *flame._FORMS.forms):
        assert f"`{form.name}`" in TEXT, form.name
        assert f"`{form.media_type}`" in TEXT, form.media_type
