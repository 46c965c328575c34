"""What docs/settings.md adds up, from the settings of a deployment."""

from collections.abc import Mapping

from services.api.app import CONCURRENT_QUERIES
from services.api.profiles.disassembly import CONCURRENT_LISTINGS
from services.api.symbols import CONCURRENT_TREES
from services.configuration.settings import Settings
from services.disassembly.service import MEMORY_BYTES
from services.symbols.source_tree import CHILD_BYTES
from symbolizer.inspection.inspector import InspectionLimits


def api_bytes(environment: Mapping[str, object]) -> int:
    """What the API and its children take at most, in bytes; settings that are not given have their defaults."""

    def given(name: str) -> int:
        value = environment.get(f"FLEETPROF_{name.upper()}", Settings.model_fields[name].default)
        return int(str(value))

    itself = 512 << 20
    questions = CONCURRENT_QUERIES * given("query_bytes")
    decoded_cells = given("query_bytes") // 8
    inspections = given("concurrent_inspections") * InspectionLimits().memory_bytes
    archives = CONCURRENT_TREES * CHILD_BYTES
    listings = CONCURRENT_LISTINGS * MEMORY_BYTES
    caches = decoded_cells + given("response_cache_bytes")
    return itself + questions + caches + inspections + archives + listings
