"""GIVEN a machine with nothing prepared WHEN `fleetprof up` runs THEN it does the whole job for real.

These tests start the program as a person does, as its own process, with real servers, a real
gateway sampling this machine, and real programs running beside it.
"""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from services.client import connect
from services.deployment.preflight import judge, read_facts
from services.deployment.running_deployment import RunningDeployment, find_running_deployment, run_dir
from services.embedded.postgres import EmbeddedPostgres
from storage import campaigns
from storage.database import open_engine

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]

# Two thirds of a CPU are left to what is tested and to its neighbours.
BUSY = """
import time
def hot_integers(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
print("busy", flush=True)
while True:
    began = time.monotonic()
    hot_integers(100_000)
    time.sleep(2 * (time.monotonic() - began))
"""


SHORT_ROUND_S = 2.0
SHORT_WINDOW_MS = 1000


@pytest.fixture(scope="module", autouse=True)
def _perf_events():
    verdict = judge(read_facts())
    if verdict.problem is not None:
        pytest.skip(verdict.problem)


@pytest.fixture(scope="module")
def states() -> Iterator[Path]:
    """A folder PostgreSQL's own user can enter too, with a path short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="fpup-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Run:
    """A `fleetprof up` that has ended."""

    state_dir: Path
    done: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def first_run(states: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Where nothing was prepared, and with somebody's own project as the working directory."""
    project = tmp_path_factory.mktemp("project")
    for package in ("services", "storage", "gateway"):
        (project / package).mkdir()
        (project / package / "__init__.py").write_text("raise SystemExit('code of the working directory')")
    state_dir = states / "first"
    with kept_busy():
        done = subprocess.run(
            up_command("--for", "25s", "--rows", "15"),
            cwd=project,
            env=environment(state_dir),
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
    return Run(state_dir, done)


@pytest.fixture(scope="module")
def prepared(first_run: Run) -> Path:
    """The state of the first run, whose campaign has short rounds now."""
    server = EmbeddedPostgres(first_run.state_dir / "postgres")
    server.start()
    engine = open_engine(server.url(), application="test", pool_size=1)
    with engine.begin() as connection:
        standing = campaigns.get(connection, campaigns.FLEET).definition
        events = tuple(replace(event, duration_ms=SHORT_WINDOW_MS) for event in standing.events)
        campaigns.create_or_update(connection, replace(standing, period_s=SHORT_ROUND_S, events=events))
    engine.dispose()
    server.stop()
    return first_run.state_dir


@pytest.fixture
def state_dir(states: Path, prepared: Path) -> Iterator[Path]:
    """A copy of that state, to go on with: its tables are made, and what runs here has its symbols built."""
    folder = Path(tempfile.mkdtemp(prefix="s", dir=states))
    folder.chmod(0o711)
    subprocess.run(["cp", "--archive", f"{prepared}/.", folder], check=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kept_busy() -> Iterator[None]:
    """A program nobody here wrote, kept busy: the Python interpreter."""
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield
        process.kill()


@pytest.fixture
def busy() -> Iterator[None]:
    with kept_busy():
        yield


def up_command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "services", "up", "--port", "0", *arguments]


def environment(state_dir: Path) -> dict[str, str]:
    bare = {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "REDIS_URL"}}
    return bare | {"FLEETPROF_STATE_DIR": str(state_dir)}


def until(condition: Callable[[], object], what: str, seconds: float = 90.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not in {seconds:.0f} s: {what}"
        time.sleep(0.1)
    return value


def ingested(stack: RunningDeployment) -> list[dict]:
    """Every capture with what is ingested of it."""
    engine = open_engine(stack.database_url, application="test", pool_size=1)
    try:
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(INGESTED).mappings()]
    finally:
        engine.dispose()


INGESTED = text("""
    SELECT c.visit_id, c.samples, c.ingested, c.wanted, c.quarantined, c.attempts, c.failure, c.archived_at, c.leased_until,
           coalesce(sum(p.samples), 0)::bigint AS profiled,
           count(p.*) AS profiles,
           array_agg(DISTINCT p.generation) AS generations
    FROM capture c LEFT JOIN profile p USING (visit_id)
    GROUP BY c.visit_id ORDER BY c.archived_at
""")


def test_it_profiles_what_runs_prints_the_table_and_exits_with_0(first_run):
    state_dir, done = first_run.state_dir, first_run.done
    assert done.returncode == 0, done.stdout + done.stderr
    assert "http://127.0.0.1:" in done.stdout
    assert "_PyEval_EvalFrameDefault" in done.stdout, done.stdout
    assert "symbolized" in done.stdout
    ending = (
        "Waiting for running visits",
        "Ingesting the last captures",
        "All captures are ingested.",
        "Stopping",
    )
    found = [done.stdout.find(said) for said in ending]
    assert -1 not in found
    assert found == sorted(found), "whoever reads a file sees how far it is"
    assert find_running_deployment(state_dir) is None
    assert left(state_dir) == []


def left(state_dir: Path) -> list[str]:
    """What still runs of an `up`."""
    return [line for line in processes() if str(state_dir) in line]


def processes() -> list[str]:
    lines = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                lines.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return lines


class Up:
    """A running `fleetprof up`."""

    def __init__(self, state_dir: Path, **settings: str) -> None:
        self.state_dir = state_dir
        self.log = state_dir / "up.out"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                up_command(), env=environment(state_dir) | settings, stdout=log, stderr=log
            )

    def __enter__(self):
        until(self.alive_and_announced, "the stack is up")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        EmbeddedPostgres(self.state_dir / "postgres").stop()

    def alive_and_announced(self) -> RunningDeployment | None:
        assert self.process.poll() is None, self.log.read_text()
        return find_running_deployment(self.state_dir)

    @property
    def stack(self) -> RunningDeployment:
        found = find_running_deployment(self.state_dir)
        assert found is not None
        return found

    def child(self, word: str) -> int:
        """Process id of the child whose command line has this word."""

        def find() -> int | None:
            for folder in Path("/proc").iterdir():
                if not folder.name.isdigit():
                    continue
                try:
                    parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                except (OSError, IndexError):
                    continue
                if parent == self.process.pid and word.encode() in words:
                    return int(folder.name)
            return None

        return until(find, f"{word} runs")

    def processes(self) -> set[int]:
        """Numbers of `up` itself and of all that it started, and that these started."""
        parents = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with suppress(OSError):
                    parents[int(folder.name)] = int(
                        (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
                    )
        ours = {
            self.process.pid,
            EmbeddedPostgres(self.state_dir / "postgres").pid,
            first_number(self.state_dir / "valkey"),
        }
        while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
            ours |= more
        return {pid for pid in ours if pid is not None}

    def environments(self) -> dict[str, str]:
        """What each process of the stack has in its environment, by its command line."""
        found = {}
        for pid in self.processes() - {self.process.pid}:
            with suppress(OSError):  # one that has ended
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[f"{pid} {command}"] = Path(f"/proc/{pid}/environ").read_text()
        return found

    def listeners(self) -> tuple[set[str], set[int]]:
        """Addresses that the stack listens on by TCP, as the kernel writes them, and modes of its Unix sockets."""
        sockets = set()
        for pid in self.processes():
            for link in Path(f"/proc/{pid}/fd").glob("*"):
                with suppress(OSError):  # it was closed meanwhile
                    sockets.add(str(link.readlink()))
        addresses, paths = set(), set()
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:  # TCP_LISTEN
                    addresses.add(fields[1].rpartition(":")[0])
        for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
            fields = line.split(maxsplit=7)
            if len(fields) > 7 and f"socket:[{fields[6]}]" in sockets:
                paths.add(Path(fields[7]))
        return addresses, {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_socket()}

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(120)


def test_ctrl_c_while_starting_ends_it_at_once_and_leaves_nothing(states):
    state_dir = states / "new"
    starting = subprocess.Popen(
        up_command(),
        env=environment(state_dir),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with starting, starting.stdout:
        for line in starting.stdout:
            if "PostgreSQL" in line:
                starting.send_signal(signal.SIGINT)
                break
        said = starting.stdout.read()
    assert starting.returncode == 1
    assert "Stopped before all parts had started" in said
    assert "Browse" not in said
    assert left(state_dir) == []


def test_a_second_ctrl_c_skips_what_is_not_ingested_but_stops_everything(state_dir):
    with Up(state_dir) as up:
        for _ in range(3):
            up.process.send_signal(signal.SIGINT)
            time.sleep(0.3)  # else they are one signal
        up.process.wait(60)
        assert left(state_dir) == []


def test_a_terminal_that_closes_stops_everything(state_dir):
    terminal, end = os.openpty()
    process = subprocess.Popen(
        up_command(), env=environment(state_dir), stdin=end, stdout=end, stderr=end, start_new_session=True
    )
    os.close(end)
    try:
        with open(terminal, "rb", closefd=False) as shown:
            until(lambda: b"Browse" in shown.readline(), "the stack is up")
    finally:
        os.close(terminal)  # from here on it cannot write either
    process.send_signal(signal.SIGHUP)
    process.wait(60)
    assert left(state_dir) == []


def test_whatever_is_killed_every_archived_capture_is_ingested_exactly_once(state_dir, busy):
    with Up(state_dir) as up:

        def captures() -> dict[UUID, bool] | None:
            """Whether each is ingested."""
            try:
                return {row["visit_id"]: row["ingested"] > 0 for row in ingested(up.stack)}
            except Exception:  # noqa: BLE001 - the database is down on purpose
                return None

        def newer_ingest(than: Collection[UUID]) -> bool:
            return any(
                is_ingested and visit_id not in than for visit_id, is_ingested in (captures() or {}).items()
            )

        earlier = until(captures, "the database answers")
        until(lambda: newer_ingest(earlier), "a first capture is ingested")
        victims = {
            "worker": lambda: up.child("worker"),
            "collector": lambda: up.child("collector"),
            "valkey": lambda: first_number(state_dir / "valkey"),
            "postgres": lambda: EmbeddedPostgres(state_dir / "postgres").pid,
        }
        for name, find in victims.items():
            victim = until(find, f"{name} runs")
            os.kill(victim, signal.SIGKILL)
            until(lambda find=find, victim=victim: find() not in {victim, None}, f"{name} runs again")
            # What was archived before may be ingested without the one that was killed.
            before = until(captures, "the database answers")
            until(
                lambda before=before: newer_ingest(before),
                f"captures are ingested after {name} was killed",
                120,
            )
        assert up.interrupt() == 0, up.log.read_text()

    server = EmbeddedPostgres(state_dir / "postgres")
    server.start()
    try:
        stack = RunningDeployment(0, server.url(), "", "", "")
        rows = ingested(stack)
    finally:
        server.stop()
    assert len(rows) - len(earlier) >= 5
    for row in rows:
        # Once more is once a generation: better symbols may have come of what ran here.
        assert row["ingested"] == row["wanted"] >= 1, row
        assert row["generations"] == [row["ingested"]]
        assert row["quarantined"] is None
        assert row["profiled"] == row["samples"], row


def test_no_part_is_given_secrets_of_another_and_strangers_reach_none(state_dir):
    tokens = "token-of-an-operator", "token-of-a-client", "passphrase-of-the-authority"
    names = "FLEETPROF_API_TOKENS", "FLEETPROF_TOKEN", "FLEETPROF_CA_PASSPHRASE"
    texts = (f"operator:{tokens[0]}", *tokens[1:])
    of_the_shell = {"AWS_SECRET_ACCESS_KEY": "key-of-an-archive", "PGPASSWORD": "password-of-a-person"}
    with Up(state_dir, **dict(zip(names, texts, strict=True)), **of_the_shell) as up:
        environments = up.environments()
        kept = everything_in(up.stack.database_url)
        addresses, modes = up.listeners()
        assert up.interrupt() == 0

    def holders(text: str) -> set[str]:
        return {command for command, variables in environments.items() if text in variables}

    def those(word: str) -> set[str]:
        found = {command for command in environments if word in command}
        assert found, word
        return found

    assert all(map(those, ("postgres", "valkey-server", "services worker", "services collector")))
    assert those("services api")
    assert not [text for text in (*tokens, "viewer:", *of_the_shell.values()) if holders(text)]
    for variable in ("FLEETPROF_", "DATABASE_URL=", "REDIS_URL=", *of_the_shell):
        assert not those("-m gateway") & holders(variable), "a gateway has no settings"

    assert campaigns.FLEET in kept
    signing = (state_dir / "api-secret").read_bytes()
    assert not [secret for secret in (*tokens, signing.hex()) if secret in kept]

    assert addresses == {"0100007F"}, "127.0.0.1 alone"
    assert modes <= {0o600, 0o700}
    assert modes


def everything_in(url: str) -> str:
    """All rows of all tables, as PostgreSQL writes them."""
    engine = open_engine(url, application="test", pool_size=1)
    try:
        with engine.connect() as connection:
            names = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'public'"
            tables = connection.execute(text(names)).scalars().all()
            return "\n".join(
                row
                for table in tables
                for row in connection.execute(text(f"SELECT t::text FROM {table} t")).scalars()
            )
    finally:
        engine.dispose()


def first_number(folder: Path) -> int | None:
    from services.embedded.valkey import EmbeddedValkey

    return EmbeddedValkey(folder).pid


def test_a_second_start_keeps_the_data_and_a_second_up_is_refused(state_dir, busy):
    with Up(state_dir) as up:
        earlier = {row["visit_id"] for row in ingested(up.stack)}
        assert earlier, "what the first run ingested is there"

        def new() -> set[UUID]:
            return {row["visit_id"] for row in ingested(up.stack) if row["ingested"]} - earlier

        until(new, "a capture is ingested")
        refused = subprocess.run(
            up_command(), env=environment(state_dir), capture_output=True, text=True, timeout=60, check=False
        )
        assert refused.returncode == 1
        assert "already runs" in refused.stderr
        assert "fleetprof url" in refused.stderr
        kept = new()
        assert up.interrupt() == 0
        assert not find_running_deployment(state_dir)
    with Up(state_dir) as up:
        assert new() >= kept, "what the first one ingested is there"
        answer = subprocess.run(
            [sys.executable, "-m", "services", "query", "--json"],
            env=environment(state_dir),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert json.loads(answer.stdout)["totals"]["samples"] > 0
        data = run_dir(state_dir) / "data.sock"
        assert stat.S_IMODE(data.stat().st_mode) == 0o600
        with connect(f"unix:{data}", retries=0) as client:
            assert sum(visit.units for visit in client.profiles()) > 0
            assert next(iter(client.captures())).message().format == 1
        assert up.interrupt() == 0
        assert not data.exists()


def test_a_gateway_that_is_down_stops_the_campaign_and_says_so(state_dir):
    with Up(state_dir) as up:
        engine = open_engine(up.stack.database_url, application="test", pool_size=1)
        with engine.begin() as connection:
            connection.execute(text("UPDATE machine SET address = 'unix:/nonexistent/gateway.sock'"))
            connection.execute(text("UPDATE campaign SET period_s = 1, failure_window = 5"))

        def stopped() -> str | None:
            with engine.connect() as connection:
                row = connection.execute(text("SELECT state, state_why FROM campaign")).one()
                return row.state_why if row.state == "stopped" else None

        why = until(stopped, "the brake stops the campaign")
        engine.dispose()
        assert "unreachable" in why
        said = subprocess.run(
            [sys.executable, "-m", "services", "campaigns", "list"],
            env=environment(state_dir),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        assert "stopped" in said
        assert up.interrupt() == 0
        assert "stopped" in up.log.read_text()
