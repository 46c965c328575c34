"""All subjects of the server side."""

from gateway.doctor.findings import Finding
from services.examination.reach import certificates, debuginfod
from services.examination.stores import archive, broker, database, disks, folder
from services.settings import Settings


def examine_server(settings: Settings) -> list[Finding]:
    """Every subject once, as the user and with the settings of whoever asks."""
    return [
        *database(settings),
        broker(settings),
        archive(settings),
        folder("symbol cache", settings.symbol_cache, "FLEETPROF_SYMBOL_CACHE_DIR"),
        *certificates(settings),
        *debuginfod(settings),
        *disks(settings),
    ]
