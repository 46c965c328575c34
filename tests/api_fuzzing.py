"""Strangers' requests to every route of the API, made from its own description (schemathesis).

Whatever routes the OpenAPI document has are asked, with values it allows and with values it does not; each answer
must be one that the document describes. `make fuzz-api` asks longer than CI does.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.python.asgi import get_client
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from sqlalchemy import Connection, Engine

from services.api.app import create_app
from services.data_api.stream_service import StreamService
from services.data_api.streams import Streams
from services.disassembly.service import DisassemblyService
from services.embedded.postgres import EmbeddedPostgres
from services.fleet.fleet_service import FleetService
from services.symbols.symbol_service import SymbolService
from storage.archive import Archive
from storage.database import open_engine
from storage.migrate import upgrade
from storage.query.query_engine import QueryEngine
from tests.access_records import access_of
from tests.fact_writer import FactWriter

BASE = "http://127.0.0.1:7070"
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
)
_KINDS = {
    "models": ("analysis",),
    "data": ("data",),
    "symbols": ("symbols", "debug-files", "sources", "source", "reprocessings"),
    "fleet": ("machines", "visits", "campaigns"),
}
"""First words of routes; all others are views of profiles."""
_SHOWN = 600
"""Characters of a failure."""


@dataclass(slots=True)
class FuzzResult:
    """What became of the requests."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By operation and status."""
    problems: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    """By kind of operation, status and what the problem is called."""
    failures: dict[str, str] = field(default_factory=dict)
    """Of an operation, the first: what was wrong, and the request as a curl command."""

    @property
    def requests(self) -> int:
        """All of them."""
        return self.answers.total()


def ask_everything(
    app: FastAPI,
    headers: Mapping[str, str],
    *,
    examples: int,
    seed_: int = 0,
    only: Sequence[str] = (),
    away: bool = False,
) -> FuzzResult:
    """Ask every operation so many times as its description allows, and as often as it does not.

    `only` names operations, such as `GET /api/v1/table`. The same seed asks the same. `away`: 503 is what is
    expected; a status that is not described, such as 500, still is wrong.
    """
    checks = [check for check in CHECKS if check is not not_a_server_error or not away]
    heard = FuzzResult()
    document = app.openapi()
    files = {kind for kind in _bodies(document) if kind != "application/json"}
    schemathesis.serializer.alias(sorted(files), "application/octet-stream")
    schema = schemathesis.openapi.from_dict(document)
    schema.app = app
    told = {"request": ""}
    with get_client(app) as client:
        for found in schema.get_all_operations():
            operation = found.ok()
            if only and operation.label not in only:
                continue

            def ask(case: Case) -> None:
                told["request"] = case.as_curl_command(headers=dict(headers))
                response = case.call(base_url=BASE, session=client, headers=dict(headers))
                heard.answers[operation.label, response.status_code] += 1  # noqa: B023 - called within
                if response.status_code >= HTTPStatus.BAD_REQUEST:
                    name = str(json.loads(response.content)["type"]).rpartition(":")[2]
                    heard.problems[kind_of(operation.label), response.status_code, name] += 1  # noqa: B023
                case.validate_response(response, checks=checks, headers=dict(headers))

            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                bounded = settings(
                    max_examples=examples,
                    deadline=None,
                    database=None,
                    phases=[Phase.generate],  # a smaller request is no clearer; the first is told
                    suppress_health_check=list(HealthCheck),
                )
                wanted = given(case=operation.as_strategy(generation_mode=mode))
                try:
                    seed(seed_)(bounded(wanted(ask)))()
                except (Failure, FailureGroup) as wrong:
                    heard.failures.setdefault(operation.label, f"{_told(wrong)}\n{told['request']}")
                except Exception as wrong:  # noqa: BLE001 - told with the others: each operation has its owner
                    if "Unsatisfiable" not in type(wrong).__name__ and "no parameters" not in str(wrong):
                        heard.failures.setdefault(
                            operation.label, f"{type(wrong).__name__}: {wrong}"[:_SHOWN]
                        )
    return heard


def kind_of(operation: str) -> str:
    """What its route is about: models, data, symbols or views."""
    first = operation.partition("/api/v1/")[2].partition("/")[0]
    return next((kind for kind, routes in _KINDS.items() if first in routes), "views")


def operations(app: FastAPI) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Method, path and description of each."""
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _bodies(document: Mapping[str, Any]) -> Iterator[str]:
    for methods in document["paths"].values():
        for operation in methods.values():
            yield from operation.get("requestBody", {}).get("content", {})


def _told(wrong: BaseException) -> str:
    if isinstance(wrong, FailureGroup):
        return " | ".join(_told(each) for each in wrong.exceptions)[: 2 * _SHOWN]
    return f"{type(wrong).__name__}: {wrong}"[:_SHOWN]


@contextmanager
def whole_app(
    engine: Engine, folder: Path, *, viewer: str = "a-viewers-token-000000", with_data: bool = True
) -> Iterator[tuple[FastAPI, Mapping[str, str]]]:
    """The app with all its routes over this store, which gets a little data, and what an administrator's requests carry."""
    token = "an-administrators-token-000000"
    if with_data:
        with engine.begin() as connection:
            _write(connection)
    queries = QueryEngine(engine)
    archive = Archive(str(folder / "archive"))
    try:
        yield (
            create_app(
                queries,
                access_of(folder / "state", [f"admin:{token}", f"viewer:{viewer}"]),
                static=folder / "static",
                symbols=SymbolService(engine, archive, largest_bytes=1 << 20),
                # A stream that follows ends with its first sign of life: who asks here waits for the end.
                data=StreamService(Streams(engine, archive, poll_s=0.0, quiet_s=0.0), longest_s=0.0),
                uploads=folder / "uploads",
                fleet=FleetService(engine),
                instructions=DisassemblyService(queries, archive),
                shared=engine,
            ),
            {"Authorization": f"Bearer {token}"},
        )
    finally:
        queries.close()


def _write(connection: Connection) -> None:
    """Two machines, some stacks, an hour ago and an hour before that: what `now-…` of a default selection finds."""
    write = FactWriter(connection)
    now = datetime.now(UTC)
    main = write.function("main", file="m.c", binary="prog")
    copied = write.function("memcpy", binary="libc.so.6", status=2)
    nameless = write.function("libz.so+0x40", binary="libz.so", status=1, start=("abc", 64))
    stacks = [write.stack(frames) for frames in ([main], [main, copied], [main, nameless])]
    labels = {"application": "prog", "platform": "Zen 3", "comm": "prog"}
    for minutes, machine in ((10, "m1"), (20, "m2"), (90, "m1")):
        at = now - timedelta(minutes=minutes)
        write.profile(write.visit(machine, at), dict(zip(stacks, (50, 30, 20), strict=True)), labels=labels)


def main() -> int:
    """Ask a store of its own for as many examples as wanted; 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], metavar="'GET /api/v1/table'")
    options = parser.parse_args()
    with ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="fpa-", dir="/tmp")))
        folder.chmod(0o711)
        server = EmbeddedPostgres(folder / "postgres", options={"fsync": "off"})
        server.start()
        ending.callback(server.stop)
        upgrade(server.url())
        engine = open_engine(server.url(), application="strangers")
        ending.callback(engine.dispose)
        app, headers = ending.enter_context(whole_app(engine, folder))
        heard = ask_everything(app, headers, examples=options.examples, seed_=options.seed, only=options.only)
    for (operation, status), count in sorted(heard.answers.items()):
        sys.stdout.write(f"{count:6} {status} {operation}" + "\n")
    for (kind, status, name), count in sorted(heard.problems.items()):
        sys.stdout.write(f"{count:6} {status} {name} of {kind}" + "\n")
    for operation, wrong in heard.failures.items():
        sys.stdout.write(f"\n{operation}\n{wrong}" + "\n")
    sys.stdout.write(f"\n{heard.requests} requests, {len(heard.failures)} operations answered wrongly" + "\n")
    return 1 if heard.failures else 0


if __name__ == "__main__":
    sys.exit(main())
