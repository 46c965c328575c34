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
    ("binary", "path", "where it was first seen", "path at which it was first seen"),
    ("binary", "reason", "why it is not full, a sentence", "reason why the status is not full, a sentence"),
    (
        "binary",
        "status",
        "best so far: full, symtab, binary_only, unknown",
        "best symbols so far: full, symtab, binary_only, unknown",
    ),
    (
        "calibration",
        None,
        "what models of cores and memory need besides counters; one figure a platform and workload",
        "inputs of the models of cores and memory besides counters; one value per platform and workload",
    ),
    (
        "calibration",
        "lo",
        "95 % interval; NULL: it was given, or measured once",
        "95 % interval; NULL: the value was given, or measured once",
    ),
    ("calibration", "machine", "where it was measured", "machine on which it was measured"),
    ("calibration", "platform", "CPU model, as machines have it", "CPU model, as in machine.platform"),
    (
        "campaign",
        "counted",
        "besides the standing counters: {events: [name], cgroups: how many control groups}",
        "in addition to the default counters: {events: [name], cgroups: number of control groups}",
    ),
    (
        "campaign",
        "failure_threshold",
        "share of failed visits that stops it (G4), 0…1",
        "share of failed visits that stops the campaign (G4), 0…1",
    ),
    (
        "campaign",
        "failure_window",
        "number of latest visits that share is taken over",
        "number of latest visits over which that share is computed",
    ),
    ("campaign", "name", "'fleet' is the standing one", "'fleet' is the permanent campaign"),
    ("campaign", "select_machines", "labels a machine must have", "labels that a machine must have"),
    ("campaign", "state_why", "a sentence for a person", "reason of the state, a sentence"),
    (
        "capture",
        None,
        "a raw capture in the archive, and what remains to be done with it",
        "a raw capture in the archive, and the state of its ingestion",
    ),
    (
        "capture",
        "blob",
        "key in the archive; '' once it was old enough to go",
        "key in the archive; '' once it was deleted because of its age",
    ),
    ("capture", "day", "the visit's", "day of the visit"),
    (
        "capture",
        "leased_until",
        "a worker has it, or it rests after a failure, until then",
        "a worker holds it, or it is not retried after a failure, until then",
    ),
    (
        "capture",
        "newer_format",
        "it was quarantined because its layout is this one, newer than the program; NULL: not for that",
        "its format version, if it was quarantined because that is newer than the program's; else NULL",
    ),
    (
        "capture",
        "partition",
        "captures of one need the same binaries: hash of the program with most samples",
        "hash of the program with most samples: captures of one partition need the same binaries",
    ),
    (
        "capture",
        "quarantined",
        "why it is no longer tried; NULL: it is",
        "reason why it is no longer tried; NULL: not quarantined",
    ),
    ("capture", "wanted", "generation that should be ingested", "generation to be ingested"),
    (
        "capture_binary",
        None,
        "which captures hold which binary, so that an upload finds what to reprocess",
        "which captures contain which binary; determines what is reprocessed after an upload",
    ),
    (
        "capture_binary",
        "cpu_ns",
        "of the samples, those of cpu: the time they stand for",
        "CPU time that the samples of event cpu represent",
    ),
    (
        "capture_binary",
        "samples",
        "samples whose stack has a frame in it",
        "samples with a frame in the binary",
    ),
    (
        "capture_binary",
        "unresolved",
        "of those, with a frame here that has no name",
        "of those, samples with a frame in the binary that has no name",
    ),
    (
        "capture_counter",
        None,
        "what was counted over the window of a visit, of the machine, its sockets and its control groups",
        "counter values over the window of a visit, for the machine, its sockets and its control groups",
    ),
    (
        "capture_counter",
        "application",
        "dim_value id; 0: everything that ran, or several in one control group",
        "dim_value id; 0: all applications, or several in one control group",
    ),
    ("capture_counter", "cgroup", "control group; '': not of one", "control group; '': none"),
    (
        "capture_counter",
        "cpus",
        "logical CPUs whose readings are added up; 0: it belongs to none",
        "number of logical CPUs whose readings are added up; 0: not a counter of CPUs",
    ),
    (
        "capture_counter",
        "package",
        "the socket; NULL: of the whole machine, or not known",
        "socket; NULL: the whole machine, or not known",
    ),
    (
        "capture_counter",
        "reading",
        "counters of one number were read together, so that their ratio means something",
        "counters with the same number were read together, so that their ratio is meaningful",
    ),
    (
        "capture_counter",
        "scaled",
        "sum of reading × time enabled / time running, in `unit`: what to add up and divide",
        "sum of reading × time enabled / time running, in `unit`: to be used for sums and ratios",
    ),
    (
        "capture_counter",
        "source",
        "what was opened; '': the kernel's generic event",
        "the event that was opened; '': the kernel's generic event",
    ),
    (
        "capture_counter",
        "time_running_ns",
        "less where counters took turns",
        "less than time_enabled_ns if counters were multiplexed",
    ),
    (
        "capture_cpu",
        None,
        "time of each logical CPU over the window; one that came or went within it has no row",
        "CPU time of each logical CPU over the window; a CPU that was added or removed within it has no row",
    ),
    (
        "capture_cpu",
        "core",
        "the kernel's number; NULL: topology not readable",
        "the kernel's number of the core; NULL: topology not readable",
    ),
    (
        "capture_cpu",
        "core_cpu",
        "lowest logical CPU of its core, what threads of one core share; NULL: not known",
        "lowest logical CPU of its core, the same for all threads of a core; NULL: not known",
    ),
    (
        "capture_segment",
        None,
        "how long each visit watched each event: the exposure behind its profiles, also when there are none",
        "how long each visit sampled each event: the exposure of its profiles, also if there are none",
    ),
    (
        "capture_segment",
        "lost",
        "samples the kernel could not write; NULL: it does not count them",
        "samples that the kernel dropped; NULL: it does not count them",
    ),
    ("capture_segment", "period", "units one sample stands for", "units per sample"),
    (
        "capture_segment",
        "requested_period",
        "smaller than `period` when the rate was thinned",
        "smaller than `period` if the rate was reduced",
    ),
    ("capture_segment", "samples", "0 is an answer too: the machine was idle", "0: the machine was idle"),
    (
        "capture_segment",
        "seconds",
        "this event was watched; less than the visit's when events take turns or samples were lost",
        "time for which this event was sampled; less than the visit's if events take turns or samples were lost",
    ),
    (
        "capture_segment",
        "source",
        "what was really opened, e.g. cpu-clock",
        "the event that was opened, e.g. cpu-clock",
    ),
    (
        "capture_system",
        "governor",
        "several, joined by commas, where CPUs differ",
        "several, separated by commas, if CPUs differ",
    ),
    (
        "capture_system",
        "idle_states",
        "time to leave each, µs, by its name",
        "exit latency of each, µs, by name",
    ),
    (
        "capture_system",
        "seconds",
        "length of the window; NULL: not recorded, like all below",
        "length of the window; NULL: not recorded, as in the columns below",
    ),
    (
        "collector_lease",
        None,
        "collectors that run, by the database's clock; renewed every few seconds",
        "running collectors; times are by the database's clock, and renewed every few seconds",
    ),
    (
        "collector_lease",
        "since",
        "since when the lease was renewed without a gap",
        "start of the time in which the lease was renewed without a gap",
    ),
    (
        "coverage",
        None,
        "what weights are computed from, at query time (DESIGN §4)",
        "inputs of the weights, which are computed at query time (docs/numbers.md)",
    ),
    (
        "coverage",
        "failed",
        "ended without a capture, whatever the reason",
        "visits that ended without a capture, for any reason",
    ),
    (
        "coverage",
        "population",
        "machines in the stratum, largest in the hour",
        "largest number of machines in the stratum within the hour",
    ),
    ("coverage", "seconds", "answered seconds", "sampled seconds of answered visits"),
    (
        "covered_time",
        None,
        "runs of rounds that followed each other: visits of no other time were drawn",
        "runs of consecutive rounds; no visits were drawn at other times",
    ),
    (
        "covered_time",
        "ends",
        "of the last round's time; it is extended by the next round",
        "end of the last round; the next round extends it",
    ),
    (
        "database_identity",
        None,
        "a row for each time the database began or was restored: ids given since are nobody else's",
        "one row for each creation or restore of the database; ids assigned since then are unique to it",
    ),
    (
        "database_identity",
        "number",
        "the greatest is this database's",
        "the row with the greatest number is this database's identity",
    ),
    (
        "database_identity",
        "server",
        "cluster and database it was given in",
        "cluster and database in which the identity was assigned",
    ),
    (
        "debug_file",
        "changed_at",
        "added, rejected or accepted, or what it needs was",
        "when it, or a file that it needs, was added, rejected or accepted",
    ),
    (
        "debug_file",
        "machine_id",
        "the one machine whose word for it there is; NULL: it does not rest on one machine's word",
        "the only machine that sent it; NULL: another machine confirmed it, or it has another origin",
    ),
    (
        "debug_file",
        "needs",
        "keys of files that complete it: what dwz moved out of it, the other halves of split DWARF",
        "keys of files that complete it: the dwz file, the other parts of split DWARF",
    ),
    (
        "debug_file",
        "origin",
        "upload, the debuginfod URL, or which machines gave it",
        "upload, the debuginfod URL, or the machines that sent it",
    ),
    (
        "debug_file",
        "rejected",
        "why it is not to be used, a sentence; NULL: it may be",
        "reason why it is not used, a sentence; NULL: not rejected",
    ),
    (
        "debug_file",
        "sha256",
        "of the file; says where its blob lies",
        "of the file; determines the key of its blob",
    ),
    ("debug_file", "uploaded_by", "who, as far as it is known", "user, if known"),
    (
        "debug_file",
        "used_at",
        "last day somebody read it; NULL: nobody yet",
        "last day on which it was read; NULL: never",
    ),
    (
        "debug_file",
        "variant",
        "which of those that stand beside each other: of kallsyms the digest of the module set",
        "distinguishes files that are used side by side: for kallsyms the digest of the module set",
    ),
    (
        "dictionary_epoch",
        None,
        "locked in share by every ingestion, so that no row goes that one is about to use",
        "locked in share mode by every ingestion, so that no row is deleted that one is about to use",
    ),
    (
        "dictionary_epoch",
        "epoch",
        "grows when a sweep begins to mark",
        "incremented when a sweep starts to mark",
    ),
    (
        "dictionary_epoch",
        "marking",
        "a sweep is under way: ids in use are noted",
        "a sweep is running: ids in use are recorded",
    ),
    (
        "dictionary_touched",
        None,
        "rows that ingestions found again while a sweep marked: they stay",
        "rows that ingestions used while a sweep was marking: they are not deleted",
    ),
    (
        "experiment_run",
        "beside",
        "what else ran on the chip; empty: the run alone",
        "other applications on the chip; empty: the target ran alone",
    ),
    (
        "experiment_run",
        "cores",
        "of a run alone: that the application kept busy",
        "of a run alone: mean number of cores that the application used",
    ),
    (
        "experiment_run",
        "gigabytes",
        "of a run alone: read and written a second",
        "of a run alone: GB read and written per second",
    ),
    (
        "experiment_run",
        "line",
        "of the file, from 1, the heading among them",
        "line number in the file, from 1, including the heading",
    ),
    (
        "experiment_run",
        "lines",
        "of a run alone: millions a second into the shared cache",
        "of a run alone: millions of lines per second into the shared cache",
    ),
    (
        "experiment_run",
        "metric",
        "time, cpi or ipc; NULL: only the pressure of the run alone is known",
        "time, cpi or ipc; NULL: only the pressure of the target alone is known",
    ),
    ("experiment_run", "platform", "CPU model, as machines have it", "CPU model, as in machine.platform"),
    ("experiment_run", "target", "application that was watched", "application that was measured"),
    (
        "experiment_set",
        None,
        "one uploaded file of experiments; its runs are kept or removed together",
        "one uploaded file of experiments; its runs are deleted together",
    ),
    ("experiment_set", "added_by", "who, as far as it is known", "user, if known"),
    ("experiment_set", "name", "what questions call it", "name used in queries"),
    (
        "exposure",
        None,
        "what the cells of an hour were observed in; written with them, so that both always agree",
        "exposure of the cells of an hour; written together with them, so that both always agree",
    ),
    ("exposure", "seconds", "they watched this event", "sampled seconds of this event"),
    (
        "exposure",
        "visits",
        "merged into cells, those without any sample too",
        "visits merged into cells, including those without samples",
    ),
    (
        "function",
        "alias_of",
        "named since: every reader takes that row instead; never a chain",
        "row of the same function with its name, found later; readers use that row instead; never a chain",
    ),
    ("function", "file", "source path; '' not known", "source path; '': not known"),
    (
        "function",
        "kind",
        "0 user, 1 kernel, 2 marker: no code, it says what is missing there",
        "0 user, 1 kernel, 2 marker: not code, states which frames are missing",
    ),
    (
        "function",
        "name",
        "demangled; lib.so+0x1234 without a name; [why] for a marker",
        "demangled; lib.so+0x1234 if not known; [reason] for a marker",
    ),
    (
        "function",
        "raw_name",
        "as in the symbol table; '' where that is the name",
        "as in the symbol table; '' if equal to `name`",
    ),
    (
        "function",
        "start",
        "offset of its start in the binary's own space; NULL: not known, or named",
        "offset of its start in the binary's address space; NULL: not known, or the function has a name",
    ),
    (
        "machine",
        "address",
        "where its gateway listens: unix:/path or host:port",
        "address of its gateway: unix:/path or host:port",
    ),
    (
        "machine",
        "described",
        "the whole of the last Machine message, as JSON",
        "the complete last Machine message, as JSON",
    ),
    ("machine", "name", "operator's name of the machine", "name given by the operator"),
    (
        "machine",
        "removed_at",
        "not in the inventory any more; the row stays for its visits",
        "when it was removed from the inventory; the row stays for its visits",
    ),
    (
        "profile",
        "application",
        "dim_value id, like all down to kernel",
        "dim_value id, as in all columns down to kernel",
    ),
    ("profile", "day", "the visit's", "day of the visit"),
    ("profile", "hour", "the visit's", "hour of the visit"),
    (
        "profile",
        "period",
        "units of the sample type one sample stands for",
        "units of the sample type per sample",
    ),
    ("profile", "stacks", "false: flat, leaves only", "false: flat, only the leaf function"),
    (
        "reprocessing",
        None,
        "captures that are reprocessed because a binary's symbols have become better",
        "captures that are reprocessed because a binary's symbols improved",
    ),
    (
        "reprocessing",
        "why",
        "a sentence, e.g. which file was uploaded",
        "reason, a sentence, e.g. which file was uploaded",
    ),
    (
        "reprocessing_capture",
        None,
        "what a reprocessing under way is about; its rows go when it is finished",
        "captures of a running reprocessing; the rows are deleted when it is finished",
    ),
    (
        "reprocessing_capture",
        "day",
        "the visit's; the newest are reprocessed first",
        "day of the visit; the newest are reprocessed first",
    ),
    (
        "reprocessing_capture",
        "generation",
        "to be ingested as; NULL: not queued yet",
        "generation to be ingested; NULL: not queued yet",
    ),
    (
        "rollup",
        None,
        "cells of an hour or a day: raw integers, weighted when a question is asked",
        "cells of an hour or a day: raw integers, weighted at query time",
    ),
    (
        "rollup",
        "moments",
        "what each visit has of each function, or Σy, Σy², Σxy, Σy⁴ of each for self and total (storage/rollup/moments_codec.py); always there",
        "units of each function by visit, or Σy, Σy², Σxy, Σy⁴ of each for self and total (storage/rollup/moments_codec.py); never NULL",
    ),
    (
        "rollup",
        "utilisation_class",
        "of the visits, as in `coverage`: their weights differ",
        "of the visits, as in `coverage`; weights differ by class",
    ),
    ("rollup", "visits", "with at least one sample here", "visits with at least one sample in the cell"),
    (
        "rollup_day",
        "rolled_up_at",
        "it has cells of the whole day since then; NULL: those of its hours are all",
        "since then it has cells of the whole day; NULL: only cells of its hours",
    ),
    (
        "rollup_long",
        "moments",
        "per function the parts of its variance; NULL: not known",
        "components of the variance by function; NULL: not known",
    ),
    ("rollup_long", "visits", "with at least one sample here", "visits with at least one sample in the cell"),
    (
        "rollup_long",
        "weighted",
        "the fleet's units of the same stacks, doubles",
        "estimated units of the fleet for the same stacks, doubles",
    ),
    (
        "rollup_long",
        "weighted_total",
        "estimate of the whole fleet's, in units",
        "estimate for the whole fleet, in units",
    ),
    (
        "rollup_long_built",
        None,
        "buckets of rollup_long, and what they were made of",
        "buckets of rollup_long and the fingerprints of their inputs",
    ),
    (
        "rollup_long_built",
        "made_of",
        "fingerprint of its days' cells and weights; it answers while they have the same one",
        "fingerprint of its days' cells and weights; the bucket is valid while it is unchanged",
    ),
    (
        "rollup_long_built",
        "merged",
        "it is in rollup_long; false: it would have more than half of the rows of what it is made of",
        "the bucket is in rollup_long; false: it would have more than half of the rows of its inputs",
    ),
    (
        "rollup_queue",
        "sign",
        "+1: add the visit's profiles; -1: take the rollup_retraction rows of this entry out",
        "+1: add the visit's profiles; -1: subtract the rollup_retraction rows of this entry",
    ),
    (
        "rollup_retraction",
        None,
        "profiles and chunks that a newer generation replaced, until they are taken out of the cells",
        "profiles and chunks that a newer generation replaced, until they are subtracted from the cells",
    ),
    (
        "rollup_retraction",
        "application",
        "dim_value id, like all down to kernel",
        "dim_value id, as in all columns down to kernel",
    ),
    ("rollup_retraction", "entry_id", "rollup_queue's", "entry_id of rollup_queue"),
    ("rollup_retraction", "hour", "the visit's", "hour of the visit"),
    (
        "rollup_retraction",
        "period",
        "units of the sample type one sample stands for",
        "units of the sample type per sample",
    ),
    ("rollup_retraction", "stacks", "false: flat, leaves only", "false: flat, only the leaf function"),
    (
        "sample_type",
        "unit",
        "what a value × period is counted in, e.g. nanoseconds",
        "unit of value × period, e.g. nanoseconds",
    ),
    (
        "source_file",
        None,
        "source files, each content once however many builds have it (DIGEST G18)",
        "source files, each content once for all builds that have it (DIGEST G18)",
    ),
    (
        "source_file",
        "fetched",
        "a debuginfod server gave it for a reader, and nobody uploaded it: the oldest go where room is needed",
        "fetched from a debuginfod server and never uploaded: the oldest are deleted if space is needed",
    ),
    (
        "source_file",
        "sha256",
        "of the text; says where its blob lies",
        "of the text; determines the key of its blob",
    ),
    (
        "source_path",
        None,
        "which source a binary was built from",
        "source files from which a binary was built",
    ),
    (
        "source_path",
        "path",
        "as the debug information states it, normalised",
        "path in the debug information, normalised",
    ),
    (
        "stack",
        None,
        "which id a stack has that has not moved to stack_sealed yet; its functions are in stack_block",
        "ids of stacks that are not moved to stack_sealed yet; their functions are in stack_block",
    ),
    (
        "stack_block",
        None,
        "the functions of stacks, neighbouring ids together; what is looked up by hash is in stack and stack_sealed",
        "functions of stacks, neighbouring ids in one row; ids by hash are in stack and stack_sealed",
    ),
    (
        "stack_block",
        "data",
        "ids and function ids, outermost first (storage/stack_blocks.py); a walk that did not reach its thread's start begins with a marker",
        "ids and function ids, outermost first (storage/stack_blocks.py); an incomplete stack begins with a marker",
    ),
    (
        "stack_sealed",
        None,
        "which id a stack has, of those that moved here from stack",
        "ids of stacks that were moved here from stack",
    ),
    (
        "stack_sealed",
        "low",
        "no hash of the row is less, none of the row before greater",
        "lower bound of the row's hashes, upper bound of those of the row before",
    ),
    (
        "stratum",
        None,
        "draws are random within a stratum: datacenter × platform, and the hours drawn from as densely",
        "draws are random within a stratum: datacenter × platform, in hours with the same planned density",
    ),
    (
        "stratum",
        "thinning",
        "times its visits were halved because captures waited to be ingested; 0: as planned",
        "how many times its visits were halved because of the ingestion backlog; 0: as planned",
    ),
    (
        "stratum",
        "visits_per_hour",
        "that the campaign planned over all strata before thinning; 0: drawn before paces were kept, or by hand",
        "planned by the campaign over all strata, before thinning; 0: drawn before this was recorded, or requested manually",
    ),
    (
        "symbol_absence",
        None,
        "symbols that are known not to be somewhere, so that one worker asks for all",
        "symbols that a source is known not to have, so that one worker's query is enough for all",
    ),
    (
        "symbol_absence",
        "source",
        "who did not have it: a debuginfod URL, …",
        "source that does not have it: a debuginfod URL, …",
    ),
    ("symbol_absence", "until", "not to be asked again before", "not queried again before this time"),
    (
        "symbol_answer",
        None,
        "what machines' gateways gave for a binary last, as digests: two must say the same for the fleet",
        "digest of each gateway's last answer for a binary; the symbols are used once two machines agree",
    ),
    (
        "symbol_answer",
        "binary_key",
        "of a kernel table that of its kernel",
        "for a kernel's symbol table the key of the kernel",
    ),
    (
        "symbol_answer",
        "digest",
        "SHA-256 of the file; of a kernel table that of its kernel's part",
        "SHA-256 of the file; for a kernel's symbol table that of the kernel's part",
    ),
    ("symbol_answer", "machine_id", "whose answer it is", "machine that sent it"),
    (
        "symbol_answer",
        "parts",
        "of a kernel table the SHA-256, in hex, of each module's part, by what names the module",
        "for a kernel's symbol table the SHA-256, in hex, of each module's part, by the module's key",
    ),
    (
        "symbol_request",
        None,
        "gateways that were asked for symbols nobody has: one at a time in the whole fleet",
        "requests to gateways for missing symbols: a row per binary and kind, one gateway at a time",
    ),
    (
        "symbol_request",
        "again_at",
        "another machine may be asked from then on; NULL: never",
        "earliest time of a request to another machine; NULL: none",
    ),
    ("symbol_request", "attempts", "asks made", "number of requests"),
    ("symbol_request", "detail", "what was answered, a sentence", "the response, a sentence"),
    ("symbol_request", "kind", "what was asked for: a kind of debug_file", "requested kind of debug_file"),
    ("symbol_request", "machine_id", "asked last", "machine of the last request"),
    (
        "symbol_request",
        "machine_ids",
        "ids of the machines asked so far, none twice",
        "machines that got a request, in order, none twice",
    ),
    ("symbol_request", "requested_times", "when each of them was asked", "time of each of these requests"),
    (
        "symcache",
        None,
        "lookup tables built from debug files, and who builds which",
        "lookup tables built from debug files, and the leases of running builds",
    ),
    ("symcache", "attempts", "builds begun since one ended", "builds started since the last one ended"),
    (
        "symcache",
        "began_at",
        "when that build began: what changed later is not in it",
        "when that build began; it does not contain later changes",
    ),
    (
        "symcache",
        "failed_sha256",
        "of the debug file that build was made from",
        "of the debug file of that build",
    ),
    ("symcache", "failure", "of the last build, a sentence", "error of the last build, a sentence"),
    (
        "symcache",
        "lease",
        "names the build under way; NULL: there is none",
        "id of the running build; NULL: none",
    ),
    (
        "symcache",
        "leased_until",
        "a builder that is silent for so long has died",
        "the builder renews it; after this time another may build",
    ),
    (
        "symcache",
        "made_of",
        "the stored files it was built from: SHA-256 of executable, debug file and what that was joined with",
        "SHA-256 of the stored files it was built from: executable, debug file, and files that complete it",
    ),
    (
        "symcache",
        "sha256",
        "of the cache; says where its blob lies; NULL until built",
        "of the cache; determines the key of its blob; NULL until built",
    ),
    ("symcache", "used_at", "last day somebody read it", "last day on which it was read"),
    (
        "visit",
        "cluster",
        "the machine's at the draw: what is reprocessed later keeps it",
        "cluster of the machine at the draw; reprocessing does not change it",
    ),
    (
        "visit",
        "collector_id",
        "run of the collector that makes it; NULL: by hand, or drawn before leases were kept",
        "run of the collector that makes it; NULL: requested manually, or drawn before leases were introduced",
    ),
    ("visit", "detail", "what happened, a sentence", "reason of the outcome, a sentence"),
    (
        "visit",
        "kernel",
        "likewise; a capture that names its own counts",
        "kernel of the machine at the draw; one stated in the capture takes precedence",
    ),
    (
        "visit",
        "probability",
        "of this machine being drawn, 0…1; 0 for a visit by hand",
        "of this machine being drawn, 0…1; 0 for a manually requested visit",
    ),
    (
        "visit",
        "round",
        "-1: asked for by hand, outside every round",
        "-1: requested manually, not part of a round",
    ),
    (
        "visit",
        "seconds",
        "of the window really sampled; NULL unless answered",
        "length of the sampled window; NULL unless answered",
    ),
    ("visit", "started_at", "call made", "when the gateway was called"),
)
"""(table, column or None, before, now), with the names from now on."""


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
    for table, column, _, comment in _COMMENTS:
        _comment(table, column, comment)


def downgrade() -> None:
    """Restore the names, the outcome and the comments of revision 0012."""
    for table, column, comment, _ in _COMMENTS:
        _comment(table, column, comment)
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
