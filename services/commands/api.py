"""`fleetprof api`: the HTTP API and the web UI."""

from typing import Annotated

import typer

from services.configuration.settings import read_settings


def api(
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on, or unix:/path. Default: FLEETPROF_API_HOST, 127.0.0.1."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port to listen on; 0: any free port. Default: FLEETPROF_API_PORT, 7070."
        ),
    ] = None,
    grpc_listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="gRPC address of the data API: HOST:PORT or unix:/path. Default: FLEETPROF_DATA_LISTEN, none.",
        ),
    ] = None,
) -> None:
    """Run the API with the web UI.

    Needs FLEETPROF_DATABASE_URL. Uploads of symbols also need FLEETPROF_ARCHIVE_URL. With FLEETPROF_REDIS_URL, workers use
    uploaded symbols at once. Addresses other than loopback need FLEETPROF_API_TLS_CERT, FLEETPROF_API_TLS_KEY and
    FLEETPROF_API_TOKENS; without them the API does not start.
    """
    from services.api.response_cache import ResponseCache  # noqa: PLC0415
    from services.api.serve import Listen, SymbolStore, serve  # noqa: PLC0415
    from services.configuration.lake_settings import older_days  # noqa: PLC0415
    from services.configuration.settings import default_state_dir  # noqa: PLC0415
    from services.data_api.grpc_server import DataListen  # noqa: PLC0415
    from services.deployment.running_deployment import is_held, url_command  # noqa: PLC0415
    from services.disassembly.binary_files import BinaryFiles  # noqa: PLC0415
    from services.process_setup.logs import log_to_stderr  # noqa: PLC0415
    from services.process_setup.malloc import reuse_arrays, share_arenas  # noqa: PLC0415 - a command imports what it runs
    from storage.snapshots.query_budget import Limits  # noqa: PLC0415
    from symbolizer.source_text.text import FetchLimits  # noqa: PLC0415

    share_arenas()
    reuse_arrays()  # services.api.malloc_trim returns them to the system
    log_to_stderr()
    settings = read_settings(api_host=host, api_port=port, data_listen=grpc_listen)
    serve(
        Listen(
            settings.api_host,
            settings.api_port,
            settings.api_tls_cert,
            settings.api_tls_key,
            connections=settings.api_connections,
            connections_per_address=settings.api_connections_per_address,
        ),
        database_url=settings.needed_database_url(),
        state_dir=settings.state_dir,
        stack_files=settings.stack_files,
        tokens=settings.api_tokens,
        session_secret_file=settings.session_secret_file,
        link_command=url_command(settings.state_dir, default_state_dir())
        if is_held(settings.state_dir)
        else None,
        allowed_hosts=settings.api_allowed_hosts,
        price_per_core_hour=settings.price_per_core_hour,
        limits=Limits(settings.query_seconds, settings.query_bytes),
        decoded_bytes=settings.decoded_cache_bytes,
        older=older_days(settings),
        cache=ResponseCache(settings.response_cache_bytes, ttl_s=settings.response_cache_ttl),
        symbols=SymbolStore(
            settings.archive,
            settings.symbol_upload_bytes,
            settings.known_redis_url(),
            settings.debuginfod_urls,
            settings.source_roots,
            settings.concurrent_inspections,
            FetchLimits(settings.source_copies_bytes, settings.source_fetches_per_hour),
            BinaryFiles(
                settings.symbol_cache,
                settings.symbol_dirs,
                settings.debuginfod_urls,
                settings.source_fetches_per_hour,
                download_bytes=settings.symbol_download_bytes,
                copies_bytes=settings.symbol_copies_bytes,
                cache_bytes=settings.symbol_cache_bytes,
            ),
        ),
        data=None
        if settings.data_listen is None
        else DataListen(
            settings.data_listen, settings.api_tls_cert, settings.api_tls_key, settings.data_client_ca
        ),
    )
