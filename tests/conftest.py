"""Real servers for the tests: one PostgreSQL and one Valkey a session, one fresh database a test."""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4
from zlib import crc32

import psycopg2
import pytest
import redis
import structlog
from hypothesis import HealthCheck, is_hypothesis_test, settings
from sqlalchemy import Engine
from sqlalchemy.engine import make_url

from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from storage import migrate
from storage.archive import Archive
from storage.database import open_engine

TEMPLATE = "fleetprof_template"
# How many times as many examples hypothesis tries as the tests say.
TIMES_EXAMPLES = max(1, int(os.environ.get("FLEETPROF_EXAMPLES", "1")))

# An example has no time limit, because any of them may be slow on a busy machine. Each run tries the same
# examples, so that a change is what makes it fail; runs with more examples draw new ones.
settings.register_profile(
    "fleetprof",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=TIMES_EXAMPLES == 1,
)
settings.load_profile("fleetprof")


@pytest.fixture(scope="session", autouse=True)
def _plain_tracebacks() -> None:
    """As in production (`services.process_setup.logs`): structlog's own ones draw all locals, which takes seconds for each exception."""
    *processors, _ = structlog.get_config()["processors"]
    console = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*processors, console])


@pytest.fixture(scope="session")
def server_directory() -> Iterator[Path]:
    """A folder that the servers' own user can enter too, with a path short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="fp-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url(server_directory: Path) -> Iterator[str]:
    """A PostgreSQL server of the session's own; the URL is its maintenance database's."""
    server = EmbeddedPostgres(
        server_directory / "postgres",
        options={
            "fsync": "off",
            "full_page_writes": "off",
            "shared_buffers": "64MB",
            "max_wal_size": "256MB",
        },
    )
    server.start()
    yield server.url("postgres")
    server.stop()


@pytest.fixture(scope="session")
def database_template(postgres_url: str) -> str:
    """A migrated database that tests' own are copied from."""
    administer(postgres_url, f"CREATE DATABASE {TEMPLATE}")
    migrate.upgrade(sibling(postgres_url, TEMPLATE))
    return TEMPLATE


@pytest.fixture
def database_url(postgres_url: str, database_template: str) -> Iterator[str]:
    """A fresh migrated database, without partitions, dropped after the test."""
    with _database(postgres_url, database_template) as url:
        yield url


@pytest.fixture(scope="module")
def module_engine(postgres_url: str, database_template: str) -> Iterator[Engine]:
    """As `engine`, of a database that the tests of a module share: for what is written once and only read."""
    with _database(postgres_url, database_template) as url:
        opened = open_engine(url, application="test")
        yield opened
        opened.dispose()


@contextmanager
def _database(postgres_url: str, template: str) -> Iterator[str]:
    name = f"test_{uuid4().hex[:12]}"
    # Without fsync copying files is cheaper than writing every block to the log.
    administer(postgres_url, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    yield sibling(postgres_url, name)
    administer(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Connections to the test's database."""
    opened = open_engine(database_url, application="test")
    yield opened
    opened.dispose()


@pytest.fixture(scope="session")
def valkey(server_directory: Path) -> Iterator[EmbeddedValkey]:
    """A Valkey server of the session's own; tests that share it use databases 0 to 15 or names of their own."""
    server = EmbeddedValkey(server_directory / "valkey")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def valkey_url(valkey: EmbeddedValkey) -> str:
    """Where Celery reaches the Valkey server, emptied."""
    with redis.Redis.from_url(valkey.client_url()) as client:
        client.flushall()
    return valkey.url()


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """An empty archive in a directory."""
    return Archive(str(tmp_path / "archive"))


def sibling(url: str, database: str) -> str:
    return make_url(url).set(database=database).render_as_string(hide_password=False)


def administer(url: str, statement: str) -> None:
    at = make_url(url)
    with closing(
        psycopg2.connect(host=at.query["host"], port=at.query["port"], user=at.username, dbname=at.database)
    ) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)


def more_examples(item: pytest.Item, times: int) -> None:
    """Have a test of hypothesis try so many times as many, in as much more time.

    A profile would not do: it changes only tests that do not say themselves how many they try, which most do.
    """
    test = getattr(item, "function", None)
    if times == 1 or not is_hypothesis_test(test) or hasattr(test, "fleetprof_times"):
        return
    said = vars(test)["_hypothesis_internal_use_settings"]
    vars(test)["_hypothesis_internal_use_settings"] = settings(said, max_examples=times * said.max_examples)
    vars(test)["fleetprof_times"] = times  # the function of many items, when it is parametrized


def more_time(item: pytest.Item, times: int) -> None:
    """Let it take as many times as long."""
    if times == 1 or not is_hypothesis_test(getattr(item, "function", None)):
        return
    said = item.get_closest_marker("timeout")
    limit = said.args[0] if said and said.args else float(item.config.getini("timeout") or 0)
    if limit:
        item.add_marker(pytest.mark.timeout(times * limit), append=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fleetprof")
    group.addoption("--slow", action="store_true", help="only tests that are marked slow (`make test-slow`)")
    group.addoption("--part", default="1/1", metavar="N/M", help="only the Nth of M parts of the files")


def chosen(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests of this run: without paths and names those that are not slow, with --slow those that are."""
    tests = Path(__file__).parent
    everything = all((config.invocation_params.dir / path).resolve() == tests for path in config.args)
    number, of = map(int, config.getoption("part", "1/1").split("/"))
    slow_ones = config.getoption("slow", default=False)
    return [
        item
        for item in items
        if crc32(str(item.path.relative_to(config.rootpath)).encode()) % of == number - 1
        and (
            (item.get_closest_marker("slow") is not None) == slow_ones
            or (not slow_ones and (not everything or bool(config.option.keyword)))
        )
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests of other runs; files that may take longest go first, so that two at a time end together.

    What a file may take is the longest limit of its tests; of equals those that start processes come first.
    """
    ours = chosen(config, items)
    if len(ours) < len(items):
        kept = set(ours)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = ours
    times = TIMES_EXAMPLES
    for item in items:
        more_examples(item, times)
        more_time(item, times)
    longest = dict[Path, tuple[float, bool]]()
    for item in items:
        limit = item.get_closest_marker("timeout")
        its = (
            limit.args[0] if limit and limit.args else 0.0,
            item.get_closest_marker("integration") is not None,
        )
        longest[item.path] = max(longest.get(item.path, its), its)
    items.sort(key=lambda item: longest[item.path], reverse=True)


def pytest_collection() -> None:
    """What collecting makes stays, so that nothing of it is garbage: to look for some takes a quarter of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nor is it looked at again and again while tests run."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """With FLEETPROF_NO_SKIP=1, where nothing may be lacking, a skipped test has failed.

    Unless its reason begins with "rare: ": what no package of the distribution brings, or the date does not allow.
    """
    report = yield
    strict = os.environ.get("FLEETPROF_NO_SKIP") == "1" and "rare: " not in str(call.excinfo)
    if report.skipped and strict and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and FLEETPROF_NO_SKIP is set: {call.excinfo}"
    return report
