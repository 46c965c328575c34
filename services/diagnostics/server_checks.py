"""All checks of the server side."""

from gateway.doctor.findings import Finding
from services.configuration.settings import Settings
from services.diagnostics.external_checks import certificates, debuginfod
from services.diagnostics.storage_checks import archive, broker, database, disks, folder


def examine_server(settings: Settings) -> list[Finding]:
    """Run every check once, as the current user and with the given settings."""
    return [
        *database(settings),
        broker(settings),
        archive(settings),
        folder("symbol cache", settings.symbol_cache, "FLEETPROF_SYMBOL_CACHE_DIR"),
        *certificates(settings),
        *debuginfod(settings),
        *disks(settings),
    ]
