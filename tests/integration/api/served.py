"""The API over a store with a few samples, or with a fleet of twelve visits."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.app import create_app
from services.api.auth import Access
from storage.query.query_engine import QueryEngine
from tests.access_records import access_of
from tests.fact_writer import FactWriter
from tests.integration.api.fetch_answers import ADMIN, BASE, NOON, OPERATOR, TOKEN
from tests.sampled_campaign import Campaign


def pages(folder: Path) -> Path:
    """A built web UI in the folder, beside what is not for everybody."""
    static = folder / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<title>the page</title>")
    (static / "assets" / "main-1a2b.js").write_text("start()")
    (folder / "secret.txt").write_text("not for everybody")
    return static


def access_to(folder: Path, engine: Engine | None = None) -> Access:
    """By tokens of each role, and by links of the folder's `state`."""
    tokens = [f"viewer:{TOKEN}", f"operator:{OPERATOR}", f"admin:{ADMIN}"]
    return access_of(folder / "state", tokens, engine)


@contextmanager
def calling(engine: Engine, folder: Path, *, state: Path | None = None) -> Iterator[TestClient]:
    """A client without a session of an app over this database; pages and, unless it is elsewhere, state are in the folder."""
    queries = QueryEngine(engine)
    access = access_to(folder if state is None else state.parent, engine)
    app = create_app(queries, access, static=pages(folder), allowed_hosts=["fleet.example"], shared=engine)
    with TestClient(app, base_url=BASE) as client:
        yield client
    queries.close()


def of_a_stranger(client: TestClient) -> TestClient:
    """The client without what made its earlier calls somebody's."""
    client.cookies.clear()
    client.headers.pop("Authorization", None)
    return client


def write_samples(engine: Engine) -> None:
    """Two visits at noon, with three stacks."""
    with engine.begin() as connection:
        write = FactWriter(connection)
        main = write.function("main", file="m.c", binary="prog")
        memcpy = write.function("memcpy", binary="libc.so.6", status=2)
        nameless = write.function("libz.so+0x40", binary="libz.so", status=1, start=("abc", 64))
        stacks = [write.stack(frames) for frames in ([main], [main, memcpy], [main, nameless])]
        labels = {"application": "prog", "platform": "Zen 3", "comm": "prog"}
        write.profile(write.visit("m1", NOON), dict(zip(stacks, (50, 30, 20), strict=True)), labels=labels)
        write.profile(write.visit("m2", NOON), {stacks[0]: 100}, labels={**labels, "application": "other"})


def write_fleet(engine: Engine) -> None:
    """Two strata, one hour: 12 visits of 5 s each, idle ones and failed ones among them."""
    start = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 100, "west": 20}, random=Random(1))
        write = campaign.write
        main, work = write.function("main", file="m.c", binary="prog"), write.function("work", binary="prog")
        stacks = [write.stack([main]), write.stack([main, work])]
        for number in range(12):
            at = start + timedelta(minutes=5 * number)
            where = ("east", "west")[number % 2]
            if number % 5 == 4:
                campaign.fail(at, where, utilisation=0.9)
                continue
            visit = campaign.answer(at, where, utilisation=0.9 if number % 3 else 0.1, machine=f"m{number}")
            if number % 4:
                samples = dict(zip(stacks, (10 * number, 7), strict=True))
                lines = {(main, 12): (10 * number, 10 * number + 7), (work, 5): (3, 3)}
                write.profile(visit, samples, labels={"application": "prog"}, lines=lines)
