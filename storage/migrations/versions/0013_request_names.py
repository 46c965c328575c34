"""Requests for symbols get the field's names, and comments of tables and columns are in plain words."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("symbol_request", "asked_at", "requested_at"),
    ("symbol_request", "asked", "machine_ids"),
    ("symbol_request", "asked_times", "requested_times"),
    ("reprocessing", "asked_at", "requested_at"),
)
"""(table, before, now)."""
_CONSTRAINTS = (
    ("pk_symbol_ask", "pk_symbol_request"),
    ("fk_symbol_ask_machine_id", "fk_symbol_request_machine_id"),
    ("ck_symbol_ask_outcome", "ck_symbol_request_outcome"),
)
_INDEXES = (
    ("ix_symbol_ask_asked_at", "ix_symbol_request_requested_at"),
    ("ix_reprocessing_asked_at", "ix_reprocessing_requested_at"),
)
_COMMENTS = (
    ("binary", "path", "path at which it was first seen"),
    ("binary", "reason", "reason why the status is not full, a sentence"),
    ("binary", "status", "best symbols so far: full, symtab, binary_only, unknown"),
    (
        "calibration",
        None,
        "inputs of the models of cores and memory besides counters; one value per platform and workload",
    ),
    ("calibration", "lo", "95 % interval; NULL: the value was given, or measured once"),
    ("calibration", "machine", "machine on which it was measured"),
    ("calibration", "platform", "CPU model, as in machine.platform"),
    (
        "campaign",
        "counted",
        "in addition to the default counters: {events: [name], cgroups: number of control groups}",
    ),
    ("campaign", "failure_threshold", "share of failed visits that stops the campaign (G4), 0…1"),
    ("campaign", "failure_window", "number of latest visits over which that share is computed"),
    ("campaign", "name", "'fleet' is the permanent campaign"),
    ("campaign", "select_machines", "labels that a machine must have"),
    ("campaign", "state_why", "reason of the state, a sentence"),
    ("capture", None, "a raw capture in the archive, and the state of its ingestion"),
    ("capture", "blob", "key in the archive; '' once it was deleted because of its age"),
    ("capture", "day", "day of the visit"),
    ("capture", "leased_until", "a worker holds it, or it is not retried after a failure, until then"),
    (
        "capture",
        "newer_format",
        "its format version, if it was quarantined because that is newer than the program's; else NULL",
    ),
    (
        "capture",
        "partition",
        "hash of the program with most samples: captures of one partition need the same binaries",
    ),
    ("capture", "quarantined", "reason why it is no longer tried; NULL: not quarantined"),
    ("capture", "wanted", "generation to be ingested"),
    (
        "capture_binary",
        None,
        "which captures contain which binary; determines what is reprocessed after an upload",
    ),
    ("capture_binary", "cpu_ns", "CPU time that the samples of event cpu represent"),
    ("capture_binary", "samples", "samples with a frame in the binary"),
    ("capture_binary", "unresolved", "of those, samples with a frame in the binary that has no name"),
    (
        "capture_counter",
        None,
        "counter values over the window of a visit, for the machine, its sockets and its control groups",
    ),
    ("capture_counter", "application", "dim_value id; 0: all applications, or several in one control group"),
    ("capture_counter", "cgroup", "control group; '': none"),
    (
        "capture_counter",
        "cpus",
        "number of logical CPUs whose readings are added up; 0: not a counter of CPUs",
    ),
    ("capture_counter", "package", "socket; NULL: the whole machine, or not known"),
    (
        "capture_counter",
        "reading",
        "counters with the same number were read together, so that their ratio is meaningful",
    ),
    (
        "capture_counter",
        "scaled",
        "sum of reading × time enabled / time running, in `unit`: to be used for sums and ratios",
    ),
    ("capture_counter", "source", "the event that was opened; '': the kernel's generic event"),
    ("capture_counter", "time_running_ns", "less than time_enabled_ns if counters were multiplexed"),
    (
        "capture_cpu",
        None,
        "CPU time of each logical CPU over the window; a CPU that was added or removed within it has no row",
    ),
    ("capture_cpu", "core", "the kernel's number of the core; NULL: topology not readable"),
    (
        "capture_cpu",
        "core_cpu",
        "lowest logical CPU of its core, the same for all threads of a core; NULL: not known",
    ),
    (
        "capture_segment",
        None,
        "how long each visit sampled each event: the exposure of its profiles, also if there are none",
    ),
    ("capture_segment", "lost", "samples that the kernel dropped; NULL: it does not count them"),
    ("capture_segment", "period", "units per sample"),
    ("capture_segment", "requested_period", "smaller than `period` if the rate was reduced"),
    ("capture_segment", "samples", "0: the machine was idle"),
    (
        "capture_segment",
        "seconds",
        "time for which this event was sampled; less than the visit's if events take turns or samples were lost",
    ),
    ("capture_segment", "source", "the event that was opened, e.g. cpu-clock"),
    ("capture_system", "governor", "several, separated by commas, if CPUs differ"),
    ("capture_system", "idle_states", "exit latency of each, µs, by name"),
    ("capture_system", "seconds", "length of the window; NULL: not recorded, as in the columns below"),
    (
        "collector_lease",
        None,
        "running collectors; times are by the database's clock, and renewed every few seconds",
    ),
    ("collector_lease", "since", "start of the time in which the lease was renewed without a gap"),
    ("coverage", None, "inputs of the weights, which are computed at query time (docs/numbers.md)"),
    ("coverage", "failed", "visits that ended without a capture, for any reason"),
    ("coverage", "population", "largest number of machines in the stratum within the hour"),
    ("coverage", "seconds", "sampled seconds of answered visits"),
    ("covered_time", None, "runs of consecutive rounds; no visits were drawn at other times"),
    ("covered_time", "ends", "end of the last round; the next round extends it"),
    (
        "database_identity",
        None,
        "one row for each creation or restore of the database; ids assigned since then are unique to it",
    ),
    ("database_identity", "number", "the row with the greatest number is this database's identity"),
    ("database_identity", "server", "cluster and database in which the identity was assigned"),
    ("debug_file", "changed_at", "when it, or a file that it needs, was added, rejected or accepted"),
    (
        "debug_file",
        "machine_id",
        "the only machine that sent it; NULL: another machine confirmed it, or it has another origin",
    ),
    ("debug_file", "needs", "keys of files that complete it: the dwz file, the other parts of split DWARF"),
    ("debug_file", "origin", "upload, the debuginfod URL, or the machines that sent it"),
    ("debug_file", "rejected", "reason why it is not used, a sentence; NULL: not rejected"),
    ("debug_file", "sha256", "of the file; determines the key of its blob"),
    ("debug_file", "uploaded_by", "user, if known"),
    ("debug_file", "used_at", "last day on which it was read; NULL: never"),
    (
        "debug_file",
        "variant",
        "distinguishes files that are used side by side: for kallsyms the digest of the module set",
    ),
    (
        "dictionary_epoch",
        None,
        "locked in share mode by every ingestion, so that no row is deleted that one is about to use",
    ),
    ("dictionary_epoch", "epoch", "incremented when a sweep starts to mark"),
    ("dictionary_epoch", "marking", "a sweep is running: ids in use are recorded"),
    ("dictionary_touched", None, "rows that ingestions used while a sweep was marking: they are not deleted"),
    ("experiment_run", "beside", "other applications on the chip; empty: the target ran alone"),
    ("experiment_run", "cores", "of a run alone: mean number of cores that the application used"),
    ("experiment_run", "gigabytes", "of a run alone: GB read and written per second"),
    ("experiment_run", "line", "line number in the file, from 1, including the heading"),
    ("experiment_run", "lines", "of a run alone: millions of lines per second into the shared cache"),
    ("experiment_run", "metric", "time, cpi or ipc; NULL: only the pressure of the target alone is known"),
    ("experiment_run", "platform", "CPU model, as in machine.platform"),
    ("experiment_run", "target", "application that was measured"),
    ("experiment_set", None, "one uploaded file of experiments; its runs are deleted together"),
    ("experiment_set", "added_by", "user, if known"),
    ("experiment_set", "name", "name used in queries"),
    (
        "exposure",
        None,
        "exposure of the cells of an hour; written together with them, so that both always agree",
    ),
    ("exposure", "seconds", "sampled seconds of this event"),
    ("exposure", "visits", "visits merged into cells, including those without samples"),
    (
        "function",
        "alias_of",
        "row of the same function with its name, found later; readers use that row instead; never a chain",
    ),
    ("function", "file", "source path; '': not known"),
    ("function", "kind", "0 user, 1 kernel, 2 marker: not code, states which frames are missing"),
    ("function", "name", "demangled; lib.so+0x1234 if not known; [reason] for a marker"),
    ("function", "raw_name", "as in the symbol table; '' if equal to `name`"),
    (
        "function",
        "start",
        "offset of its start in the binary's address space; NULL: not known, or the function has a name",
    ),
    ("machine", "address", "address of its gateway: unix:/path or host:port"),
    ("machine", "described", "the complete last Machine message, as JSON"),
    ("machine", "name", "name given by the operator"),
    ("machine", "removed_at", "when it was removed from the inventory; the row stays for its visits"),
    ("profile", "application", "dim_value id, as in all columns down to kernel"),
    ("profile", "day", "day of the visit"),
    ("profile", "hour", "hour of the visit"),
    ("profile", "period", "units of the sample type per sample"),
    ("profile", "stacks", "false: flat, only the leaf function"),
    ("reprocessing", None, "captures that are reprocessed because a binary's symbols improved"),
    ("reprocessing", "why", "reason, a sentence, e.g. which file was uploaded"),
    (
        "reprocessing_capture",
        None,
        "captures of a running reprocessing; the rows are deleted when it is finished",
    ),
    ("reprocessing_capture", "day", "day of the visit; the newest are reprocessed first"),
    ("reprocessing_capture", "generation", "generation to be ingested; NULL: not queued yet"),
    ("rollup", None, "cells of an hour or a day: raw integers, weighted at query time"),
    (
        "rollup",
        "moments",
        "units of each function by visit, or Σy, Σy², Σxy, Σy⁴ of each for self and total (storage/rollup/moments_codec.py); never NULL",
    ),
    ("rollup", "utilisation_class", "of the visits, as in `coverage`; weights differ by class"),
    ("rollup", "visits", "visits with at least one sample in the cell"),
    ("rollup_day", "rolled_up_at", "since then it has cells of the whole day; NULL: only cells of its hours"),
    ("rollup_long", "moments", "components of the variance by function; NULL: not known"),
    ("rollup_long", "visits", "visits with at least one sample in the cell"),
    ("rollup_long", "weighted", "estimated units of the fleet for the same stacks, doubles"),
    ("rollup_long", "weighted_total", "estimate for the whole fleet, in units"),
    ("rollup_long_built", None, "buckets of rollup_long and the fingerprints of their inputs"),
    (
        "rollup_long_built",
        "made_of",
        "fingerprint of its days' cells and weights; the bucket is valid while it is unchanged",
    ),
    (
        "rollup_long_built",
        "merged",
        "the bucket is in rollup_long; false: it would have more than half of the rows of its inputs",
    ),
    (
        "rollup_queue",
        "sign",
        "+1: add the visit's profiles; -1: subtract the rollup_retraction rows of this entry",
    ),
    (
        "rollup_retraction",
        None,
        "profiles and chunks that a newer generation replaced, until they are subtracted from the cells",
    ),
    ("rollup_retraction", "application", "dim_value id, as in all columns down to kernel"),
    ("rollup_retraction", "entry_id", "entry_id of rollup_queue"),
    ("rollup_retraction", "hour", "hour of the visit"),
    ("rollup_retraction", "period", "units of the sample type per sample"),
    ("rollup_retraction", "stacks", "false: flat, only the leaf function"),
    ("sample_type", "unit", "unit of value × period, e.g. nanoseconds"),
    ("source_file", None, "source files, each content once for all builds that have it (DIGEST G18)"),
    (
        "source_file",
        "fetched",
        "fetched from a debuginfod server and never uploaded: the oldest are deleted if space is needed",
    ),
    ("source_file", "sha256", "of the text; determines the key of its blob"),
    ("source_path", None, "source files from which a binary was built"),
    ("source_path", "path", "path in the debug information, normalised"),
    (
        "stack",
        None,
        "ids of stacks that are not moved to stack_sealed yet; their functions are in stack_block",
    ),
    (
        "stack_block",
        None,
        "functions of stacks, neighbouring ids in one row; ids by hash are in stack and stack_sealed",
    ),
    (
        "stack_block",
        "data",
        "ids and function ids, outermost first (storage/stack_blocks.py); an incomplete stack begins with a marker",
    ),
    ("stack_sealed", None, "ids of stacks that were moved here from stack"),
    ("stack_sealed", "low", "lower bound of the row's hashes, upper bound of those of the row before"),
    (
        "stratum",
        None,
        "draws are random within a stratum: datacenter × platform, in hours with the same planned density",
    ),
    (
        "stratum",
        "thinning",
        "how many times its visits were halved because of the ingestion backlog; 0: as planned",
    ),
    (
        "stratum",
        "visits_per_hour",
        "planned by the campaign over all strata, before thinning; 0: drawn before this was recorded, or requested manually",
    ),
    (
        "symbol_absence",
        None,
        "symbols that a source is known not to have, so that one worker's query is enough for all",
    ),
    ("symbol_absence", "source", "source that does not have it: a debuginfod URL, …"),
    ("symbol_absence", "until", "not queried again before this time"),
    (
        "symbol_answer",
        None,
        "digest of each gateway's last answer for a binary; the symbols are used once two machines agree",
    ),
    ("symbol_answer", "binary_key", "for a kernel's symbol table the key of the kernel"),
    ("symbol_answer", "digest", "SHA-256 of the file; for a kernel's symbol table that of the kernel's part"),
    ("symbol_answer", "machine_id", "machine that sent it"),
    (
        "symbol_answer",
        "parts",
        "for a kernel's symbol table the SHA-256, in hex, of each module's part, by the module's key",
    ),
    (
        "symbol_request",
        None,
        "requests to gateways for missing symbols: a row per binary and kind, one gateway at a time",
    ),
    ("symbol_request", "again_at", "earliest time of a request to another machine; NULL: none"),
    ("symbol_request", "attempts", "number of requests"),
    ("symbol_request", "detail", "the response, a sentence"),
    ("symbol_request", "kind", "requested kind of debug_file"),
    ("symbol_request", "machine_id", "machine of the last request"),
    ("symbol_request", "machine_ids", "machines that got a request, in order, none twice"),
    ("symbol_request", "requested_times", "time of each of these requests"),
    ("symcache", None, "lookup tables built from debug files, and the leases of running builds"),
    ("symcache", "attempts", "builds started since the last one ended"),
    ("symcache", "began_at", "when that build began; it does not contain later changes"),
    ("symcache", "failed_sha256", "of the debug file of that build"),
    ("symcache", "failure", "error of the last build, a sentence"),
    ("symcache", "lease", "id of the running build; NULL: none"),
    ("symcache", "leased_until", "the builder renews it; after this time another may build"),
    (
        "symcache",
        "made_of",
        "SHA-256 of the stored files it was built from: executable, debug file, and files that complete it",
    ),
    ("symcache", "sha256", "of the cache; determines the key of its blob; NULL until built"),
    ("symcache", "used_at", "last day on which it was read"),
    ("visit", "cluster", "cluster of the machine at the draw; reprocessing does not change it"),
    (
        "visit",
        "collector_id",
        "run of the collector that makes it; NULL: requested manually, or drawn before leases were introduced",
    ),
    ("visit", "detail", "reason of the outcome, a sentence"),
    ("visit", "kernel", "kernel of the machine at the draw; one stated in the capture takes precedence"),
    ("visit", "probability", "of this machine being drawn, 0…1; 0 for a manually requested visit"),
    ("visit", "round", "-1: requested manually, not part of a round"),
    ("visit", "seconds", "length of the sampled window; NULL unless answered"),
    ("visit", "started_at", "when the gateway was called"),
)
"""(table, column or None, comment), with the names from now on."""


def upgrade() -> None:
    """Rename `symbol_ask`, its columns and `reprocessing.asked_at`; rewrite the outcome 'asked' and the comments."""
    op.rename_table("symbol_ask", "symbol_request")
    for table, before, now in _COLUMNS:
        op.alter_column(table, before, new_column_name=now)
    for before, now in _CONSTRAINTS:
        _rename_constraint("symbol_request", before, now)
    for before, now in _INDEXES:
        op.execute(f"ALTER INDEX {before} RENAME TO {now}")
    _rename_not_null("symbol_request", "reprocessing")
    _replace_outcome("symbol_request", "ck_symbol_request_outcome", "asked", "pending")
    for table, column, comment in _COMMENTS:
        _comment(table, column, comment)


def downgrade() -> None:
    """Restore the names and the outcome of revision 0012. Comments stay: each fits its column in both revisions."""
    _replace_outcome("symbol_request", "ck_symbol_request_outcome", "pending", "asked")
    for before, now in _INDEXES:
        op.execute(f"ALTER INDEX {now} RENAME TO {before}")
    for before, now in _CONSTRAINTS:
        _rename_constraint("symbol_request", now, before)
    for table, before, now in _COLUMNS:
        op.alter_column(table, now, new_column_name=before)
    op.rename_table("symbol_request", "symbol_ask")
    _rename_not_null("symbol_ask", "reprocessing")


def _replace_outcome(table: str, constraint: str, before: str, now: str) -> None:
    op.drop_constraint(op.f(constraint), table)
    op.execute(f"UPDATE {table} SET outcome = '{now}' WHERE outcome = '{before}'")  # noqa: S608 - names of this file
    op.create_check_constraint(
        op.f(constraint),
        table,
        f"outcome in ('{now}', 'got', 'unconfirmed', 'disputed', 'absent', 'refused', 'failed')",
    )


def _rename_constraint(table: str, before: str, now: str) -> None:
    op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {before} TO {now}")


def _rename_not_null(*tables: str) -> None:
    """Since PostgreSQL 18 constraints NOT NULL have names: those of the tables follow the names of their columns."""
    found = op.get_bind().execute(
        sa.text(
            "SELECT conrelid::regclass::text, conname, relname || '_' || attname || '_not_null'"
            " FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid"
            " JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]"
            " WHERE connamespace = current_schema()::regnamespace AND contype = 'n' AND relname = ANY(:tables)"
        ),
        {"tables": list(tables)},
    )
    for table, before, now in found.all():
        if before != now:
            _rename_constraint(table, before, now)


def _comment(table: str, column: str | None, comment: str) -> None:
    where = f'TABLE "{table}"' if column is None else f'COLUMN "{table}"."{column}"'
    op.execute(
        sa.text(f"COMMENT ON {where} IS :comment").bindparams(
            sa.bindparam("comment", comment, literal_execute=True)
        )
    )
