"""The store's tables as of version 0.1.

Bytes that are compressed already are stored EXTERNAL: PostgreSQL would try to compress them again.
Partitions inherit that (`storage.partitions`).
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

COMPRESSED = (
    ("stack_block", "data"),
    ("chunk", "data"),
    ("line_chunk", "data"),
    ("roll", "data"),
    ("roll", "moments"),
    ("roll_weighted", "data"),
    ("roll_weighted", "weighted"),
    ("roll_weighted", "moments"),
    ("roll_replaced", "data"),
    ("fseries", "data"),
)


def upgrade() -> None:
    """Create the schema."""
    op.create_table(
        "binary",
        sa.Column("binary_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False, comment="build-id as hex, else content key, else path:…"),
        sa.Column("name", sa.Text(), nullable=False, comment="base name, e.g. libc.so.6"),
        sa.Column("path", sa.Text(), nullable=False, comment="where it was first seen"),
        sa.Column(
            "kind", sa.Text(), nullable=False, comment="file, kernel, module, vdso, anonymous, unknown"
        ),
        sa.Column(
            "status",
            sa.Text(),
            server_default="unknown",
            nullable=False,
            comment="best so far: full, symtab, binary_only, unknown",
        ),
        sa.Column(
            "reason", sa.Text(), server_default="", nullable=False, comment="why it is not full, a sentence"
        ),
        sa.Column("first_seen", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("binary_id", name=op.f("pk_binary")),
        sa.UniqueConstraint("key", name=op.f("uq_binary_key")),
    )
    op.create_table(
        "campaign",
        sa.Column("campaign_id", sa.SmallInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="'fleet' is the standing one"),
        sa.Column("period_s", sa.Double(), nullable=False, comment="length of a round"),
        sa.Column(
            "visits_per_round",
            sa.Double(),
            nullable=False,
            comment="expected visits of a round, over all strata",
        ),
        sa.Column(
            "plan",
            postgresql.JSONB(),
            nullable=False,
            comment="events: [{event, rate_hz, duration_ms, stacks, turn}]",
        ),
        sa.Column(
            "counted",
            postgresql.JSONB(),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="besides the standing counters: {events: [name], cgroups: how many control groups}",
        ),
        sa.Column(
            "select_machines",
            postgresql.JSONB(),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="labels a machine must have",
        ),
        sa.Column(
            "failure_threshold",
            sa.Double(),
            nullable=False,
            comment="share of failed visits that stops it (G4), 0…1",
        ),
        sa.Column(
            "failure_window",
            sa.Integer(),
            nullable=False,
            comment="number of latest visits that share is taken over",
        ),
        sa.Column("state", sa.Text(), server_default="running", nullable=False),
        sa.Column(
            "state_why", sa.Text(), server_default="", nullable=False, comment="a sentence for a person"
        ),
        sa.Column("state_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "last_round",
            sa.BigInteger(),
            server_default="-1",
            nullable=False,
            comment="number of the last round drawn",
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("state in ('running', 'paused', 'stopped')", name=op.f("ck_campaign_state")),
        sa.PrimaryKeyConstraint("campaign_id", name=op.f("pk_campaign")),
        sa.UniqueConstraint("name", name=op.f("uq_campaign_name")),
    )
    op.create_table(
        "capture_counter",
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column(
            "reading",
            sa.SmallInteger(),
            autoincrement=False,
            nullable=False,
            comment="counters of one number were read together, so that their ratio means something",
        ),
        sa.Column("name", sa.Text(), nullable=False, comment="generic name"),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "package",
            sa.SmallInteger(),
            nullable=True,
            comment="the socket; NULL: of the whole machine, or not known",
        ),
        sa.Column(
            "cpus",
            sa.SmallInteger(),
            nullable=False,
            comment="logical CPUs whose readings are added up; 0: it belongs to none",
        ),
        sa.Column(
            "application",
            sa.Integer(),
            nullable=False,
            comment="dim_value id; 0: everything that ran, or several in one control group",
        ),
        sa.Column(
            "cgroup", sa.Text(), server_default="", nullable=False, comment="control group; '': not of one"
        ),
        sa.Column("status", sa.Text(), nullable=False, comment="ok, unsupported, denied, busy, not_counted"),
        sa.Column("errno", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "value",
            sa.BigInteger(),
            nullable=True,
            comment="sum of the raw readings; NULL unless status is ok",
        ),
        sa.Column(
            "scaled",
            sa.Double(),
            nullable=True,
            comment="sum of reading × time enabled / time running, in `unit`: what to add up and divide",
        ),
        sa.Column(
            "unit",
            sa.Text(),
            nullable=False,
            comment="of `scaled`: count, cycles, nanoseconds, joules, bytes",
        ),
        sa.Column(
            "source",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="what was opened; '': the kernel's generic event",
        ),
        sa.Column("time_enabled_ns", sa.BigInteger(), nullable=False, comment="sum over the readings"),
        sa.Column(
            "time_running_ns", sa.BigInteger(), nullable=False, comment="less where counters took turns"
        ),
        sa.PrimaryKeyConstraint("visit_id", "reading", "name", name=op.f("pk_capture_counter")),
        comment="what was counted over the window of a visit, of the machine, its sockets and its control groups",
    )
    op.create_index(op.f("ix_capture_counter_day"), "capture_counter", ["day"], unique=False)
    op.create_table(
        "capture_cpu",
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column("cpu", sa.Integer(), nullable=False, comment="logical CPU"),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "core", sa.Integer(), nullable=True, comment="the kernel's number; NULL: topology not readable"
        ),
        sa.Column("package", sa.Integer(), nullable=True),
        sa.Column("numa_node", sa.Integer(), nullable=True),
        sa.Column(
            "core_cpu",
            sa.Integer(),
            nullable=True,
            comment="lowest logical CPU of its core, what threads of one core share; NULL: not known",
        ),
        sa.Column("user_ms", sa.Integer(), nullable=False),
        sa.Column("system_ms", sa.Integer(), nullable=False),
        sa.Column("idle_ms", sa.Integer(), nullable=False),
        sa.Column("iowait_ms", sa.Integer(), nullable=False),
        sa.Column("irq_ms", sa.Integer(), nullable=False),
        sa.Column("steal_ms", sa.Integer(), nullable=False),
        sa.Column("mhz", sa.Double(), nullable=True, comment="mean over the window; NULL: not measured"),
        sa.Column("min_mhz", sa.Double(), nullable=True, comment="limits of the governor; NULL: no cpufreq"),
        sa.Column("max_mhz", sa.Double(), nullable=True),
        sa.Column(
            "idle_state_ms",
            postgresql.JSONB(),
            nullable=True,
            comment="time in each idle state by its name; NULL: not readable",
        ),
        sa.PrimaryKeyConstraint("visit_id", "cpu", name=op.f("pk_capture_cpu")),
        comment="time of each logical CPU over the window; one that came or went within it has no row",
    )
    op.create_index(op.f("ix_capture_cpu_day"), "capture_cpu", ["day"], unique=False)
    op.create_table(
        "capture_system",
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "seconds",
            sa.Double(),
            nullable=True,
            comment="length of the window; NULL: not recorded, like all below",
        ),
        sa.Column(
            "utilisation", sa.Double(), nullable=True, comment="mean busy share of all logical CPUs, 0…1"
        ),
        sa.Column("load_1", sa.Double(), nullable=True),
        sa.Column("load_5", sa.Double(), nullable=True),
        sa.Column("load_15", sa.Double(), nullable=True),
        sa.Column("tasks", sa.Integer(), nullable=True),
        sa.Column("tasks_runnable", sa.Integer(), nullable=True, comment="at the end of the window"),
        sa.Column(
            "pressure",
            postgresql.JSONB(),
            nullable=True,
            comment="stall shares avg10 in percent: {cpu: {some, full}, memory: …, io: …, irq: {full}}",
        ),
        sa.Column(
            "stalled_us",
            postgresql.JSONB(),
            nullable=True,
            comment='time stalled within the window, "some", by resource',
        ),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column(
            "memory_available_bytes", sa.BigInteger(), nullable=True, comment="at the end of the window"
        ),
        sa.Column("memory_available_before_bytes", sa.BigInteger(), nullable=True),
        sa.Column("swap_used_bytes", sa.BigInteger(), nullable=True),
        sa.Column(
            "governor", sa.Text(), nullable=True, comment="several, joined by commas, where CPUs differ"
        ),
        sa.Column("frequency_driver", sa.Text(), nullable=True),
        sa.Column("nominal_mhz", sa.Double(), nullable=True),
        sa.Column(
            "min_mhz", sa.Double(), nullable=True, comment="lowest and highest limit of any CPU's governor"
        ),
        sa.Column("max_mhz", sa.Double(), nullable=True),
        sa.Column("hardware_min_mhz", sa.Double(), nullable=True),
        sa.Column("hardware_max_mhz", sa.Double(), nullable=True),
        sa.Column("logical_cpus", sa.Integer(), nullable=True),
        sa.Column("cores", sa.Integer(), nullable=True),
        sa.Column("packages", sa.Integer(), nullable=True),
        sa.Column("threads_per_core", sa.SmallInteger(), nullable=True),
        sa.Column("numa_nodes", sa.Integer(), nullable=True),
        sa.Column("smt", sa.Text(), nullable=True, comment="on, off, forceoff, notsupported"),
        sa.Column(
            "idle_states", postgresql.JSONB(), nullable=True, comment="time to leave each, µs, by its name"
        ),
        sa.Column("microcode", sa.Text(), nullable=True),
        sa.Column("kernel_release", sa.Text(), nullable=True),
        sa.Column("virtualization", sa.Text(), nullable=True, comment="the hypervisor; none: bare metal"),
        sa.Column("boot_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("visit_id", name=op.f("pk_capture_system")),
        comment="system parameters of the machine in the window of a visit",
    )
    op.create_index(op.f("ix_capture_system_day"), "capture_system", ["day"], unique=False)
    op.create_table(
        "chunk",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("profile_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "data",
            sa.LargeBinary(),
            nullable=False,
            comment="(stack id, samples) pairs, storage/blobs/facts.py",
        ),
        sa.PrimaryKeyConstraint("day", "profile_id", name=op.f("pk_chunk")),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "coverage",
        sa.Column("campaign_id", sa.SmallInteger(), nullable=False),
        sa.Column("stratum_id", sa.Integer(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False, comment="hours since 1970 UTC"),
        sa.Column("utilisation_class", sa.SmallInteger(), nullable=False, comment="0…3; -1: not known"),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "population", sa.Integer(), nullable=False, comment="machines in the stratum, largest in the hour"
        ),
        sa.Column(
            "drawn", sa.Integer(), nullable=False, comment="visits; one that has not ended counts in class -1"
        ),
        sa.Column("answered", sa.Integer(), nullable=False),
        sa.Column(
            "failed", sa.Integer(), nullable=False, comment="ended without a capture, whatever the reason"
        ),
        sa.Column("seconds", sa.Double(), nullable=False, comment="answered seconds"),
        sa.PrimaryKeyConstraint(
            "campaign_id", "stratum_id", "hour", "utilisation_class", name=op.f("pk_coverage")
        ),
        comment="what weights are computed from, at query time (DESIGN §4)",
    )
    op.create_table(
        "debug_file",
        sa.Column("debug_file_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("binary_key", sa.Text(), nullable=False),
        sa.Column(
            "kind",
            sa.Text(),
            nullable=False,
            comment="executable, debuginfo, symbols, kallsyms, altlink or split",
        ),
        sa.Column(
            "variant",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="which of those that stand beside each other: of kallsyms the digest of the module set",
        ),
        sa.Column(
            "name", sa.Text(), server_default="", nullable=False, comment="base name it was uploaded under"
        ),
        sa.Column(
            "quality", sa.SmallInteger(), nullable=False, comment="3 DWARF, 2 symtab, 1 dynsym, 0 none"
        ),
        sa.Column(
            "sha256", sa.LargeBinary(), nullable=False, comment="of the file; says where its blob lies"
        ),
        sa.Column("bytes", sa.BigInteger(), nullable=False, comment="of the blob"),
        sa.Column("raw_bytes", sa.BigInteger(), nullable=False, comment="of the file"),
        sa.Column("origin", sa.Text(), nullable=False, comment="upload, gateway, or the debuginfod URL"),
        sa.Column(
            "uploaded_by", sa.Text(), server_default="", nullable=False, comment="who, as far as it is known"
        ),
        sa.Column(
            "added_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="last time it was uploaded",
        ),
        sa.Column(
            "needs",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="keys of files that complete it: what dwz moved out of it, the other halves of split DWARF",
        ),
        sa.Column(
            "rejected",
            sa.Text(),
            nullable=True,
            comment="why it is not to be used, a sentence; NULL: it may be",
        ),
        sa.Column(
            "changed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="added, rejected or accepted, or what it needs was",
        ),
        sa.Column(
            "used_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="last day somebody read it; NULL: nobody yet",
        ),
        sa.PrimaryKeyConstraint("debug_file_id", name=op.f("pk_debug_file")),
        sa.UniqueConstraint("binary_key", "sha256", name=op.f("uq_debug_file_binary_key_sha256")),
        comment="candidates for a binary's symbols: the best quality that is not rejected wins, then the newest",
    )
    op.create_index(op.f("ix_debug_file_changed_at"), "debug_file", ["changed_at"], unique=False)
    op.create_index(
        op.f("ix_debug_file_needs"), "debug_file", ["needs"], unique=False, postgresql_using="gin"
    )
    op.create_index(op.f("ix_debug_file_sha256"), "debug_file", ["sha256"], unique=False)
    op.create_table(
        "dictionary_epoch",
        sa.Column("only", sa.Boolean(), server_default=sa.text("true"), nullable=False, comment="one row"),
        sa.Column("epoch", sa.BigInteger(), nullable=False, comment="grows when a sweep begins to mark"),
        sa.Column(
            "marking", sa.Boolean(), nullable=False, comment="a sweep is under way: ids in use are noted"
        ),
        sa.Column(
            "swept_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="end of the last sweep; NULL: none yet",
        ),
        sa.CheckConstraint('"only"', name=op.f("ck_dictionary_epoch_only")),
        sa.PrimaryKeyConstraint("only", name=op.f("pk_dictionary_epoch")),
        comment="locked in share by every landing, so that no row goes that one is about to use",
    )
    op.create_table(
        "dictionary_touched",
        sa.Column("dictionary", sa.Text(), nullable=False, comment="stack, function, …"),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("dictionary", "id", name=op.f("pk_dictionary_touched")),
        comment="rows that landings found again while a sweep marked: they stay",
    )
    op.create_table(
        "dim_value",
        sa.Column("value_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("dim", sa.Text(), nullable=False, comment="application, version, platform, datacenter, …"),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("value_id", name=op.f("pk_dim_value")),
        sa.UniqueConstraint("dim", "value", name=op.f("uq_dim_value_dim_value")),
    )
    op.create_table(
        "exposure",
        sa.Column("campaign_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("sample_type_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("stacks", sa.Boolean(), nullable=False),
        sa.Column("stratum_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hour", sa.Integer(), autoincrement=False, nullable=False, comment="hours since 1970 UTC"),
        sa.Column(
            "utilisation_class",
            sa.SmallInteger(),
            autoincrement=False,
            nullable=False,
            comment="as in coverage",
        ),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "visits", sa.Integer(), nullable=False, comment="merged into cells, those without any sample too"
        ),
        sa.Column("seconds", sa.Double(), nullable=False, comment="they watched this event"),
        sa.PrimaryKeyConstraint(
            "campaign_id",
            "sample_type_id",
            "stacks",
            "stratum_id",
            "hour",
            "utilisation_class",
            name=op.f("pk_exposure"),
        ),
        comment="what the cells of an hour were observed in; written with them, so that both always agree",
    )
    op.create_index(op.f("ix_exposure_day"), "exposure", ["day"], unique=False)
    op.create_table(
        "fseries",
        sa.Column("campaign_id", sa.SmallInteger(), nullable=False),
        sa.Column("sample_type_id", sa.SmallInteger(), nullable=False),
        sa.Column("function_block", sa.Integer(), nullable=False, comment="64 functions"),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("facts", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="64 functions × 24 h, self and total"),
        sa.PrimaryKeyConstraint(
            "campaign_id", "sample_type_id", "function_block", "day", name=op.f("pk_fseries")
        ),
    )
    op.create_table(
        "function",
        sa.Column("function_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column(
            "hash",
            sa.Uuid(),
            nullable=False,
            comment="of (name, file, binary name), or (binary key, start); never changes",
        ),
        sa.Column(
            "kind",
            sa.SmallInteger(),
            nullable=False,
            comment="0 user, 1 kernel, 2 marker: no code, it says what is missing there",
        ),
        sa.Column(
            "name",
            sa.Text(),
            nullable=False,
            comment="demangled; lib.so+0x1234 without a name; [why] for a marker",
        ),
        sa.Column(
            "raw_name", sa.Text(), nullable=False, comment="as in the symbol table; '' where that is the name"
        ),
        sa.Column("file", sa.Text(), nullable=False, comment="source path; '' not known"),
        sa.Column("binary_name", sa.Text(), nullable=False),
        sa.Column("start_line", sa.Integer(), server_default="0", nullable=False, comment="0: not known"),
        sa.Column(
            "status", sa.SmallInteger(), nullable=False, comment="3 full, 2 symtab, 1 binary_only, 0 unknown"
        ),
        sa.Column("binary_key", sa.Text(), nullable=True, comment="set for a function landed without a name"),
        sa.Column(
            "start",
            sa.BigInteger(),
            nullable=True,
            comment="offset of its start in the binary's own space; NULL: not known, or named",
        ),
        sa.Column(
            "alias_of",
            sa.Integer(),
            nullable=True,
            comment="named since: every reader takes that row instead; never a chain",
        ),
        sa.ForeignKeyConstraint(["alias_of"], ["function.function_id"], name=op.f("fk_function_alias_of")),
        sa.PrimaryKeyConstraint("function_id", name=op.f("pk_function")),
        sa.UniqueConstraint("hash", name=op.f("uq_function_hash")),
    )
    op.create_index(
        op.f("ix_function_alias_of"),
        "function",
        ["alias_of"],
        unique=False,
        postgresql_where=sa.text("alias_of is not null"),
    )
    op.create_index(
        op.f("ix_function_binary_key_start"),
        "function",
        ["binary_key", "start"],
        unique=False,
        postgresql_where=sa.text("binary_key is not null"),
    )
    op.create_index(op.f("ix_function_name"), "function", ["name"], unique=False, postgresql_using="hash")
    op.create_table(
        "label_set",
        sa.Column("label_set_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("hash", sa.Uuid(), nullable=False),
        sa.Column(
            "labels", postgresql.JSONB(), nullable=False, comment="comm, unit, cgroup and the user's labels"
        ),
        sa.PrimaryKeyConstraint("label_set_id", name=op.f("pk_label_set")),
        sa.UniqueConstraint("hash", name=op.f("uq_label_set_hash")),
    )
    op.create_index(
        op.f("ix_label_set_labels"),
        "label_set",
        ["labels"],
        unique=False,
        postgresql_using="gin",
        postgresql_ops={"labels": "jsonb_path_ops"},
    )
    op.create_table(
        "line_chunk",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("profile_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("facts", sa.Integer(), nullable=False),
        sa.Column(
            "data", sa.LargeBinary(), nullable=False, comment="(function id, line) → self, total samples"
        ),
        sa.PrimaryKeyConstraint("day", "profile_id", name=op.f("pk_line_chunk")),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_table(
        "machine",
        sa.Column("machine_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="operator's name of the machine"),
        sa.Column(
            "address", sa.Text(), nullable=False, comment="where its gateway listens: unix:/path or host:port"
        ),
        sa.Column("datacenter", sa.Text(), server_default="", nullable=False),
        sa.Column("cluster", sa.Text(), server_default="", nullable=False),
        sa.Column(
            "platform", sa.Text(), server_default="", nullable=False, comment="CPU model; '' until described"
        ),
        sa.Column("architecture", sa.Text(), server_default="", nullable=False),
        sa.Column("kernel", sa.Text(), server_default="", nullable=False, comment="kernel release"),
        sa.Column(
            "logical_cpus",
            sa.Integer(),
            nullable=True,
            comment="NULL until described, like the columns below",
        ),
        sa.Column("cores", sa.Integer(), nullable=True),
        sa.Column("packages", sa.Integer(), nullable=True),
        sa.Column("threads_per_core", sa.SmallInteger(), nullable=True),
        sa.Column("nominal_mhz", sa.Double(), nullable=True),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("labels", postgresql.JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column(
            "described",
            postgresql.JSONB(),
            nullable=True,
            comment="the whole of the last Machine message, as JSON",
        ),
        sa.Column("described_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "enabled",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
            comment="false: never drawn",
        ),
        sa.Column("added_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "removed_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="not in the inventory any more; the row stays for its visits",
        ),
        sa.PrimaryKeyConstraint("machine_id", name=op.f("pk_machine")),
        sa.UniqueConstraint("name", name=op.f("uq_machine_name")),
    )
    op.create_table(
        "profile",
        sa.Column("day", sa.Date(), nullable=False, comment="the visit's"),
        sa.Column(
            "profile_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="63 bits of blake2b(visit, segment, process group)",
        ),
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.SmallInteger(), nullable=False),
        sa.Column("stratum_id", sa.Integer(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False, comment="the visit's"),
        sa.Column("sample_type_id", sa.SmallInteger(), nullable=False),
        sa.Column("stacks", sa.Boolean(), nullable=False, comment="false: flat, leaves only"),
        sa.Column("segment", sa.SmallInteger(), nullable=False, comment="index in the capture"),
        sa.Column("machine_id", sa.Integer(), nullable=False),
        sa.Column(
            "application", sa.Integer(), nullable=False, comment="dim_value id, like all down to kernel"
        ),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("image", sa.Integer(), nullable=False, comment="base name of the main executable"),
        sa.Column("build_id", sa.Integer(), nullable=False, comment="of the main executable"),
        sa.Column("container", sa.Integer(), nullable=False),
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("compiler", sa.Integer(), nullable=False, comment="of the main executable"),
        sa.Column("datacenter", sa.Integer(), nullable=False),
        sa.Column("cluster", sa.Integer(), nullable=False),
        sa.Column("platform", sa.Integer(), nullable=False),
        sa.Column("kernel", sa.Integer(), nullable=False),
        sa.Column("label_set_id", sa.Integer(), nullable=False),
        sa.Column("facts", sa.Integer(), nullable=False, comment="pairs in the chunk"),
        sa.Column("samples", sa.BigInteger(), nullable=False, comment="sum of the chunk's values"),
        sa.Column(
            "period",
            sa.BigInteger(),
            nullable=False,
            comment="units of the sample type one sample stands for",
        ),
        sa.PrimaryKeyConstraint("day", "profile_id", name=op.f("pk_profile")),
        postgresql_partition_by="RANGE (day)",
    )
    op.create_index(
        op.f("ix_profile_sample_type_id_application_day"),
        "profile",
        ["sample_type_id", "application", "day"],
        unique=False,
    )
    op.create_index(op.f("ix_profile_visit_id"), "profile", ["visit_id"], unique=False)
    op.create_table(
        "relanding",
        sa.Column("relanding_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("binary_key", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False, comment="a sentence, e.g. which file was uploaded"),
        sa.Column(
            "nameless",
            sa.Boolean(),
            nullable=False,
            comment="true: only captures with frames that have no name",
        ),
        sa.Column("asked_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "renamed", sa.Integer(), server_default="0", nullable=False, comment="functions named in place"
        ),
        sa.Column("captures", sa.Integer(), server_default="0", nullable=False, comment="to be landed again"),
        sa.Column(
            "failed",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="of them, set aside or no longer archived; counted at the end",
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("relanding_id", name=op.f("pk_relanding")),
        comment="captures that are landed again because a binary's symbols have become better",
    )
    op.create_index(op.f("ix_relanding_asked_at"), "relanding", ["asked_at"], unique=False)
    op.create_index(
        "ix_relanding_open",
        "relanding",
        ["binary_key"],
        unique=False,
        postgresql_where=sa.text("finished_at is null"),
    )
    op.create_table(
        "roll",
        sa.Column("cube", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("campaign_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("stacks", sa.Boolean(), nullable=False),
        sa.Column("sample_type_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("stratum_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "utilisation_class",
            sa.SmallInteger(),
            autoincrement=False,
            nullable=False,
            comment="of the visits, as in `coverage`: their weights differ",
        ),
        sa.Column("level", sa.SmallInteger(), autoincrement=False, nullable=False, comment="-1 hour, 0 day"),
        sa.Column(
            "bucket",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="hours or days since 1970 UTC",
        ),
        sa.Column(
            "k1", sa.Integer(), autoincrement=False, nullable=False, comment="first key of the cube; 0: none"
        ),
        sa.Column("k2", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("facts", sa.Integer(), nullable=False, comment="pairs in data"),
        sa.Column("profiles", sa.Integer(), nullable=False),
        sa.Column("visits", sa.Integer(), nullable=False, comment="with at least one sample here"),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column(
            "total",
            sa.BigInteger(),
            nullable=False,
            comment="in units of the sample type: Σ samples × period",
        ),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="(stack id, units) pairs"),
        sa.Column(
            "moments",
            sa.LargeBinary(),
            nullable=True,
            comment="what each visit has of each function, or Σy, Σy², Σxy, Σy⁴ of each for self and total (storage/rolling/moments_codec.py); always there",
        ),
        sa.PrimaryKeyConstraint(
            "cube",
            "campaign_id",
            "stacks",
            "sample_type_id",
            "stratum_id",
            "utilisation_class",
            "level",
            "bucket",
            "k1",
            "k2",
            name=op.f("pk_roll"),
        ),
        comment="cells of an hour or a day: raw integers, weighted when a question is asked",
    )
    op.create_table(
        "roll_built",
        sa.Column("cube", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("level", sa.SmallInteger(), autoincrement=False, nullable=False, comment="1…3"),
        sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("built_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("cube", "level", "bucket", name=op.f("pk_roll_built")),
        comment="buckets of roll_weighted that hold all there is; a row goes when one of its days changes",
    )
    op.create_table(
        "roll_day",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "folded_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="it has cells of the whole day since then; NULL: those of its hours are all",
        ),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_roll_day")),
        comment="days that have cells",
    )
    op.create_table(
        "roll_queue",
        sa.Column("entry_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column(
            "sign",
            sa.SmallInteger(),
            nullable=False,
            comment="+1: add the visit's profiles; -1: take the roll_replaced rows of this entry out",
        ),
        sa.CheckConstraint("sign in (-1, 1)", name=op.f("ck_roll_queue_sign")),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_roll_queue")),
        comment="visits landed but not yet merged into cells; whole visits, because variances are between visits",
    )
    op.create_index(
        "uq_roll_queue_visit_id",
        "roll_queue",
        ["visit_id"],
        unique=True,
        postgresql_where=sa.text("sign = 1"),
    )
    op.create_table(
        "roll_replaced",
        sa.Column("entry_id", sa.BigInteger(), autoincrement=False, nullable=False, comment="roll_queue's"),
        sa.Column("profile_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("campaign_id", sa.SmallInteger(), nullable=False),
        sa.Column("stratum_id", sa.Integer(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False, comment="the visit's"),
        sa.Column("sample_type_id", sa.SmallInteger(), nullable=False),
        sa.Column("stacks", sa.Boolean(), nullable=False, comment="false: flat, leaves only"),
        sa.Column("segment", sa.SmallInteger(), nullable=False, comment="index in the capture"),
        sa.Column("machine_id", sa.Integer(), nullable=False),
        sa.Column(
            "application", sa.Integer(), nullable=False, comment="dim_value id, like all down to kernel"
        ),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("image", sa.Integer(), nullable=False, comment="base name of the main executable"),
        sa.Column("build_id", sa.Integer(), nullable=False, comment="of the main executable"),
        sa.Column("container", sa.Integer(), nullable=False),
        sa.Column("job", sa.Integer(), nullable=False),
        sa.Column("compiler", sa.Integer(), nullable=False, comment="of the main executable"),
        sa.Column("datacenter", sa.Integer(), nullable=False),
        sa.Column("cluster", sa.Integer(), nullable=False),
        sa.Column("platform", sa.Integer(), nullable=False),
        sa.Column("kernel", sa.Integer(), nullable=False),
        sa.Column("label_set_id", sa.Integer(), nullable=False),
        sa.Column("facts", sa.Integer(), nullable=False, comment="pairs in the chunk"),
        sa.Column("samples", sa.BigInteger(), nullable=False, comment="sum of the chunk's values"),
        sa.Column(
            "period",
            sa.BigInteger(),
            nullable=False,
            comment="units of the sample type one sample stands for",
        ),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("entry_id", "profile_id", name=op.f("pk_roll_replaced")),
        comment="profiles and chunks that a newer generation replaced, until they are taken out of the cells",
    )
    op.create_table(
        "roll_weighted",
        sa.Column("cube", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("campaign_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("stacks", sa.Boolean(), nullable=False),
        sa.Column("sample_type_id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "level", sa.SmallInteger(), autoincrement=False, nullable=False, comment="1…3: 4^level days"
        ),
        sa.Column(
            "bucket",
            sa.Integer(),
            autoincrement=False,
            nullable=False,
            comment="days since 1970 UTC ÷ 4^level, rounded down",
        ),
        sa.Column("k1", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("k2", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("facts", sa.Integer(), nullable=False, comment="pairs in data"),
        sa.Column("profiles", sa.Integer(), nullable=False),
        sa.Column("visits", sa.Integer(), nullable=False, comment="with at least one sample here"),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False, comment="raw, as in `roll`"),
        sa.Column(
            "weighted_total", sa.Double(), nullable=False, comment="estimate of the whole fleet's, in units"
        ),
        sa.Column(
            "data", sa.LargeBinary(), nullable=False, comment="(stack id, units) pairs, raw, as in `roll`"
        ),
        sa.Column(
            "weighted",
            sa.LargeBinary(),
            nullable=False,
            comment="the fleet's units of the same stacks, doubles",
        ),
        sa.Column(
            "moments",
            sa.LargeBinary(),
            nullable=True,
            comment="per function the parts of its variance; NULL: not known",
        ),
        sa.PrimaryKeyConstraint(
            "cube",
            "campaign_id",
            "stacks",
            "sample_type_id",
            "level",
            "bucket",
            "k1",
            "k2",
            name=op.f("pk_roll_weighted"),
        ),
        comment="closed days merged over strata, with the weights of their final coverage",
    )
    op.create_table(
        "sample_type",
        sa.Column("sample_type_id", sa.SmallInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("event", sa.Text(), nullable=False, comment="generic name, e.g. cpu"),
        sa.Column(
            "unit", sa.Text(), nullable=False, comment="what a value × period is counted in, e.g. nanoseconds"
        ),
        sa.Column("kind", sa.Text(), server_default="rate", nullable=False),
        sa.CheckConstraint("kind in ('rate', 'gauge')", name=op.f("ck_sample_type_kind")),
        sa.PrimaryKeyConstraint("sample_type_id", name=op.f("pk_sample_type")),
        sa.UniqueConstraint("event", "unit", name=op.f("uq_sample_type_event_unit")),
    )
    op.create_table(
        "source_file",
        sa.Column(
            "sha256", sa.LargeBinary(), nullable=False, comment="of the text; says where its blob lies"
        ),
        sa.Column("bytes", sa.BigInteger(), nullable=False, comment="of the blob"),
        sa.Column("raw_bytes", sa.BigInteger(), nullable=False, comment="of the text"),
        sa.Column("added_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_source_file")),
        comment="source files, each content once however many builds have it (DIGEST G18)",
    )
    op.create_table(
        "stack",
        sa.Column(
            "hash", sa.Uuid(), nullable=False, comment="of its function ids (storage/landing/stack_hash.py)"
        ),
        sa.Column("stack_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_stack")),
        comment="which id a stack has; its functions are in stack_block",
    )
    op.create_table(
        "stack_block",
        sa.Column(
            "block", sa.Integer(), autoincrement=False, nullable=False, comment="stack_id ÷ 256, rounded down"
        ),
        sa.Column("first_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("stacks", sa.SmallInteger(), nullable=False),
        sa.Column(
            "data",
            sa.LargeBinary(),
            nullable=False,
            comment="ids and function ids, outermost first (storage/stack_blocks.py); a walk that did not reach its thread's start begins with a marker",
        ),
        sa.PrimaryKeyConstraint("block", "first_id", name=op.f("pk_stack_block")),
        comment="the functions of stacks, neighbouring ids together; what is looked up by hash is in stack",
    )
    op.create_table(
        "stratum",
        sa.Column("stratum_id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("datacenter", sa.Text(), nullable=False),
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column(
            "thinning",
            sa.SmallInteger(),
            server_default="0",
            nullable=False,
            comment="times its visits were halved because captures waited to be landed; 0: as planned",
        ),
        sa.PrimaryKeyConstraint("stratum_id", name=op.f("pk_stratum")),
        sa.UniqueConstraint(
            "datacenter", "platform", "thinning", name=op.f("uq_stratum_datacenter_platform_thinning")
        ),
        comment="draws are random within a stratum: datacenter × platform, and the hours drawn from as densely",
    )
    op.create_table(
        "symbol_absence",
        sa.Column("binary_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False, comment="of debug_file, or source:… for a source file"),
        sa.Column("source", sa.Text(), nullable=False, comment="who did not have it: a debuginfod URL, …"),
        sa.Column("reason", sa.Text(), nullable=False, comment="a sentence"),
        sa.Column(
            "until", sa.DateTime(timezone=True), nullable=False, comment="not to be asked again before"
        ),
        sa.PrimaryKeyConstraint("binary_key", "kind", "source", name=op.f("pk_symbol_absence")),
        comment="symbols that are known not to be somewhere, so that one worker asks for all",
    )
    op.create_index(op.f("ix_symbol_absence_until"), "symbol_absence", ["until"], unique=False)
    op.create_table(
        "symcache",
        sa.Column("binary_key", sa.Text(), nullable=False),
        sa.Column("producer", sa.Text(), nullable=False, comment="program, version and format of the cache"),
        sa.Column(
            "source_sha256",
            sa.LargeBinary(),
            nullable=True,
            comment="of the debug file it was built from; NULL until built",
        ),
        sa.Column(
            "made_of",
            sa.ARRAY(sa.LargeBinary()),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="the stored files it was built from: SHA-256 of executable, debug file and what that was joined with",
        ),
        sa.Column(
            "sha256",
            sa.LargeBinary(),
            nullable=True,
            comment="of the cache; says where its blob lies; NULL until built",
        ),
        sa.Column("bytes", sa.BigInteger(), nullable=True, comment="of the blob"),
        sa.Column("raw_bytes", sa.BigInteger(), nullable=True, comment="of the cache"),
        sa.Column(
            "began_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="when that build began: what changed later is not in it",
        ),
        sa.Column("built_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("build_cpu_s", sa.Double(), nullable=True),
        sa.Column("peak_rss_bytes", sa.BigInteger(), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True, comment="last day somebody read it"),
        sa.Column(
            "failure", sa.Text(), server_default="", nullable=False, comment="of the last build, a sentence"
        ),
        sa.Column(
            "failed_sha256",
            sa.LargeBinary(),
            nullable=True,
            comment="of the debug file that build was made from",
        ),
        sa.Column(
            "failed_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="that file is not built again before; NULL: the last build did not fail",
        ),
        sa.Column(
            "lease", sa.Uuid(), nullable=True, comment="names the build under way; NULL: there is none"
        ),
        sa.Column(
            "lease_sha256", sa.LargeBinary(), nullable=True, comment="of the debug file that is being built"
        ),
        sa.Column(
            "leased_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="a builder that is silent for so long has died",
        ),
        sa.Column(
            "attempts",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="builds begun since one ended",
        ),
        sa.PrimaryKeyConstraint("binary_key", "producer", name=op.f("pk_symcache")),
        comment="lookup tables built from debug files, and who builds which",
    )
    op.create_index(op.f("ix_symcache_built_at"), "symcache", ["built_at"], unique=False)
    op.create_index(
        op.f("ix_symcache_sha256"),
        "symcache",
        ["sha256"],
        unique=False,
        postgresql_where=sa.text("sha256 is not null"),
    )
    op.create_table(
        "capture_binary",
        sa.Column("binary_id", sa.Integer(), nullable=False),
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column(
            "samples", sa.BigInteger(), nullable=False, comment="samples whose stack has a frame in it"
        ),
        sa.Column(
            "unresolved",
            sa.BigInteger(),
            nullable=False,
            comment="of those, with a frame here that has no name",
        ),
        sa.Column(
            "cpu_ns",
            sa.BigInteger(),
            server_default="0",
            nullable=False,
            comment="of the samples, those of cpu: the time they stand for",
        ),
        sa.Column("unresolved_cpu_ns", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["binary_id"], ["binary.binary_id"], name=op.f("fk_capture_binary_binary_id")
        ),
        sa.PrimaryKeyConstraint("binary_id", "visit_id", name=op.f("pk_capture_binary")),
        comment="which captures hold which binary, so that an upload finds what to land again",
    )
    op.create_index(
        op.f("ix_capture_binary_day"), "capture_binary", ["day"], unique=False, postgresql_using="brin"
    )
    op.create_index(op.f("ix_capture_binary_visit_id"), "capture_binary", ["visit_id"], unique=False)
    op.create_table(
        "capture_segment",
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column(
            "segment", sa.SmallInteger(), autoincrement=False, nullable=False, comment="index in the capture"
        ),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False, comment="generic name, e.g. cpu"),
        sa.Column("sample_type_id", sa.SmallInteger(), nullable=True, comment="NULL unless status is ok"),
        sa.Column("stacks", sa.Boolean(), nullable=False, comment="false: flat, leaves only"),
        sa.Column("source", sa.Text(), nullable=False, comment="what was really opened, e.g. cpu-clock"),
        sa.Column("status", sa.Text(), nullable=False, comment="ok, unsupported, denied, busy, not_counted"),
        sa.Column("errno", sa.Integer(), nullable=False),
        sa.Column(
            "seconds",
            sa.Double(),
            nullable=False,
            comment="this event was watched; less than the visit's when events take turns or samples were lost",
        ),
        sa.Column("period", sa.BigInteger(), nullable=False, comment="units one sample stands for"),
        sa.Column(
            "requested_period",
            sa.BigInteger(),
            nullable=False,
            comment="smaller than `period` when the rate was thinned",
        ),
        sa.Column("thinned_why", sa.Text(), server_default="", nullable=False),
        sa.Column(
            "samples", sa.BigInteger(), nullable=False, comment="0 is an answer too: the machine was idle"
        ),
        sa.Column(
            "lost",
            sa.BigInteger(),
            nullable=True,
            comment="samples the kernel could not write; NULL: it does not count them",
        ),
        sa.ForeignKeyConstraint(
            ["sample_type_id"], ["sample_type.sample_type_id"], name=op.f("fk_capture_segment_sample_type_id")
        ),
        sa.PrimaryKeyConstraint("visit_id", "segment", name=op.f("pk_capture_segment")),
        comment="how long each visit watched each event: the exposure behind its profiles, also when there are none",
    )
    op.create_index(
        op.f("ix_capture_segment_day_sample_type_id"),
        "capture_segment",
        ["day", "sample_type_id"],
        unique=False,
    )
    op.create_table(
        "relanding_capture",
        sa.Column("relanding_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False, comment="the visit's; the newest are landed again first"),
        sa.Column(
            "generation",
            sa.Integer(),
            nullable=True,
            comment="it shall be landed as; NULL: its turn has not come",
        ),
        sa.ForeignKeyConstraint(
            ["relanding_id"],
            ["relanding.relanding_id"],
            name=op.f("fk_relanding_capture_relanding_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("relanding_id", "visit_id", name=op.f("pk_relanding_capture")),
        comment="what a relanding under way is about; its rows go when it is finished",
    )
    op.create_index(
        "ix_relanding_capture_waiting",
        "relanding_capture",
        ["day"],
        unique=False,
        postgresql_where=sa.text("generation is null"),
    )
    op.create_table(
        "source_path",
        sa.Column("binary_key", sa.Text(), nullable=False),
        sa.Column(
            "path", sa.Text(), nullable=False, comment="as the debug information states it, normalised"
        ),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["sha256"], ["source_file.sha256"], name=op.f("fk_source_path_sha256")),
        sa.PrimaryKeyConstraint("binary_key", "path", name=op.f("pk_source_path")),
        comment="which source a binary was built from",
    )
    op.create_index(op.f("ix_source_path_sha256"), "source_path", ["sha256"], unique=False)
    op.create_table(
        "symbol_ask",
        sa.Column("binary_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False, comment="what was asked for: a kind of debug_file"),
        sa.Column("machine_id", sa.Integer(), nullable=False, comment="asked last"),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column(
            "detail", sa.Text(), server_default="", nullable=False, comment="what was answered, a sentence"
        ),
        sa.Column("attempts", sa.Integer(), nullable=False, comment="asks made"),
        sa.Column(
            "asked",
            sa.ARRAY(sa.Integer()),
            nullable=False,
            comment="ids of the machines asked so far, none twice",
        ),
        sa.Column(
            "again_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="another machine may be asked from then on; NULL: never",
        ),
        sa.CheckConstraint(
            "outcome in ('asked', 'got', 'absent', 'refused', 'failed')", name=op.f("ck_symbol_ask_outcome")
        ),
        sa.ForeignKeyConstraint(
            ["machine_id"], ["machine.machine_id"], name=op.f("fk_symbol_ask_machine_id")
        ),
        sa.PrimaryKeyConstraint("binary_key", "kind", name=op.f("pk_symbol_ask")),
        comment="gateways that were asked for symbols nobody has: one at a time in the whole fleet",
    )
    op.create_index(op.f("ix_symbol_ask_asked_at"), "symbol_ask", ["asked_at"], unique=False)
    op.create_table(
        "visit",
        sa.Column("visit_id", sa.Uuid(), nullable=False, comment="also the capture's id"),
        sa.Column(
            "day", sa.Date(), nullable=False, comment="UTC day, fixed at the draw by the collector's clock"
        ),
        sa.Column("hour", sa.Integer(), nullable=False, comment="hours since 1970 UTC, fixed at the draw"),
        sa.Column("campaign_id", sa.SmallInteger(), nullable=False),
        sa.Column(
            "round", sa.BigInteger(), nullable=False, comment="-1: asked for by hand, outside every round"
        ),
        sa.Column("machine_id", sa.Integer(), nullable=False),
        sa.Column("stratum_id", sa.Integer(), nullable=False),
        sa.Column(
            "cluster",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="the machine's at the draw: what is landed again later keeps it",
        ),
        sa.Column(
            "kernel",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="likewise; a capture that names its own counts",
        ),
        sa.Column("population", sa.Integer(), nullable=False, comment="machines in the stratum at the draw"),
        sa.Column(
            "drawn", sa.Integer(), nullable=False, comment="machines drawn from the stratum in this round"
        ),
        sa.Column(
            "probability",
            sa.Double(),
            nullable=False,
            comment="of this machine being drawn, 0…1; 0 for a visit by hand",
        ),
        sa.Column("drawn_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True, comment="call made"),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.Text(), server_default="drawn", nullable=False),
        sa.Column(
            "detail", sa.Text(), server_default="", nullable=False, comment="what happened, a sentence"
        ),
        sa.Column(
            "seconds",
            sa.Double(),
            nullable=True,
            comment="of the window really sampled; NULL unless answered",
        ),
        sa.Column(
            "utilisation",
            sa.Double(),
            nullable=True,
            comment="busy share of the machine, 0…1; NULL: not known",
        ),
        sa.Column(
            "clock_skew_s",
            sa.Double(),
            nullable=True,
            comment="machine's wall clock − collector's; NULL: not known",
        ),
        sa.CheckConstraint(
            "outcome in ('drawn', 'answered', 'unreachable', 'refused', 'timeout', 'garbage', 'failed', 'lost')",
            name=op.f("ck_visit_outcome"),
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.campaign_id"], name=op.f("fk_visit_campaign_id")),
        sa.ForeignKeyConstraint(["machine_id"], ["machine.machine_id"], name=op.f("fk_visit_machine_id")),
        sa.ForeignKeyConstraint(["stratum_id"], ["stratum.stratum_id"], name=op.f("fk_visit_stratum_id")),
        sa.PrimaryKeyConstraint("visit_id", name=op.f("pk_visit")),
        comment="one machine drawn in one round; written before the machine is called",
    )
    op.create_index(
        op.f("ix_visit_campaign_id_day_stratum_id"),
        "visit",
        ["campaign_id", "day", "stratum_id"],
        unique=False,
    )
    op.create_index(op.f("ix_visit_campaign_id_drawn_at"), "visit", ["campaign_id", "drawn_at"], unique=False)
    op.create_index(op.f("ix_visit_machine_id_drawn_at"), "visit", ["machine_id", "drawn_at"], unique=False)
    op.create_index(
        "ix_visit_open", "visit", ["drawn_at"], unique=False, postgresql_where=sa.text("outcome = 'drawn'")
    )
    op.create_table(
        "capture",
        sa.Column("visit_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False, comment="the visit's"),
        sa.Column(
            "blob", sa.Text(), nullable=False, comment="key in the archive; '' once it was old enough to go"
        ),
        sa.Column("bytes", sa.BigInteger(), nullable=False, comment="of the blob"),
        sa.Column("raw_bytes", sa.BigInteger(), nullable=False, comment="after decompression"),
        sa.Column("sha256", sa.LargeBinary(), nullable=False, comment="of the blob"),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column(
            "partition",
            sa.SmallInteger(),
            server_default="0",
            nullable=False,
            comment="captures of one need the same binaries: hash of the program with most samples",
        ),
        sa.Column("archived_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "wanted",
            sa.Integer(),
            server_default="1",
            nullable=False,
            comment="generation that should be landed",
        ),
        sa.Column(
            "landed",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="generation that is landed; 0: none",
        ),
        sa.Column("landed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "expired",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="its day's partitions were dropped before `landed` could land; no facts",
        ),
        sa.Column(
            "attempts",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="landings tried for `wanted`",
        ),
        sa.Column(
            "leased_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="a worker has it, or it rests after a failure, until then",
        ),
        sa.Column(
            "failure",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="why the last attempt failed, a sentence",
        ),
        sa.Column("set_aside", sa.Text(), nullable=True, comment="why it is no longer tried; NULL: it is"),
        sa.Column(
            "newer_format",
            sa.Integer(),
            nullable=True,
            comment="it was set aside because its layout is this one, newer than the program; NULL: not for that",
        ),
        sa.ForeignKeyConstraint(["visit_id"], ["visit.visit_id"], name=op.f("fk_capture_visit_id")),
        sa.PrimaryKeyConstraint("visit_id", name=op.f("pk_capture")),
        comment="a raw capture in the archive, and what remains to be done with it",
    )
    op.create_index(
        "ix_capture_again",
        "capture",
        ["archived_at"],
        unique=False,
        postgresql_where=sa.text("landed > 0 and landed < wanted and set_aside is null"),
    )
    op.create_index(
        "ix_capture_again_partition",
        "capture",
        ["partition", "archived_at"],
        unique=False,
        postgresql_where=sa.text("landed > 0 and landed < wanted and set_aside is null"),
    )
    op.create_index(op.f("ix_capture_day"), "capture", ["day"], unique=False)
    op.create_index(
        "ix_capture_fresh",
        "capture",
        ["archived_at"],
        unique=False,
        postgresql_where=sa.text("landed = 0 and landed < wanted and set_aside is null"),
    )
    op.create_index(
        "ix_capture_fresh_partition",
        "capture",
        ["partition", "archived_at"],
        unique=False,
        postgresql_where=sa.text("landed = 0 and landed < wanted and set_aside is null"),
    )
    op.create_index(
        "ix_capture_kept", "capture", ["day"], unique=False, postgresql_where=sa.text("blob <> ''")
    )
    op.create_index(
        "ix_capture_set_aside",
        "capture",
        ["newer_format"],
        unique=False,
        postgresql_where=sa.text("set_aside is not null"),
    )
    # ### end Alembic commands ###
    for table, column in COMPRESSED:
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")
    op.execute('INSERT INTO dictionary_epoch ("only", epoch, marking) VALUES (true, 0, false)')


def downgrade() -> None:
    """Drop the schema."""
    op.drop_index(
        "ix_capture_set_aside", table_name="capture", postgresql_where=sa.text("set_aside is not null")
    )
    op.drop_index("ix_capture_kept", table_name="capture", postgresql_where=sa.text("blob <> ''"))
    op.drop_index(
        "ix_capture_fresh_partition",
        table_name="capture",
        postgresql_where=sa.text("landed = 0 and landed < wanted and set_aside is null"),
    )
    op.drop_index(
        "ix_capture_fresh",
        table_name="capture",
        postgresql_where=sa.text("landed = 0 and landed < wanted and set_aside is null"),
    )
    op.drop_index(op.f("ix_capture_day"), table_name="capture")
    op.drop_index(
        "ix_capture_again_partition",
        table_name="capture",
        postgresql_where=sa.text("landed > 0 and landed < wanted and set_aside is null"),
    )
    op.drop_index(
        "ix_capture_again",
        table_name="capture",
        postgresql_where=sa.text("landed > 0 and landed < wanted and set_aside is null"),
    )
    op.drop_table("capture")
    op.drop_index("ix_visit_open", table_name="visit", postgresql_where=sa.text("outcome = 'drawn'"))
    op.drop_index(op.f("ix_visit_machine_id_drawn_at"), table_name="visit")
    op.drop_index(op.f("ix_visit_campaign_id_drawn_at"), table_name="visit")
    op.drop_index(op.f("ix_visit_campaign_id_day_stratum_id"), table_name="visit")
    op.drop_table("visit")
    op.drop_index(op.f("ix_symbol_ask_asked_at"), table_name="symbol_ask")
    op.drop_table("symbol_ask")
    op.drop_index(op.f("ix_source_path_sha256"), table_name="source_path")
    op.drop_table("source_path")
    op.drop_index(
        "ix_relanding_capture_waiting",
        table_name="relanding_capture",
        postgresql_where=sa.text("generation is null"),
    )
    op.drop_table("relanding_capture")
    op.drop_index(op.f("ix_capture_segment_day_sample_type_id"), table_name="capture_segment")
    op.drop_table("capture_segment")
    op.drop_index(op.f("ix_capture_binary_visit_id"), table_name="capture_binary")
    op.drop_index(op.f("ix_capture_binary_day"), table_name="capture_binary", postgresql_using="brin")
    op.drop_table("capture_binary")
    op.drop_index(
        op.f("ix_symcache_sha256"), table_name="symcache", postgresql_where=sa.text("sha256 is not null")
    )
    op.drop_index(op.f("ix_symcache_built_at"), table_name="symcache")
    op.drop_table("symcache")
    op.drop_index(op.f("ix_symbol_absence_until"), table_name="symbol_absence")
    op.drop_table("symbol_absence")
    op.drop_table("stratum")
    op.drop_table("stack_block")
    op.drop_table("stack")
    op.drop_table("source_file")
    op.drop_table("sample_type")
    op.drop_table("roll_weighted")
    op.drop_table("roll_replaced")
    op.drop_index("uq_roll_queue_visit_id", table_name="roll_queue", postgresql_where=sa.text("sign = 1"))
    op.drop_table("roll_queue")
    op.drop_table("roll_day")
    op.drop_table("roll_built")
    op.drop_table("roll")
    op.drop_index(
        "ix_relanding_open", table_name="relanding", postgresql_where=sa.text("finished_at is null")
    )
    op.drop_index(op.f("ix_relanding_asked_at"), table_name="relanding")
    op.drop_table("relanding")
    op.drop_index(op.f("ix_profile_visit_id"), table_name="profile")
    op.drop_index(op.f("ix_profile_sample_type_id_application_day"), table_name="profile")
    op.drop_table("profile")
    op.drop_table("machine")
    op.drop_table("line_chunk")
    op.drop_index(
        op.f("ix_label_set_labels"),
        table_name="label_set",
        postgresql_using="gin",
        postgresql_ops={"labels": "jsonb_path_ops"},
    )
    op.drop_table("label_set")
    op.drop_index(op.f("ix_function_name"), table_name="function", postgresql_using="hash")
    op.drop_index(
        op.f("ix_function_binary_key_start"),
        table_name="function",
        postgresql_where=sa.text("binary_key is not null"),
    )
    op.drop_index(
        op.f("ix_function_alias_of"), table_name="function", postgresql_where=sa.text("alias_of is not null")
    )
    op.drop_table("function")
    op.drop_table("fseries")
    op.drop_index(op.f("ix_exposure_day"), table_name="exposure")
    op.drop_table("exposure")
    op.drop_table("dim_value")
    op.drop_table("dictionary_touched")
    op.drop_table("dictionary_epoch")
    op.drop_index(op.f("ix_debug_file_sha256"), table_name="debug_file")
    op.drop_index(op.f("ix_debug_file_needs"), table_name="debug_file", postgresql_using="gin")
    op.drop_index(op.f("ix_debug_file_changed_at"), table_name="debug_file")
    op.drop_table("debug_file")
    op.drop_table("coverage")
    op.drop_table("chunk")
    op.drop_index(op.f("ix_capture_system_day"), table_name="capture_system")
    op.drop_table("capture_system")
    op.drop_index(op.f("ix_capture_cpu_day"), table_name="capture_cpu")
    op.drop_table("capture_cpu")
    op.drop_index(op.f("ix_capture_counter_day"), table_name="capture_counter")
    op.drop_table("capture_counter")
    op.drop_table("campaign")
    op.drop_table("binary")
    # ### end Alembic commands ###
