"""`python -m services.api.openapi` prints the API's OpenAPI document, the same bytes each time."""

import json
import secrets
import sys
import tempfile

from services.api.access_records import DatabaseRecords, RecordCopy
from services.api.app import create_app
from services.api.auth import Access
from services.data_api.stream_service import StreamService
from services.data_api.streams import Streams
from services.disassembly.service import DisassemblyService
from services.experiments.experiment_service import ExperimentService
from services.fleet.fleet_service import FleetService
from services.symbols.symbol_service import SymbolService
from storage.archive import Archive
from storage.database import open_engine
from storage.query.query_engine import QueryEngine


def document() -> str:
    """The OpenAPI document as JSON. No connection is opened for it."""
    with tempfile.TemporaryDirectory() as state_dir:
        engine = open_engine("postgresql://nobody@localhost/nothing", application="openapi")
        queries = QueryEngine(engine)
        service = SymbolService(engine, Archive(state_dir))
        data = StreamService(Streams(engine, Archive(state_dir)))
        access, experiments = (
            Access(secrets.token_bytes(), RecordCopy(DatabaseRecords(engine))),
            ExperimentService(engine),
        )
        description = create_app(
            queries,
            access,
            symbols=service,
            data=data,
            experiments=experiments,
            fleet=FleetService(engine),
            instructions=DisassemblyService(queries, Archive(state_dir)),
            shared=engine,
        ).openapi()
        queries.close()
    return json.dumps(description, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
