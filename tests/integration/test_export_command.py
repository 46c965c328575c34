"""`fleetprof export`: the same as the API, in files."""

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from services.cli import app
from tests import go_pprof
from tests.fact_writer import FactWriter

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
RANGE = ["--from", "2026-11-21T11:00:00Z", "--to", "2026-11-21T13:00:00Z"]


@pytest.fixture
def export(engine: Engine, database_url: str):
    """Runs the command over two stacks of two applications."""
    with engine.begin() as connection:
        write = FactWriter(connection)
        main, read = write.function("main", binary="prog"), write.function("read", binary="libc.so.6")
        shallow, deep = write.stack([main]), write.stack([main, read])
        visit = write.visit("m1", NOON)
        write.profile(visit, {shallow: 50, deep: 30}, labels={"application": "web"})
        write.profile(visit, {deep: 20}, labels={"application": "batch"})
    runner = CliRunner(env={"FLEETPROF_DATABASE_URL": database_url, "COLUMNS": "200", "TERM": "dumb"})
    return lambda *options: runner.invoke(app, ["export", *RANGE, *options])


@pytest.mark.slow
def test_every_form_is_written(export, tmp_path: Path) -> None:
    pprof = tmp_path / "x.pb.gz"
    done = export("-o", str(pprof))
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"{pprof}: {pprof.stat().st_size:,} bytes" in done.stderr
    top = go_pprof.top(go_pprof.ask(pprof, "-top", "-sample_index=samples"))
    assert top == {"main": (50, 100), "read": (50, 50)}

    lines = export("--format", "collapsed", "--value", "samples")
    assert lines.stdout == "main 50\nmain;read 50\n"
    below = export("--format", "collapsed", "--value", "samples", "--labels", "app")
    assert below.stdout == "web;main 50\nbatch;main;read 20\nweb;main;read 30\n"
    scope = tmp_path / "x.speedscope.json"
    assert export("-o", str(scope)).exit_code == 0
    assert json.loads(scope.read_text())["profiles"][0]["samples"]

    table = export("--format", "csv", "--by", "application")
    assert table.stdout.splitlines()[0].startswith('"application","function_id","self"')
    assert len(table.stdout.splitlines()) == 3
    rows = tmp_path / "x.json"
    assert export("-o", str(rows), '{app="web"}').exit_code == 0
    assert json.loads(rows.read_text())["totals"]["samples"] == 80
    arrow = tmp_path / "x.arrow"
    assert export("-o", str(arrow), "--limit", "1").exit_code == 0
    assert arrow.read_bytes()


def test_what_cannot_be_done_is_said(export, tmp_path: Path) -> None:
    assert export("--by", "function").exit_code == 2
    assert export("-o", str(tmp_path)).exit_code == 2
    assert "SELECT" in export("{oops").stderr
    nowhere = export("-o", str(tmp_path / "none" / "x.csv"))
    assert nowhere.exit_code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_terminal_gets_no_binary() -> None:
    ours, theirs = pty.openpty()
    try:
        run = subprocess.run(
            [sys.executable, "-m", "services", "export"],
            check=False,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env={**os.environ, "FLEETPROF_DATABASE_URL": "postgresql://unused@127.0.0.1:1/none"},
            text=True,
            timeout=120,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert run.returncode == 2
    assert "is a binary format" in run.stderr
