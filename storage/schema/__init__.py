"""All tables of the store, with the meaning of every column.

The tables are grouped in modules: machines, strata and campaigns (`fleet`), visits (`visits`) and data of captures
besides samples (`observations`), the interned `dictionaries`, debug files and their builds (`symbols`), the `facts`
(partitioned by UTC day), and the `rollups` merged from them. Sources: DESIGN §5; DIGEST G1, G2, G10–G14.

Only migrations create these tables; `storage/migrations` must stay equal to this package (a test compares them). All
stored values are raw integers: weights are applied at query time.
"""

from storage.schema.access import api_token, core_price, ended_session, saved_view, spent_link
from storage.schema.base import database_identity, metadata
from storage.schema.dictionaries import (
    binary,
    dictionary_epoch,
    dictionary_touched,
    dim_value,
    function,
    label_set,
    sample_type,
    stack,
    stack_block,
    stack_sealed,
)
from storage.schema.facts import (
    DIMENSIONS,
    OF_THE_GROUP,
    OF_THE_MACHINE,
    PARTITIONED,
    chunk,
    line_chunk,
    profile,
)
from storage.schema.fleet import calibration, campaign, experiment_run, experiment_set, machine, stratum
from storage.schema.observations import (
    capture_binary,
    capture_counter,
    capture_cpu,
    capture_segment,
    capture_system,
)
from storage.schema.rollups import (
    exposure,
    rollup,
    rollup_day,
    rollup_long,
    rollup_long_built,
    rollup_queue,
    rollup_retraction,
)
from storage.schema.symbols import (
    debug_file,
    reprocessing,
    reprocessing_capture,
    source_file,
    source_path,
    symbol_absence,
    symbol_answer,
    symbol_request,
    symcache,
)
from storage.schema.visits import (
    BY_HAND,
    FAILURES,
    Outcome,
    capture,
    collector_lease,
    coverage,
    covered_time,
    visit,
    visit_request,
)

__all__ = [
    "BY_HAND",
    "DIMENSIONS",
    "FAILURES",
    "OF_THE_GROUP",
    "OF_THE_MACHINE",
    "PARTITIONED",
    "Outcome",
    "api_token",
    "binary",
    "calibration",
    "campaign",
    "capture",
    "capture_binary",
    "capture_counter",
    "capture_cpu",
    "capture_segment",
    "capture_system",
    "chunk",
    "collector_lease",
    "core_price",
    "coverage",
    "covered_time",
    "database_identity",
    "debug_file",
    "dictionary_epoch",
    "dictionary_touched",
    "dim_value",
    "ended_session",
    "experiment_run",
    "experiment_set",
    "exposure",
    "function",
    "label_set",
    "line_chunk",
    "machine",
    "metadata",
    "profile",
    "reprocessing",
    "reprocessing_capture",
    "rollup",
    "rollup_day",
    "rollup_long",
    "rollup_long_built",
    "rollup_queue",
    "rollup_retraction",
    "sample_type",
    "saved_view",
    "source_file",
    "source_path",
    "spent_link",
    "stack",
    "stack_block",
    "stack_sealed",
    "stratum",
    "symbol_absence",
    "symbol_answer",
    "symbol_request",
    "symcache",
    "visit",
    "visit_request",
]
