"""Debug files, their builds, requests for symbols, and reprocessing of captures."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from storage.schema.base import metadata, now, utc

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
        comment="distinguishes files that are used side by side: for kallsyms the digest of the module set",
    ),
    Column("name", Text, nullable=False, server_default="", comment="base name it was uploaded under"),
    Column("quality", SmallInteger, nullable=False, comment="3 DWARF, 2 symtab, 1 dynsym, 0 none"),
    Column("sha256", LargeBinary, nullable=False, comment="of the file; determines the key of its blob"),
    Column("bytes", BigInteger, nullable=False, comment="of the blob"),
    Column("raw_bytes", BigInteger, nullable=False, comment="of the file"),
    Column(
        "origin", Text, nullable=False, comment="upload, the debuginfod URL, or the machines that sent it"
    ),
    Column(
        "machine_id",
        Integer,
        ForeignKey("machine.machine_id"),
        comment="the only machine that sent it; NULL: another machine confirmed it, or it has another origin",
    ),
    Column("uploaded_by", Text, nullable=False, server_default="", comment="user, if known"),
    Column("added_at", utc, nullable=False, server_default=now, comment="last time it was uploaded"),
    Column(
        "needs",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="keys of files that complete it: the dwz file, the other parts of split DWARF",
    ),
    Column("rejected", Text, comment="reason why it is not used, a sentence; NULL: not rejected"),
    Column(
        "changed_at",
        utc,
        nullable=False,
        server_default=now,
        comment="when it, or a file that it needs, was added, rejected or accepted",
    ),
    Column("used_at", utc, comment="last day on which it was read; NULL: never"),
    UniqueConstraint("binary_key", "sha256"),
    Index(None, "sha256"),
    Index(None, "changed_at"),
    Index(None, "needs", postgresql_using="gin"),
    Index(None, "machine_id", postgresql_where=text("machine_id is not null")),
    comment="candidates for a binary's symbols: the best quality that is not rejected wins, then the newest",
)

source_file = Table(
    "source_file",
    metadata,
    Column("sha256", LargeBinary, primary_key=True, comment="of the text; determines the key of its blob"),
    Column("bytes", BigInteger, nullable=False, comment="of the blob"),
    Column("raw_bytes", BigInteger, nullable=False, comment="of the text"),
    Column("added_at", utc, nullable=False, server_default=now),
    Column(
        "fetched",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="fetched from a debuginfod server and never uploaded: the oldest are deleted if space is needed",
    ),
    Index("ix_source_file_fetched", "added_at", postgresql_where=text("fetched")),
    comment="source files, each content once for all builds that have it (DIGEST G18)",
)

source_path = Table(
    "source_path",
    metadata,
    Column("binary_key", Text, primary_key=True),
    Column("path", Text, primary_key=True, comment="path in the debug information, normalised"),
    Column("sha256", LargeBinary, ForeignKey("source_file.sha256"), nullable=False),
    Column("added_at", utc, nullable=False, server_default=now),
    Index(None, "sha256"),
    comment="source files from which a binary was built",
)

symbol_absence = Table(
    "symbol_absence",
    metadata,
    Column("binary_key", Text, primary_key=True),
    Column("kind", Text, primary_key=True, comment="of debug_file, or source:… for a source file"),
    Column("source", Text, primary_key=True, comment="source that does not have it: a debuginfod URL, …"),
    Column("reason", Text, nullable=False, comment="a sentence"),
    Column("until", utc, nullable=False, comment="not queried again before this time"),
    Index(None, "until"),
    comment="symbols that a source is known not to have, so that one worker's query is enough for all",
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
        comment="SHA-256 of the stored files it was built from: executable, debug file, and files that complete it",
    ),
    Column("sha256", LargeBinary, comment="of the cache; determines the key of its blob; NULL until built"),
    Column("bytes", BigInteger, comment="of the blob"),
    Column("raw_bytes", BigInteger, comment="of the cache"),
    Column("began_at", utc, comment="when that build began; it does not contain later changes"),
    Column("built_at", utc),
    Column("build_cpu_s", Double),
    Column("peak_rss_bytes", BigInteger),
    Column("used_at", utc, comment="last day on which it was read"),
    Column("failure", Text, nullable=False, server_default="", comment="error of the last build, a sentence"),
    Column("failed_sha256", LargeBinary, comment="of the debug file of that build"),
    Column(
        "failed_until", utc, comment="that file is not built again before; NULL: the last build did not fail"
    ),
    Column("lease", Uuid, comment="id of the running build; NULL: none"),
    Column("lease_sha256", LargeBinary, comment="of the debug file that is being built"),
    Column("leased_until", utc, comment="the builder renews it; after this time another may build"),
    Column(
        "attempts",
        Integer,
        nullable=False,
        server_default="0",
        comment="builds started since the last one ended",
    ),
    Index(None, "sha256", postgresql_where=text("sha256 is not null")),
    Index(None, "built_at"),
    comment="lookup tables built from debug files, and the leases of running builds",
)

symbol_request = Table(
    "symbol_request",
    metadata,
    Column("binary_key", Text, primary_key=True),
    Column("kind", Text, primary_key=True, comment="requested kind of debug_file"),
    Column(
        "machine_id",
        Integer,
        ForeignKey("machine.machine_id"),
        nullable=False,
        comment="machine of the last request",
    ),
    Column("requested_at", utc, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("detail", Text, nullable=False, server_default="", comment="the response, a sentence"),
    Column("attempts", Integer, nullable=False, comment="number of requests"),
    Column(
        "machine_ids",
        ARRAY(Integer),
        nullable=False,
        comment="machines that got a request, in order, none twice",
    ),
    Column("requested_times", ARRAY(utc), nullable=False, comment="time of each of these requests"),
    Column("again_at", utc, comment="earliest time of a request to another machine; NULL: none"),
    CheckConstraint(
        "outcome in ('pending', 'got', 'unconfirmed', 'disputed', 'absent', 'refused', 'failed')",
        name="outcome",
    ),
    Index(None, "requested_at"),
    comment="requests to gateways for missing symbols: a row per binary and kind, one gateway at a time",
)

symbol_answer = Table(
    "symbol_answer",
    metadata,
    Column("binary_key", Text, primary_key=True, comment="for a kernel's symbol table the key of the kernel"),
    Column(
        "machine_id",
        Integer,
        ForeignKey("machine.machine_id"),
        primary_key=True,
        comment="machine that sent it",
    ),
    Column(
        "digest",
        LargeBinary,
        nullable=False,
        comment="SHA-256 of the file; for a kernel's symbol table that of the kernel's part",
    ),
    Column(
        "parts",
        JSONB,
        nullable=False,
        server_default=text("'{}'::jsonb"),
        comment="for a kernel's symbol table the SHA-256, in hex, of each module's part, by the module's key",
    ),
    Column("answered_at", utc, nullable=False),
    Index(None, "answered_at"),
    comment="digest of each gateway's last answer for a binary; the symbols are used once two machines agree",
)

reprocessing = Table(
    "reprocessing",
    metadata,
    Column("reprocessing_id", Integer, Identity(always=True), primary_key=True),
    Column("binary_key", Text, nullable=False),
    Column("why", Text, nullable=False, comment="reason, a sentence, e.g. which file was uploaded"),
    Column("nameless", Boolean, nullable=False, comment="true: only captures with frames that have no name"),
    Column("requested_at", utc, nullable=False, server_default=now),
    Column("renamed", Integer, nullable=False, server_default="0", comment="functions named in place"),
    Column("captures", Integer, nullable=False, server_default="0", comment="to be reprocessed"),
    Column(
        "failed",
        Integer,
        nullable=False,
        server_default="0",
        comment="of them, quarantined or no longer archived; counted at the end",
    ),
    Column("finished_at", utc),
    Index("ix_reprocessing_open", "binary_key", postgresql_where=text("finished_at is null")),
    Index(None, "requested_at"),
    comment="captures that are reprocessed because a binary's symbols improved",
)

reprocessing_capture = Table(
    "reprocessing_capture",
    metadata,
    Column(
        "reprocessing_id",
        Integer,
        ForeignKey("reprocessing.reprocessing_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("visit_id", Uuid, primary_key=True),
    Column("day", Date, nullable=False, comment="day of the visit; the newest are reprocessed first"),
    Column("generation", Integer, comment="generation to be ingested; NULL: not queued yet"),
    Index("ix_reprocessing_capture_waiting", "day", postgresql_where=text("generation is null")),
    comment="captures of a running reprocessing; the rows are deleted when it is finished",
)
