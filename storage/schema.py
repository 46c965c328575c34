"""Every table of the store, with the meaning of every column.

The tables fall into six families: who there is (`machine`, `stratum`, `campaign`), what was
visited (`visit`, `capture`, `coverage` and what captures brought about machines), the interned
dictionaries (`function`, `stack`, `dim_value`, `label_set`, `sample_type`, `binary`), where symbols
come from (`debug_file`, `symcache`, `source_file` and what is asked and landed again for them), the facts
(`profile`, `chunk`, `line_chunk`, partitioned by UTC day), and what is merged from them (`roll`,
`roll_weighted`, `exposure`, `roll_queue`, `roll_replaced`, `fseries`). Sources: DESIGN §5; DIGEST G1, G2, G10–G14.

Only migrations create these tables; `storage/migrations` must stay equal to this module (a test
compares them). Values are raw integers everywhere: weights are applied when a question is asked.
"""

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from storage.frames import Frames

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

_now = func.now()
_utc = DateTime(timezone=True)

# --- Who there is -------------------------------------------------------------------------------

machine = Table(
    "machine",
    metadata,
    Column("machine_id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="operator's name of the machine"),
    Column("address", Text, nullable=False, comment="where its gateway listens: unix:/path or host:port"),
    Column("datacenter", Text, nullable=False, server_default=""),
    Column("cluster", Text, nullable=False, server_default=""),
    Column("platform", Text, nullable=False, server_default="", comment="CPU model; '' until described"),
    Column("architecture", Text, nullable=False, server_default=""),
    Column("kernel", Text, nullable=False, server_default="", comment="kernel release"),
    Column("logical_cpus", Integer, comment="NULL until described, like the columns below"),
    Column("cores", Integer),
    Column("packages", Integer),
    Column("threads_per_core", SmallInteger),
    Column("nominal_mhz", Double),
    Column("memory_bytes", BigInteger),
    Column("labels", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("described", JSONB, comment="the whole of the last Machine message, as JSON"),
    Column("described_at", _utc),
    Column("enabled", Boolean, nullable=False, server_default=text("true"), comment="false: never drawn"),
    Column("added_at", _utc, nullable=False, server_default=_now),
    Column("removed_at", _utc, comment="not in the inventory any more; the row stays for its visits"),
)

stratum = Table(
    "stratum",
    metadata,
    Column("stratum_id", Integer, Identity(always=True), primary_key=True),
    Column("datacenter", Text, nullable=False),
    Column("platform", Text, nullable=False),
    Column(
        "thinning",
        SmallInteger,
        nullable=False,
        server_default="0",
        comment="times its visits were halved because captures waited to be landed; 0: as planned",
    ),
    UniqueConstraint("datacenter", "platform", "thinning"),
    comment="draws are random within a stratum: datacenter × platform, and the hours drawn from as densely",
)

campaign = Table(
    "campaign",
    metadata,
    Column("campaign_id", SmallInteger, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True, comment="'fleet' is the standing one"),
    Column("period_s", Double, nullable=False, comment="length of a round"),
    Column("visits_per_round", Double, nullable=False, comment="expected visits of a round, over all strata"),
    Column("plan", JSONB, nullable=False, comment="events: [{event, rate_hz, duration_ms, stacks, turn}]"),
    Column(
        "select_machines",
        JSONB,
        nullable=False,
        server_default=text("'{}'::jsonb"),
        comment="labels a machine must have",
    ),
    Column(
        "failure_threshold", Double, nullable=False, comment="share of failed visits that stops it (G4), 0…1"
    ),
    Column(
        "failure_window", Integer, nullable=False, comment="number of latest visits that share is taken over"
    ),
    Column("state", Text, nullable=False, server_default="running"),
    Column("state_why", Text, nullable=False, server_default="", comment="a sentence for a person"),
    Column("state_at", _utc, nullable=False, server_default=_now),
    Column(
        "last_round",
        BigInteger,
        nullable=False,
        server_default="-1",
        comment="number of the last round drawn",
    ),
    Column("created_at", _utc, nullable=False, server_default=_now),
    CheckConstraint("state in ('running', 'paused', 'stopped')", name="state"),
)

# --- What was visited ---------------------------------------------------------------------------

visit = Table(
    "visit",
    metadata,
    Column("visit_id", Uuid, primary_key=True, comment="also the capture's id"),
    Column("day", Date, nullable=False, comment="UTC day, fixed at the draw by the collector's clock"),
    Column("hour", Integer, nullable=False, comment="hours since 1970 UTC, fixed at the draw"),
    Column("campaign_id", SmallInteger, ForeignKey("campaign.campaign_id"), nullable=False),
    Column("round", BigInteger, nullable=False, comment="-1: asked for by hand, outside every round"),
    Column("machine_id", Integer, ForeignKey("machine.machine_id"), nullable=False),
    Column("stratum_id", Integer, ForeignKey("stratum.stratum_id"), nullable=False),
    Column("population", Integer, nullable=False, comment="machines in the stratum at the draw"),
    Column("drawn", Integer, nullable=False, comment="machines drawn from the stratum in this round"),
    Column(
        "probability",
        Double,
        nullable=False,
        comment="of this machine being drawn, 0…1; 0 for a visit by hand",
    ),
    Column("drawn_at", _utc, nullable=False),
    Column("started_at", _utc, comment="call made"),
    Column("ended_at", _utc),
    Column("outcome", Text, nullable=False, server_default="drawn"),
    Column("detail", Text, nullable=False, server_default="", comment="what happened, a sentence"),
    Column("seconds", Double, comment="of the window really sampled; NULL unless answered"),
    Column("utilisation", Double, comment="busy share of the machine, 0…1; NULL: not known"),
    Column("clock_skew_s", Double, comment="machine's wall clock − collector's; NULL: not known"),
    CheckConstraint(
        "outcome in ('drawn', 'answered', 'unreachable', 'refused', 'timeout', 'garbage', 'failed', 'lost')",
        name="outcome",
    ),
    Index(None, "campaign_id", "day", "stratum_id"),
    Index(None, "campaign_id", "drawn_at"),
    Index(None, "machine_id", "drawn_at"),
    Index("ix_visit_open", "drawn_at", postgresql_where=text("outcome = 'drawn'")),
    comment="one machine drawn in one round; written before the machine is called",
)

capture = Table(
    "capture",
    metadata,
    Column("visit_id", Uuid, ForeignKey("visit.visit_id"), primary_key=True),
    Column("day", Date, nullable=False, comment="the visit's"),
    Column("blob", Text, nullable=False, comment="key in the archive; '' once it was old enough to go"),
    Column("bytes", BigInteger, nullable=False, comment="of the blob"),
    Column("raw_bytes", BigInteger, nullable=False, comment="after decompression"),
    Column("sha256", LargeBinary, nullable=False, comment="of the blob"),
    Column("samples", BigInteger, nullable=False),
    Column(
        "partition",
        SmallInteger,
        nullable=False,
        server_default="0",
        comment="captures of one need the same binaries: hash of the program with most samples",
    ),
    Column("archived_at", _utc, nullable=False, server_default=_now),
    Column("wanted", Integer, nullable=False, server_default="1", comment="generation that should be landed"),
    Column(
        "landed", Integer, nullable=False, server_default="0", comment="generation that is landed; 0: none"
    ),
    Column("landed_at", _utc),
    Column(
        "expired",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="its day's partitions were dropped before `landed` could land; no facts",
    ),
    Column("attempts", Integer, nullable=False, server_default="0", comment="landings tried for `wanted`"),
    Column("leased_until", _utc, comment="a worker has it, or it rests after a failure, until then"),
    Column(
        "failure", Text, nullable=False, server_default="", comment="why the last attempt failed, a sentence"
    ),
    Column("set_aside", Text, comment="why it is no longer tried; NULL: it is"),
    Column(
        "newer_format",
        Integer,
        comment="it was set aside because its layout is this one, newer than the program; NULL: not for that",
    ),
    Index(None, "day"),
    Index("ix_capture_kept", "day", postgresql_where=text("blob <> ''")),
    Index(
        "ix_capture_fresh",
        "archived_at",
        postgresql_where=text("landed = 0 and landed < wanted and set_aside is null"),
    ),
    Index(
        "ix_capture_fresh_partition",
        "partition",
        "archived_at",
        postgresql_where=text("landed = 0 and landed < wanted and set_aside is null"),
    ),
    Index(
        "ix_capture_again",
        "archived_at",
        postgresql_where=text("landed > 0 and landed < wanted and set_aside is null"),
    ),
    Index(
        "ix_capture_again_partition",
        "partition",
        "archived_at",
        postgresql_where=text("landed > 0 and landed < wanted and set_aside is null"),
    ),
    Index("ix_capture_set_aside", "newer_format", postgresql_where=text("set_aside is not null")),
    comment="a raw capture in the archive, and what remains to be done with it",
)

capture_binary = Table(
    "capture_binary",
    metadata,
    Column("binary_id", Integer, ForeignKey("binary.binary_id"), primary_key=True),
    Column("visit_id", Uuid, primary_key=True),
    Column("day", Date, nullable=False),
    Column("samples", BigInteger, nullable=False, comment="samples whose stack has a frame in it"),
    Column("unresolved", BigInteger, nullable=False, comment="of those, with a frame here that has no name"),
    Column(
        "cpu_ns",
        BigInteger,
        nullable=False,
        server_default="0",
        comment="of the samples, those of cpu: the time they stand for",
    ),
    Column("unresolved_cpu_ns", BigInteger, nullable=False, server_default="0"),
    Index(None, "visit_id"),
    Index(None, "day", postgresql_using="brin"),  # rows come in the order of days, and are many
    comment="which captures hold which binary, so that an upload finds what to land again",
)

capture_segment = Table(
    "capture_segment",
    metadata,
    Column("visit_id", Uuid, primary_key=True),
    Column("segment", SmallInteger, primary_key=True, autoincrement=False, comment="index in the capture"),
    Column("day", Date, nullable=False),
    Column("event", Text, nullable=False, comment="generic name, e.g. cpu"),
    Column(
        "sample_type_id",
        SmallInteger,
        ForeignKey("sample_type.sample_type_id"),
        comment="NULL unless status is ok",
    ),
    Column("stacks", Boolean, nullable=False, comment="false: flat, leaves only"),
    Column("source", Text, nullable=False, comment="what was really opened, e.g. cpu-clock"),
    Column("status", Text, nullable=False, comment="ok, unsupported, denied, busy, not_counted"),
    Column("errno", Integer, nullable=False),
    Column(
        "seconds",
        Double,
        nullable=False,
        comment="this event was watched; less than the visit's when events take turns",
    ),
    Column("period", BigInteger, nullable=False, comment="units one sample stands for"),
    Column(
        "requested_period",
        BigInteger,
        nullable=False,
        comment="smaller than `period` when the rate was thinned",
    ),
    Column("thinned_why", Text, nullable=False, server_default=""),
    Column("samples", BigInteger, nullable=False, comment="0 is an answer too: the machine was idle"),
    Column("lost", BigInteger, comment="samples the kernel could not write; NULL: it does not count them"),
    Index(None, "day", "sample_type_id"),
    comment="how long each visit watched each event: the exposure behind its profiles, also when there are none",
)

capture_cpu = Table(
    "capture_cpu",
    metadata,
    Column("visit_id", Uuid, primary_key=True),
    Column("cpu", Integer, primary_key=True, comment="logical CPU"),
    Column("day", Date, nullable=False),
    Column("core", Integer, comment="NULL: topology not readable"),
    Column("package", Integer),
    Column("numa_node", Integer),
    Column("user_ms", Integer, nullable=False),
    Column("system_ms", Integer, nullable=False),
    Column("idle_ms", Integer, nullable=False),
    Column("iowait_ms", Integer, nullable=False),
    Column("irq_ms", Integer, nullable=False),
    Column("steal_ms", Integer, nullable=False),
    Column("mhz", Double, comment="NULL: not readable"),
    Index(None, "day"),
)

capture_counter = Table(
    "capture_counter",
    metadata,
    Column("visit_id", Uuid, primary_key=True),
    Column(
        "reading",
        SmallInteger,
        primary_key=True,
        autoincrement=False,
        comment="index of the counter group in the capture: its counters were read together",
    ),
    Column("name", Text, primary_key=True, comment="generic name"),
    Column("cpu", Integer, nullable=False, comment="-1: whole machine"),
    Column("application", Integer, nullable=False, comment="dim_value id; 0: everything on that CPU"),
    Column("day", Date, nullable=False),
    Column("status", Text, nullable=False, comment="ok, unsupported, denied, busy, not_counted"),
    Column("errno", Integer, nullable=False, server_default="0"),
    Column("value", BigInteger, comment="raw reading; NULL unless status is ok"),
    Column("time_enabled_ns", BigInteger, nullable=False),
    Column("time_running_ns", BigInteger, nullable=False),
    Index(None, "day"),
)

coverage = Table(
    "coverage",
    metadata,
    Column("campaign_id", SmallInteger, primary_key=True),
    Column("stratum_id", Integer, primary_key=True),
    Column("hour", Integer, primary_key=True, comment="hours since 1970 UTC"),
    Column("utilisation_class", SmallInteger, primary_key=True, comment="0…3; -1: not known"),
    Column("day", Date, nullable=False),
    Column("population", Integer, nullable=False, comment="machines in the stratum, largest in the hour"),
    Column("drawn", Integer, nullable=False, comment="visits; one that has not ended counts in class -1"),
    Column("answered", Integer, nullable=False),
    Column("failed", Integer, nullable=False, comment="ended without a capture, whatever the reason"),
    Column("seconds", Double, nullable=False, comment="answered seconds"),
    comment="what weights are computed from, at query time (DESIGN §4)",
)

# --- Dictionaries -------------------------------------------------------------------------------

sample_type = Table(
    "sample_type",
    metadata,
    Column("sample_type_id", SmallInteger, Identity(always=True), primary_key=True),
    Column("event", Text, nullable=False, comment="generic name, e.g. cpu"),
    Column("unit", Text, nullable=False, comment="what a value × period is counted in, e.g. nanoseconds"),
    Column("kind", Text, nullable=False, server_default="rate"),
    UniqueConstraint("event", "unit"),
    CheckConstraint("kind in ('rate', 'gauge')", name="kind"),
)

binary = Table(
    "binary",
    metadata,
    Column("binary_id", Integer, Identity(always=True), primary_key=True),
    Column(
        "key", Text, nullable=False, unique=True, comment="build-id as hex, else content key, else path:…"
    ),
    Column("name", Text, nullable=False, comment="base name, e.g. libc.so.6"),
    Column("path", Text, nullable=False, comment="where it was first seen"),
    Column("kind", Text, nullable=False, comment="file, kernel, module, vdso, anonymous, unknown"),
    Column(
        "status",
        Text,
        nullable=False,
        server_default="unknown",
        comment="best so far: full, symtab, binary_only, unknown",
    ),
    Column("reason", Text, nullable=False, server_default="", comment="why it is not full, a sentence"),
    Column("first_seen", _utc, nullable=False, server_default=_now),
)

# --- Symbols --------------------------------------------------------------------------------------

debug_file = Table(
    "debug_file",
    metadata,
    Column("debug_file_id", Integer, Identity(always=True), primary_key=True),
    Column("binary_key", Text, nullable=False),
    Column(
        "kind", Text, nullable=False, comment="executable, debuginfo, symbols, kallsyms, altlink or split"
    ),
    Column(
        "variant",
        Text,
        nullable=False,
        server_default="",
        comment="which of those that stand beside each other: of kallsyms the digest of the module set",
    ),
    Column("name", Text, nullable=False, server_default="", comment="base name it was uploaded under"),
    Column("quality", SmallInteger, nullable=False, comment="3 DWARF, 2 symtab, 1 dynsym, 0 none"),
    Column("sha256", LargeBinary, nullable=False, comment="of the file; says where its blob lies"),
    Column("bytes", BigInteger, nullable=False, comment="of the blob"),
    Column("raw_bytes", BigInteger, nullable=False, comment="of the file"),
    Column("origin", Text, nullable=False, comment="upload, gateway, or the debuginfod URL"),
    Column("uploaded_by", Text, nullable=False, server_default="", comment="who, as far as it is known"),
    Column("added_at", _utc, nullable=False, server_default=_now, comment="last time it was uploaded"),
    Column(
        "needs",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="keys of files that complete it: what dwz moved out of it, the other halves of split DWARF",
    ),
    Column("rejected", Text, comment="why it is not to be used, a sentence; NULL: it may be"),
    Column(
        "changed_at",
        _utc,
        nullable=False,
        server_default=_now,
        comment="added, rejected or accepted, or what it needs was",
    ),
    Column("used_at", _utc, comment="last day somebody read it; NULL: nobody yet"),
    UniqueConstraint("binary_key", "sha256"),
    Index(None, "sha256"),
    Index(None, "changed_at"),
    Index(None, "needs", postgresql_using="gin"),
    comment="candidates for a binary's symbols: the best quality that is not rejected wins, then the newest",
)

source_file = Table(
    "source_file",
    metadata,
    Column("sha256", LargeBinary, primary_key=True, comment="of the text; says where its blob lies"),
    Column("bytes", BigInteger, nullable=False, comment="of the blob"),
    Column("raw_bytes", BigInteger, nullable=False, comment="of the text"),
    Column("added_at", _utc, nullable=False, server_default=_now),
    comment="source files, each content once however many builds have it (DIGEST G18)",
)

source_path = Table(
    "source_path",
    metadata,
    Column("binary_key", Text, primary_key=True),
    Column("path", Text, primary_key=True, comment="as the debug information states it, normalised"),
    Column("sha256", LargeBinary, ForeignKey("source_file.sha256"), nullable=False),
    Column("added_at", _utc, nullable=False, server_default=_now),
    Index(None, "sha256"),
    comment="which source a binary was built from",
)

symbol_absence = Table(
    "symbol_absence",
    metadata,
    Column("binary_key", Text, primary_key=True),
    Column("kind", Text, primary_key=True, comment="of debug_file, or source:… for a source file"),
    Column("source", Text, primary_key=True, comment="who did not have it: a debuginfod URL, …"),
    Column("reason", Text, nullable=False, comment="a sentence"),
    Column("until", _utc, nullable=False, comment="not to be asked again before"),
    Index(None, "until"),
    comment="symbols that are known not to be somewhere, so that one worker asks for all",
)

symcache = Table(
    "symcache",
    metadata,
    Column("binary_key", Text, primary_key=True),
    Column("producer", Text, primary_key=True, comment="program, version and format of the cache"),
    Column("source_sha256", LargeBinary, comment="of the debug file it was built from; NULL until built"),
    Column(
        "made_of",
        ARRAY(LargeBinary),
        nullable=False,
        server_default=text("'{}'"),
        comment="the stored files it was built from: SHA-256 of executable, debug file and what that was joined with",
    ),
    Column("sha256", LargeBinary, comment="of the cache; says where its blob lies; NULL until built"),
    Column("bytes", BigInteger, comment="of the blob"),
    Column("raw_bytes", BigInteger, comment="of the cache"),
    Column("began_at", _utc, comment="when that build began: what changed later is not in it"),
    Column("built_at", _utc),
    Column("build_cpu_s", Double),
    Column("peak_rss_bytes", BigInteger),
    Column("used_at", _utc, comment="last day somebody read it"),
    Column("failure", Text, nullable=False, server_default="", comment="of the last build, a sentence"),
    Column("failed_sha256", LargeBinary, comment="of the debug file that build was made from"),
    Column(
        "failed_until", _utc, comment="that file is not built again before; NULL: the last build did not fail"
    ),
    Column("lease", Uuid, comment="names the build under way; NULL: there is none"),
    Column("lease_sha256", LargeBinary, comment="of the debug file that is being built"),
    Column("leased_until", _utc, comment="a builder that is silent for so long has died"),
    Column("attempts", Integer, nullable=False, server_default="0", comment="builds begun since one ended"),
    Index(None, "sha256", postgresql_where=text("sha256 is not null")),
    Index(None, "built_at"),
    comment="lookup tables built from debug files, and who builds which",
)

symbol_ask = Table(
    "symbol_ask",
    metadata,
    Column("binary_key", Text, primary_key=True),
    Column("kind", Text, primary_key=True, comment="what was asked for: a kind of debug_file"),
    Column("machine_id", Integer, ForeignKey("machine.machine_id"), nullable=False, comment="asked last"),
    Column("asked_at", _utc, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("detail", Text, nullable=False, server_default="", comment="what was answered, a sentence"),
    Column("attempts", Integer, nullable=False, comment="asks made"),
    Column("asked", ARRAY(Integer), nullable=False, comment="ids of the machines asked so far, none twice"),
    Column("again_at", _utc, comment="another machine may be asked from then on; NULL: never"),
    CheckConstraint("outcome in ('asked', 'got', 'absent', 'refused', 'failed')", name="outcome"),
    Index(None, "asked_at"),
    comment="gateways that were asked for symbols nobody has: one at a time in the whole fleet",
)

relanding = Table(
    "relanding",
    metadata,
    Column("relanding_id", Integer, Identity(always=True), primary_key=True),
    Column("binary_key", Text, nullable=False),
    Column("why", Text, nullable=False, comment="a sentence, e.g. which file was uploaded"),
    Column("nameless", Boolean, nullable=False, comment="true: only captures with frames that have no name"),
    Column("asked_at", _utc, nullable=False, server_default=_now),
    Column("renamed", Integer, nullable=False, server_default="0", comment="functions named in place"),
    Column("captures", Integer, nullable=False, server_default="0", comment="to be landed again"),
    Column(
        "failed",
        Integer,
        nullable=False,
        server_default="0",
        comment="of them, set aside or no longer archived; counted at the end",
    ),
    Column("finished_at", _utc),
    Index("ix_relanding_open", "binary_key", postgresql_where=text("finished_at is null")),
    Index(None, "asked_at"),
    comment="captures that are landed again because a binary's symbols have become better",
)

relanding_capture = Table(
    "relanding_capture",
    metadata,
    Column(
        "relanding_id",
        Integer,
        ForeignKey("relanding.relanding_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("visit_id", Uuid, primary_key=True),
    Column("day", Date, nullable=False, comment="the visit's; the newest are landed again first"),
    Column("generation", Integer, comment="it shall be landed as; NULL: its turn has not come"),
    Index("ix_relanding_capture_waiting", "day", postgresql_where=text("generation is null")),
    comment="what a relanding under way is about; its rows go when it is finished",
)

# --- Dictionaries of what was sampled -------------------------------------------------------------

function = Table(
    "function",
    metadata,
    Column("function_id", Integer, Identity(always=True), primary_key=True),
    Column(
        "hash",
        Uuid,
        nullable=False,
        unique=True,
        comment="of (name, file, binary name), or (binary key, start); never changes",
    ),
    Column(
        "kind",
        SmallInteger,
        nullable=False,
        comment="0 user, 1 kernel, 2 marker: no code, it says what is missing there",
    ),
    Column(
        "name", Text, nullable=False, comment="demangled; lib.so+0x1234 without a name; [why] for a marker"
    ),
    Column("raw_name", Text, nullable=False, comment="as in the symbol table"),
    Column("file", Text, nullable=False, comment="source path; '' not known"),
    Column("binary_name", Text, nullable=False),
    Column("start_line", Integer, nullable=False, server_default="0", comment="0: not known"),
    Column("status", SmallInteger, nullable=False, comment="3 full, 2 symtab, 1 binary_only, 0 unknown"),
    Column("binary_key", Text, comment="set for a function landed without a name"),
    Column(
        "start",
        BigInteger,
        comment="offset of its start in the binary's own space; NULL: not known, or named",
    ),
    Column(
        "alias_of",
        Integer,
        ForeignKey("function.function_id"),
        comment="named since: every reader takes that row instead; never a chain",
    ),
    Index(None, "binary_key", "start", postgresql_where=text("binary_key is not null")),
    Index(None, "alias_of", postgresql_where=text("alias_of is not null")),
    Index(None, "name", postgresql_using="hash"),  # a C++ name can be longer than a btree row may be
)

stack = Table(
    "stack",
    metadata,
    Column("stack_id", Integer, Identity(always=True), primary_key=True),
    Column("hash", Uuid, nullable=False, unique=True),
    Column(
        "frames",
        Frames,
        nullable=False,
        comment="function ids, outermost first (storage/frames.py); a walk that did not reach its thread's start begins with a marker",
    ),
)

dim_value = Table(
    "dim_value",
    metadata,
    Column("value_id", Integer, Identity(always=True), primary_key=True),
    Column("dim", Text, nullable=False, comment="application, version, platform, datacenter, …"),
    Column("value", Text, nullable=False),
    UniqueConstraint("dim", "value"),
)

label_set = Table(
    "label_set",
    metadata,
    Column("label_set_id", Integer, Identity(always=True), primary_key=True),
    Column("hash", Uuid, nullable=False, unique=True),
    Column("labels", JSONB, nullable=False, comment="comm, unit, cgroup and the user's labels"),
    Index(None, "labels", postgresql_using="gin", postgresql_ops={"labels": "jsonb_path_ops"}),
)

dictionary_epoch = Table(
    "dictionary_epoch",
    metadata,
    Column("only", Boolean, primary_key=True, server_default=text("true"), comment="one row"),
    Column("epoch", BigInteger, nullable=False, comment="grows when a sweep begins to mark"),
    Column("marking", Boolean, nullable=False, comment="a sweep is under way: ids in use are noted"),
    Column("swept_at", _utc, comment="end of the last sweep; NULL: none yet"),
    CheckConstraint('"only"', name="only"),
    comment="locked in share by every landing, so that no row goes that one is about to use",
)

dictionary_touched = Table(
    "dictionary_touched",
    metadata,
    Column("dictionary", Text, primary_key=True, comment="stack, function, …"),
    Column("id", Integer, primary_key=True, autoincrement=False),
    comment="rows that landings found again while a sweep marked: they stay",
)

# --- Facts, partitioned by UTC day ----------------------------------------------------------------


def _profile_columns() -> list[Column[Any]]:
    """What a profile is keyed and filtered by, and its sums; a replaced one keeps all of it."""
    return [
        Column("campaign_id", SmallInteger, nullable=False),
        Column("stratum_id", Integer, nullable=False),
        Column("hour", Integer, nullable=False, comment="the visit's"),
        Column("sample_type_id", SmallInteger, nullable=False),
        Column("stacks", Boolean, nullable=False, comment="false: flat, leaves only"),
        Column("segment", SmallInteger, nullable=False, comment="index in the capture"),
        Column("machine_id", Integer, nullable=False),
        Column("application", Integer, nullable=False, comment="dim_value id, like all down to kernel"),
        Column("version", Integer, nullable=False),
        Column("image", Integer, nullable=False, comment="base name of the main executable"),
        Column("build_id", Integer, nullable=False, comment="of the main executable"),
        Column("container", Integer, nullable=False),
        Column("job", Integer, nullable=False),
        Column("compiler", Integer, nullable=False, comment="of the main executable"),
        Column("datacenter", Integer, nullable=False),
        Column("cluster", Integer, nullable=False),
        Column("platform", Integer, nullable=False),
        Column("kernel", Integer, nullable=False),
        Column("label_set_id", Integer, nullable=False),
        Column("facts", Integer, nullable=False, comment="pairs in the chunk"),
        Column("samples", BigInteger, nullable=False, comment="sum of the chunk's values"),
        Column(
            "period", BigInteger, nullable=False, comment="units of the sample type one sample stands for"
        ),
    ]


profile = Table(
    "profile",
    metadata,
    Column("day", Date, primary_key=True, comment="the visit's"),
    Column(
        "profile_id",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="63 bits of blake2b(visit, segment, process group)",
    ),
    Column("visit_id", Uuid, nullable=False),
    Column("generation", Integer, nullable=False),
    *_profile_columns(),
    Index(None, "sample_type_id", "application", "day"),
    Index(None, "visit_id"),
    postgresql_partition_by="RANGE (day)",
)

chunk = Table(
    "chunk",
    metadata,
    Column("day", Date, primary_key=True),
    Column("profile_id", BigInteger, primary_key=True, autoincrement=False),
    Column(
        "data", LargeBinary, nullable=False, comment="(stack id, samples) pairs, storage/landing/codec.py"
    ),
    postgresql_partition_by="RANGE (day)",
)

line_chunk = Table(
    "line_chunk",
    metadata,
    Column("day", Date, primary_key=True),
    Column("profile_id", BigInteger, primary_key=True, autoincrement=False),
    Column("facts", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False, comment="(function id, line) → self, total samples"),
    postgresql_partition_by="RANGE (day)",
)

# --- Merged ---------------------------------------------------------------------------------------

roll_queue = Table(
    "roll_queue",
    metadata,
    Column("entry_id", BigInteger, Identity(always=True), primary_key=True),
    Column("day", Date, nullable=False),
    Column("visit_id", Uuid, nullable=False),
    Column(
        "sign",
        SmallInteger,
        nullable=False,
        comment="+1: add the visit's profiles; -1: take the roll_replaced rows of this entry out",
    ),
    Index("uq_roll_queue_visit_id", "visit_id", unique=True, postgresql_where=text("sign = 1")),
    CheckConstraint("sign in (-1, 1)", name="sign"),
    comment="visits landed but not yet merged into cells; whole visits, because variances are between visits",
)

roll_replaced = Table(
    "roll_replaced",
    metadata,
    Column("entry_id", BigInteger, primary_key=True, autoincrement=False, comment="roll_queue's"),
    Column("profile_id", BigInteger, primary_key=True, autoincrement=False),
    *_profile_columns(),
    Column("data", LargeBinary, nullable=False),
    comment="profiles and chunks that a newer generation replaced, until they are taken out of the cells",
)


def _cell_key() -> list[Column[Any]]:
    """What every merged cell is keyed by, whatever its level."""
    return [
        Column("cube", SmallInteger, primary_key=True, autoincrement=False),
        Column("campaign_id", SmallInteger, primary_key=True, autoincrement=False),
        Column("stacks", Boolean, primary_key=True),
        Column("sample_type_id", SmallInteger, primary_key=True, autoincrement=False),
    ]


roll = Table(
    "roll",
    metadata,
    *_cell_key(),
    Column("stratum_id", Integer, primary_key=True, autoincrement=False),
    Column(
        "utilisation_class",
        SmallInteger,
        primary_key=True,
        autoincrement=False,
        comment="of the visits, as in `coverage`: their weights differ",
    ),
    Column("level", SmallInteger, primary_key=True, autoincrement=False, comment="-1 hour, 0 day"),
    Column("bucket", Integer, primary_key=True, autoincrement=False, comment="hours or days since 1970 UTC"),
    Column("k1", Integer, primary_key=True, autoincrement=False, comment="first key of the cube; 0: none"),
    Column("k2", Integer, primary_key=True, autoincrement=False),
    Column("facts", Integer, nullable=False, comment="pairs in data"),
    Column("profiles", Integer, nullable=False),
    Column("visits", Integer, nullable=False, comment="with at least one sample here"),
    Column("samples", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False, comment="in units of the sample type: Σ samples × period"),
    Column("data", LargeBinary, nullable=False, comment="(stack id, units) pairs"),
    Column(
        "moments",
        LargeBinary,
        comment="what each visit has of each function, or Σy, Σy², Σxy, Σy⁴ of each for self and total (storage/rolling/moments_codec.py); NULL: the cube keeps none",
    ),
    comment="cells of an hour or a day: raw integers, weighted when a question is asked",
)

roll_weighted = Table(
    "roll_weighted",
    metadata,
    *_cell_key(),
    Column("level", SmallInteger, primary_key=True, autoincrement=False, comment="1…3: 4^level days"),
    Column(
        "bucket",
        Integer,
        primary_key=True,
        autoincrement=False,
        comment="days since 1970 UTC ÷ 4^level, rounded down",
    ),
    Column("k1", Integer, primary_key=True, autoincrement=False),
    Column("k2", Integer, primary_key=True, autoincrement=False),
    Column("facts", Integer, nullable=False, comment="pairs in data"),
    Column("profiles", Integer, nullable=False),
    Column("visits", Integer, nullable=False, comment="with at least one sample here"),
    Column("samples", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False, comment="raw, as in `roll`"),
    Column("weighted_total", Double, nullable=False, comment="estimate of the whole fleet's, in units"),
    Column("data", LargeBinary, nullable=False, comment="(stack id, units) pairs, raw, as in `roll`"),
    Column("weighted", LargeBinary, nullable=False, comment="the fleet's units of the same stacks, doubles"),
    Column(
        "moments", LargeBinary, comment="per function the parts of its variance; NULL: the cube keeps none"
    ),
    comment="closed days merged over strata, with the weights of their final coverage",
)

roll_built = Table(
    "roll_built",
    metadata,
    Column("cube", SmallInteger, primary_key=True, autoincrement=False),
    Column("level", SmallInteger, primary_key=True, autoincrement=False, comment="1…3"),
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    Column("built_at", _utc, nullable=False, server_default=_now),
    comment="buckets of roll_weighted that hold all there is; a row goes when one of its days changes",
)

exposure = Table(
    "exposure",
    metadata,
    Column("campaign_id", SmallInteger, primary_key=True, autoincrement=False),
    Column("sample_type_id", SmallInteger, primary_key=True, autoincrement=False),
    Column("stacks", Boolean, primary_key=True),
    Column("stratum_id", Integer, primary_key=True, autoincrement=False),
    Column("hour", Integer, primary_key=True, autoincrement=False, comment="hours since 1970 UTC"),
    Column(
        "utilisation_class", SmallInteger, primary_key=True, autoincrement=False, comment="as in coverage"
    ),
    Column("day", Date, nullable=False),
    Column("visits", Integer, nullable=False, comment="merged into cells, those without any sample too"),
    Column("seconds", Double, nullable=False, comment="they watched this event"),
    Index(None, "day"),
    comment="what the cells of an hour were observed in; written with them, so that both always agree",
)

fseries = Table(
    "fseries",
    metadata,
    Column("campaign_id", SmallInteger, primary_key=True),
    Column("sample_type_id", SmallInteger, primary_key=True),
    Column("function_block", Integer, primary_key=True, comment="64 functions"),
    Column("day", Date, primary_key=True),
    Column("facts", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False, comment="64 functions × 24 h, self and total"),
)

PARTITIONED = (profile, chunk, line_chunk)
"""Tables with one partition a UTC day, created ahead and dropped whole."""
