"""GIVEN settings WHEN something they name is missing, ends soon or does not answer THEN the doctor says so and what it costs."""

import json
import shutil
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.doctor.findings import Grade
from services.certificates.kinds import Kind
from services.certificates.register import Register
from services.configuration.settings import Settings
from services.diagnostics.external_checks import certificates, debuginfod
from services.diagnostics.server_checks import examine_server
from services.diagnostics.storage_checks import archive, broker, database, disks, folder
from tests.http_stub import Server, redirects


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    """Settings that name nothing, of a machine where nothing runs."""
    for name in ("FLEETPROF_DATABASE_URL", "DATABASE_URL", "FLEETPROF_REDIS_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    return Settings(state_dir=tmp_path)


def grades(findings):
    return {finding.subject: finding.grade for finding in findings}


def test_a_machine_where_nothing_is_set_up_yet_has_nothing_bad(nothing):
    found = examine_server(nothing)
    assert {finding.grade for finding in found} <= {Grade.FINE, Grade.NOTE}
    assert all(finding.costs and finding.remedy for finding in found if finding.grade is not Grade.FINE)


def test_servers_that_do_not_answer_are_bad(nothing):
    settings = nothing.model_copy(
        update={"database_url": "postgresql://u@127.0.0.1:1/x", "redis_url": "redis://127.0.0.1:1/0"}
    )
    assert grades(database(settings)) == {"database": Grade.BAD}
    assert broker(settings).grade is Grade.BAD


def test_an_archive_that_gives_back_what_it_was_given_is_fine_and_left_as_it_was(nothing, tmp_path):
    (tmp_path / "archive").mkdir()
    assert archive(nothing).grade is Grade.FINE
    assert not [path for path in (tmp_path / "archive").rglob("*") if path.is_file()]
    (tmp_path / "file").touch()
    broken = nothing.model_copy(update={"archive_url": "nowhere://x"})
    assert archive(broken).grade is Grade.BAD


def test_a_folder_is_tried(tmp_path):
    assert folder("symbols", tmp_path, "X").grade is Grade.FINE
    assert not list(tmp_path.iterdir())
    assert folder("symbols", tmp_path / "none", "X").grade is Grade.NOTE
    missing = folder("symbols", tmp_path, "X")
    assert missing.subject == "symbols"


def test_a_folder_that_takes_nothing_is_bad():
    assert folder("symbols", Path("/proc"), "X").grade is Grade.BAD


def test_certificates_are_bad_from_a_month_before_they_end(nothing, tmp_path):
    now = datetime.now(UTC)
    for name, days in (("soon", 20), ("later", 300)):
        Register(tmp_path / "certs").init(keep=True)
        Register(tmp_path / "certs").issue(Kind.GATEWAY, (name,), days=days)
    old = Register(tmp_path / "old", now=now - timedelta(days=10))
    old.init()
    ended = old.issue(Kind.COLLECTOR, ("main",), days=5)
    (tmp_path / "damaged").write_text("no certificate")
    settings = nothing.model_copy(
        update={
            "gateway_cert": ended.certificate,
            "gateway_ca": tmp_path / "old/ca.crt",
            "api_tls_cert": tmp_path / "damaged",
        }
    )
    found = grades(certificates(settings))
    assert found == {
        "collector's certificate": Grade.BAD,
        "gateways' authority": Grade.FINE,
        "API's certificate": Grade.BAD,
        "certs ca.crt": Grade.FINE,
        "certs gateway/soon.crt": Grade.BAD,
        "certs gateway/later.crt": Grade.FINE,
    }


@contextmanager
def answering(status):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(status)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("status", "grade"), [(404, Grade.FINE), (503, Grade.BAD)])
def test_a_debuginfod_server_is_asked_for_what_nobody_has(nothing, status, grade):
    with answering(status) as url:
        settings = nothing.model_copy(update={"debuginfod_urls": (url,)})
        assert [finding.grade for finding in debuginfod(settings)] == [grade]


def test_a_debuginfod_server_out_of_reach_is_bad(nothing):
    (found,) = debuginfod(nothing.model_copy(update={"debuginfod_urls": ("http://127.0.0.1:1",)}))
    assert found.grade is Grade.BAD
    assert "unreachable" in found.says


def test_little_room_on_a_disk_is_bad(nothing, monkeypatch):
    def usage(_):
        return shutil._ntuple_diskusage(100 << 30, 98 << 30, 2 << 30)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert set(grades(disks(nothing)).values()) == {Grade.BAD}


def test_the_command_prints_json_and_fails_where_something_is_bad(nothing, tmp_path):
    from services.cli import app

    environment = {"FLEETPROF_STATE_DIR": str(tmp_path), "FLEETPROF_REDIS_URL": "redis://127.0.0.1:1/0"}
    done = CliRunner().invoke(app, ["doctor", "server", "--json"], env=environment)
    assert done.exit_code == 1
    rows = {row["subject"]: row for row in json.loads(done.output)}
    assert rows["broker"]["grade"] == "bad"
    assert rows["broker"]["remedy"]


def test_a_debuginfod_server_that_redirects_elsewhere_is_bad_as_its_client_follows_it_nowhere(nothing):
    server, other = Server(), Server("127.0.0.2")
    try:
        server.answer = redirects(other.url)
        (found,) = debuginfod(nothing.model_copy(update={"debuginfod_urls": (server.url,)}))
    finally:
        server.close()
        other.close()
    assert found.grade is Grade.BAD
    assert "redirects to another server" in found.says
    assert other.asked == []
