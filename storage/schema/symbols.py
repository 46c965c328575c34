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
        comment="which of those that stand beside each other: of kallsyms the digest of the module set",
    ),
    Column("name", Text, nullable=False, server_default="", comment="base name it was uploaded under"),
    Column("quality", SmallInteger, nullable=False, comment="3 DWARF, 2 symtab, 1 dynsym, 0 none"),
    Column("sha256", LargeBinary, nullable=False, comment="of the file; says where its blob lies"),
    Column("bytes", BigInteger, nullable=False, comment="of the blob"),
    Column("raw_bytes", BigInteger, nullable=False, comment="of the file"),
    Column("origin", Text, nullable=False, comment="upload, the debuginfod URL, or which machines gave it"),
    Column(
        "machine_id",
        Integer,
        ForeignKey("machine.machine_id"),
        comment="the one machine whose word for it there is; NULL: it does not rest on one machine's word",
    ),
    Column("uploaded_by", Text, nullable=False, server_default="", comment="who, as far as it is known"),
    Column("added_at", utc, nullable=False, server_default=now, comment="last time it was uploaded"),
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
        utc,
        nullable=False,
        server_default=now,
        comment="added, rejected or accepted, or what it needs was",
    ),
    Column("used_at", utc, comment="last day somebody read it; NULL: nobody yet"),
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
    Column("sha256", LargeBinary, primary_key=True, comment="of the text; says where its blob lies"),
    Column("bytes", BigInteger, nullable=False, comment="of the blob"),
    Column("raw_bytes", BigInteger, nullable=False, comment="of the text"),
    Column("added_at", utc, nullable=False, server_default=now),
    Column(
        "fetched",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="a debuginfod server gave it for a reader, and nobody uploaded it: the oldest go where room is needed",
    ),
    Index("ix_source_file_fetched", "added_at", postgresql_where=text("fetched")),
    comment="source files, each content once however many builds have it (DIGEST G18)",
)

source_path = Table(
    "source_path",
    metadata,
    Column("binary_key", Text, primary_key=True),
    Column("path", Text, primary_key=True, comment="as the debug information states it, normalised"),
    Column("sha256", LargeBinary, ForeignKey("source_file.sha256"), nullable=False),
    Column("added_at", utc, nullable=False, server_default=now),
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
    Column("until", utc, nullable=False, comment="not to be asked again before"),
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
    Column("began_at", utc, comment="when that build began: what changed later is not in it"),
    Column("built_at", utc),
    Column("build_cpu_s", Double),
    Column("peak_rss_bytes", BigInteger),
    Column("used_at", utc, comment="last day somebody read it"),
    Column("failure", Text, nullable=False, server_default="", comment="of the last build, a sentence"),
    Column("failed_sha256", LargeBinary, comment="of the debug file that build was made from"),
    Column(
        "failed_until", utc, comment="that file is not built again before; NULL: the last build did not fail"
    ),
    Column("lease", Uuid, comment="names the build under way; NULL: there is none"),
    Column("lease_sha256", LargeBinary, comment="of the debug file that is being built"),
    Column("leased_until", utc, comment="a builder that is silent for so long has died"),
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
    Column("asked_at", utc, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("detail", Text, nullable=False, server_default="", comment="what was answered, a sentence"),
    Column("attempts", Integer, nullable=False, comment="asks made"),
    Column("asked", ARRAY(Integer), nullable=False, comment="ids of the machines asked so far, none twice"),
    Column("asked_times", ARRAY(utc), nullable=False, comment="when each of them was asked"),
    Column("again_at", utc, comment="another machine may be asked from then on; NULL: never"),
    CheckConstraint(
        "outcome in ('asked', 'got', 'unconfirmed', 'disputed', 'absent', 'refused', 'failed')",
        name="outcome",
    ),
    Index(None, "asked_at"),
    comment="gateways that were asked for symbols nobody has: one at a time in the whole fleet",
)

symbol_answer = Table(
    "symbol_answer",
    metadata,
    Column("binary_key", Text, primary_key=True, comment="of a kernel table that of its kernel"),
    Column(
        "machine_id",
        Integer,
        ForeignKey("machine.machine_id"),
        primary_key=True,
        comment="whose answer it is",
    ),
    Column(
        "digest",
        LargeBinary,
        nullable=False,
        comment="SHA-256 of the file; of a kernel table that of its kernel's part",
    ),
    Column(
        "parts",
        JSONB,
        nullable=False,
        server_default=text("'{}'::jsonb"),
        comment="of a kernel table the SHA-256, in hex, of each module's part, by what names the module",
    ),
    Column("answered_at", utc, nullable=False),
    Index(None, "answered_at"),
    comment="what machines' gateways gave for a binary last, as digests: two must say the same for the fleet",
)

reprocessing = Table(
    "reprocessing",
    metadata,
    Column("reprocessing_id", Integer, Identity(always=True), primary_key=True),
    Column("binary_key", Text, nullable=False),
    Column("why", Text, nullable=False, comment="a sentence, e.g. which file was uploaded"),
    Column("nameless", Boolean, nullable=False, comment="true: only captures with frames that have no name"),
    Column("asked_at", utc, nullable=False, server_default=now),
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
    Index(None, "asked_at"),
    comment="captures that are reprocessed because a binary's symbols have become better",
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
    Column("day", Date, nullable=False, comment="the visit's; the newest are reprocessed first"),
    Column("generation", Integer, comment="to be ingested as; NULL: not queued yet"),
    Index("ix_reprocessing_capture_waiting", "day", postgresql_where=text("generation is null")),
    comment="what a reprocessing under way is about; its rows go when it is finished",
)
