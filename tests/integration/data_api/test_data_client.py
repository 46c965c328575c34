"""GIVEN a running API WHEN the Python client reads it THEN it brings what HTTP and gRPC bring, as arrays and tables."""

import subprocess
import sys
import threading
from contextlib import ExitStack

import numpy as np
import pytest
from sqlalchemy import Engine

from services.client import Refused, connect
from storage.archive import Archive
from tests.integration.data_api.conftest import HOUR, OPERATOR, VIEWER, Served, Store, bring, serving
from tests.polling import until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TIMES = {"start": HOUR["from"], "end": HOUR["to"]}


@pytest.fixture(params=["http", "grpc"])
def address(request, served: Served) -> str:
    return served.http if request.param == "http" else f"grpc://{served.grpc}"


def test_profiles_come_as_arrays_that_add_up_to_the_table(address: str, served: Served, visit_ids):
    with connect(address, token=VIEWER) as client:
        stream = client.profiles(**TIMES)
        columns = stream.to_numpy()
        assert stream.complete_until is not None
        frame, table = client.profiles(**TIMES).to_pandas(), client.profiles(**TIMES).to_arrow()
    assert list(dict.fromkeys(columns["visit_id"])) == [str(id_) for id_ in visit_ids]
    assert (columns["estimate"] == columns["units"] * columns["weight"]).all()
    assert frame["units"].sum() == columns["units"].sum() == sum(table["units"].to_pylist())
    assert table["stack"][0].as_py() == list(columns["stack"][0])
    with connect(served.http, token=VIEWER) as client:
        totals = client.ask("table", **TIMES)["totals"]
        by = client.table(by="application", **TIMES)
    assert totals["units"] == columns["units"].sum()
    assert columns["estimate"].sum() * 1e-9 == pytest.approx(totals["core_seconds"]["value"])
    found = {
        name: columns["units"][columns["label.application"] == name].sum()
        for name in np.unique(columns["label.application"])
    }
    assert dict(zip(by["application"].to_pylist(), by["self"].to_pylist(), strict=True)) == found


def test_captures_come_as_they_were_archived(address: str, visit_ids, tmp_path):
    with connect(address, token=OPERATOR) as client:
        messages = [capture.message() for capture in client.captures(**TIMES)]
        assert [message.visit_id for message in messages] == [id_.bytes for id_ in visit_ids]
        assert client.captures(**TIMES).save(tmp_path) == len(visit_ids)
    with connect(address, token=VIEWER) as client, pytest.raises(Refused, match="needs the role operator"):
        list(client.captures(**TIMES))


def test_what_is_wrong_is_said_with_its_place(address: str, visit_ids):
    with connect(address, token=VIEWER) as client:
        with pytest.raises(Refused) as refused:
            list(client.profiles(select='{application="x"', **TIMES))
        assert refused.value.at == 16
        with pytest.raises(Refused, match="Invalid cursor"):
            list(client.profiles(cursor="x", **TIMES))
    with connect(address, token="w" * 24) as client, pytest.raises(Refused):
        list(client.profiles(**TIMES))


def test_it_imports_without_what_it_does_not_need():
    program = """
import sys
for name in ("pandas", "pyarrow", "zstandard", "sqlalchemy", "fastapi", "psycopg2", "pydantic", "structlog"):
    sys.modules[name] = None
from services.client import NeedsPackage, connect
from services.client.fact_columns import Facts
connect("grpc://127.0.0.1:1").close()
try:
    Facts().to_pandas()
except NeedsPackage as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install pandas" in done.stdout


def test_a_server_that_is_killed_loses_nothing(database_url: str, engine: Engine, archive: Archive, tmp_path):
    """Both clients receive each visit once, whether it is ingested before, during or after a restart of the server."""
    store = Store(database_url, engine, archive, bring(engine, archive, [1]))
    found: dict[str, list[str]] = {"http": [], "grpc": []}
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    with ExitStack() as ending:
        served = ending.enter_context(serving(store, folders[0], kill=True))
        threads = []
        for way, url in (("http", served.http), ("grpc", f"grpc://{served.grpc}")):
            client = ending.enter_context(connect(url, token=VIEWER, retries=100))
            stream = client.profiles(start=HOUR["from"], follow=True)
            # Like daemons of old: nothing ends them but the last visit.
            threads.append(threading.Thread(target=read, args=(stream, found[way], 3), daemon=True))
            threads[-1].start()
            until(lambda stream=stream: stream.cursor, "it follows")
        expected = [str(id_) for id_ in bring(engine, archive, [2])]
        until(lambda: all(ids == expected for ids in found.values()), "the first comes")
        served.process.kill()
        served.process.wait()
        expected += [str(id_) for id_ in bring(engine, archive, [3])]
        ending.enter_context(serving(store, folders[1], ports=served.ports))
        expected += [str(id_) for id_ in bring(engine, archive, [4])]
        for thread in threads:
            thread.join(90)
    assert found == {"http": expected, "grpc": expected}


def read(stream, found: list[str], most: int) -> None:
    for visit in stream:
        found.append(visit.id)
        if len(found) == most:
            return
