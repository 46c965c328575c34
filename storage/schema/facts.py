"""Facts, partitioned by UTC day."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Uuid,
)

from storage.schema.base import metadata

OF_THE_GROUP = ("application", "version", "image", "build_id", "container", "job", "compiler")
"""Process-group labels with a column in `profile`; `dim_value.dim` uses the names of both groups."""
OF_THE_MACHINE = ("datacenter", "cluster", "platform", "kernel")
DIMENSIONS = (*OF_THE_GROUP, *OF_THE_MACHINE)
_MEANINGS = {
    "application": "dim_value id, as in all columns down to kernel",
    "image": "base name of the main executable",
    "build_id": "of the main executable",
    "compiler": "of the main executable",
}


def profile_columns() -> list[Column[Any]]:
    """Key, filter and sum columns of a profile; a retracted profile keeps all of them."""
    return [
        Column("campaign_id", SmallInteger, nullable=False),
        Column("stratum_id", Integer, nullable=False),
        Column("hour", Integer, nullable=False, comment="hour of the visit"),
        Column("sample_type_id", SmallInteger, nullable=False),
        Column("stacks", Boolean, nullable=False, comment="false: flat, only the leaf function"),
        Column("segment", SmallInteger, nullable=False, comment="index in the capture"),
        Column("machine_id", Integer, nullable=False),
        *(Column(name, Integer, nullable=False, comment=_MEANINGS.get(name)) for name in DIMENSIONS),
        Column("label_set_id", Integer, nullable=False),
        Column("facts", Integer, nullable=False, comment="pairs in the chunk"),
        Column("samples", BigInteger, nullable=False, comment="sum of the chunk's values"),
        Column("period", BigInteger, nullable=False, comment="units of the sample type per sample"),
    ]


profile = Table(
    "profile",
    metadata,
    Column("day", Date, primary_key=True, comment="day of the visit"),
    Column(
        "profile_id",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="63 bits of blake2b(visit, segment, process group)",
    ),
    Column("visit_id", Uuid, nullable=False),
    Column("generation", Integer, nullable=False),
    *profile_columns(),
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
        "data", LargeBinary, nullable=False, comment="(stack id, samples) pairs, storage/blobs/fact_blobs.py"
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

PARTITIONED = (profile, chunk, line_chunk)
"""Tables with one partition per UTC day, created ahead and dropped whole."""
