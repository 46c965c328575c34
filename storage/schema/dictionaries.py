"""Interned values that facts refer to by id, and the state of the sweep that deletes unused ones."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
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

sample_type = Table(
    "sample_type",
    metadata,
    Column("sample_type_id", SmallInteger, Identity(always=True), primary_key=True),
    Column("event", Text, nullable=False, comment="generic name, e.g. cpu"),
    Column("unit", Text, nullable=False, comment="unit of value × period, e.g. nanoseconds"),
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
    Column("path", Text, nullable=False, comment="path at which it was first seen"),
    Column("kind", Text, nullable=False, comment="file, kernel, module, vdso, anonymous, unknown"),
    Column(
        "status",
        Text,
        nullable=False,
        server_default="unknown",
        comment="best symbols so far: full, symtab, binary_only, unknown",
    ),
    Column(
        "reason",
        Text,
        nullable=False,
        server_default="",
        comment="reason why the status is not full, a sentence",
    ),
    Column("first_seen", utc, nullable=False, server_default=now),
)

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
        comment="0 user, 1 kernel, 2 marker: not code, states which frames are missing",
    ),
    Column(
        "name", Text, nullable=False, comment="demangled; lib.so+0x1234 if not known; [reason] for a marker"
    ),
    Column("raw_name", Text, nullable=False, comment="as in the symbol table; '' if equal to `name`"),
    Column("file", Text, nullable=False, comment="source path; '': not known"),
    Column("binary_name", Text, nullable=False),
    Column("start_line", Integer, nullable=False, server_default="0", comment="0: not known"),
    Column("status", SmallInteger, nullable=False, comment="3 full, 2 symtab, 1 binary_only, 0 unknown"),
    Column("binary_key", Text, comment="set for a function ingested without a name"),
    Column(
        "start",
        BigInteger,
        comment="offset of its start in the binary's address space; NULL: not known, or the function has a name",
    ),
    Column(
        "alias_of",
        Integer,
        ForeignKey("function.function_id"),
        comment="row of the same function with its name, found later; readers use that row instead; never a chain",
    ),
    Index(None, "binary_key", "start", postgresql_where=text("binary_key is not null")),
    Index(None, "alias_of", postgresql_where=text("alias_of is not null")),
    Index(None, "name", postgresql_using="hash"),  # a C++ name can exceed the size of a btree entry
    # Not a hash index: a header has a hundred thousand functions, so each insert would walk the pages of all of them.
    Index("ix_function_file", text('"left"(file, 256)'), postgresql_where=text("file <> ''")),
)

stack = Table(
    "stack",
    metadata,
    Column("hash", Uuid, primary_key=True, comment="of its function ids (storage/ingest/stack_hash.py)"),
    Column("stack_id", Integer, Identity(always=True), nullable=False),
    comment="ids of stacks that are not moved to stack_sealed yet; their functions are in stack_block",
)

stack_sealed = Table(
    "stack_sealed",
    metadata,
    Column(
        "low",
        Uuid,
        primary_key=True,
        comment="lower bound of the row's hashes, upper bound of those of the row before",
    ),
    Column(
        "data",
        LargeBinary,
        nullable=False,
        comment="ascending (80 bits of the hash, stack id) (storage/ingest/sealed_stacks.py)",
    ),
    comment="ids of stacks that were moved here from stack",
)

stack_block = Table(
    "stack_block",
    metadata,
    Column("block", Integer, primary_key=True, autoincrement=False, comment="stack_id ÷ 256, rounded down"),
    Column("first_id", Integer, primary_key=True, autoincrement=False),
    Column("stacks", SmallInteger, nullable=False),
    Column(
        "data",
        LargeBinary,
        nullable=False,
        comment="ids and function ids, outermost first (storage/stack_blocks.py); an incomplete stack begins with a marker",
    ),
    comment="functions of stacks, neighbouring ids in one row; ids by hash are in stack and stack_sealed",
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
    Column("epoch", BigInteger, nullable=False, comment="incremented when a sweep starts to mark"),
    Column("marking", Boolean, nullable=False, comment="a sweep is running: ids in use are recorded"),
    Column("swept_at", utc, comment="end of the last sweep; NULL: none yet"),
    CheckConstraint('"only"', name="only"),
    comment="locked in share mode by every ingestion, so that no row is deleted that one is about to use",
)

dictionary_touched = Table(
    "dictionary_touched",
    metadata,
    Column("dictionary", Text, primary_key=True, comment="stack, function, …"),
    Column("id", Integer, primary_key=True, autoincrement=False),
    comment="rows that ingestions used while a sweep was marking: they are not deleted",
)
