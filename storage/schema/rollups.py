"""Rollups of the facts, and the queue of facts to merge into them."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Double,
    Identity,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Uuid,
    text,
)

from storage.schema.base import metadata, now, utc
from storage.schema.facts import profile_columns

rollup_queue = Table(
    "rollup_queue",
    metadata,
    Column("entry_id", BigInteger, Identity(always=True), primary_key=True),
    Column("day", Date, nullable=False),
    Column("visit_id", Uuid, nullable=False),
    Column(
        "sign",
        SmallInteger,
        nullable=False,
        comment="+1: add the visit's profiles; -1: subtract the rollup_retraction rows of this entry",
    ),
    Index("uq_rollup_queue_visit_id", "visit_id", unique=True, postgresql_where=text("sign = 1")),
    CheckConstraint("sign in (-1, 1)", name="sign"),
    comment="visits ingested but not yet merged into cells; whole visits, because variances are between visits",
)

rollup_retraction = Table(
    "rollup_retraction",
    metadata,
    Column("entry_id", BigInteger, primary_key=True, autoincrement=False, comment="entry_id of rollup_queue"),
    Column("profile_id", BigInteger, primary_key=True, autoincrement=False),
    *profile_columns(),
    Column("data", LargeBinary, nullable=False),
    comment="profiles and chunks that a newer generation replaced, until they are subtracted from the cells",
)


def _cell_key() -> list[Column[Any]]:
    """Key columns of a merged cell of any level."""
    return [
        Column("cube", SmallInteger, primary_key=True, autoincrement=False),
        Column("campaign_id", SmallInteger, primary_key=True, autoincrement=False),
        Column("stacks", Boolean, primary_key=True),
        Column("sample_type_id", SmallInteger, primary_key=True, autoincrement=False),
    ]


rollup = Table(
    "rollup",
    metadata,
    *_cell_key(),
    Column("stratum_id", Integer, primary_key=True, autoincrement=False),
    Column(
        "utilisation_class",
        SmallInteger,
        primary_key=True,
        autoincrement=False,
        comment="of the visits, as in `coverage`; weights differ by class",
    ),
    Column("level", SmallInteger, primary_key=True, autoincrement=False, comment="-1 hour, 0 day"),
    Column("bucket", Integer, primary_key=True, autoincrement=False, comment="hours or days since 1970 UTC"),
    Column("k1", Integer, primary_key=True, autoincrement=False, comment="first key of the cube; 0: none"),
    Column("k2", Integer, primary_key=True, autoincrement=False),
    Column("facts", Integer, nullable=False, comment="pairs in data"),
    Column("profiles", Integer, nullable=False),
    Column("visits", Integer, nullable=False, comment="visits with at least one sample in the cell"),
    Column("samples", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False, comment="in units of the sample type: Σ samples × period"),
    Column("data", LargeBinary, nullable=False, comment="(stack id, units) pairs"),
    Column(
        "moments",
        LargeBinary,
        comment="units of each function by visit, or Σy, Σy², Σxy, Σy⁴ of each for self and total (storage/rollup/moments_codec.py); never NULL",
    ),
    comment="cells of an hour or a day: raw integers, weighted at query time",
)

rollup_long = Table(
    "rollup_long",
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
    Column("visits", Integer, nullable=False, comment="visits with at least one sample in the cell"),
    Column("samples", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False, comment="raw, as in `rollup`"),
    Column("weighted_total", Double, nullable=False, comment="estimate for the whole fleet, in units"),
    Column("data", LargeBinary, nullable=False, comment="(stack id, units) pairs, raw, as in `rollup`"),
    Column(
        "weighted",
        LargeBinary,
        nullable=False,
        comment="estimated units of the fleet for the same stacks, doubles",
    ),
    Column("moments", LargeBinary, comment="components of the variance by function; NULL: not known"),
    comment="closed days merged over strata, with the weights of their final coverage",
)

rollup_long_built = Table(
    "rollup_long_built",
    metadata,
    *_cell_key(),
    Column("level", SmallInteger, primary_key=True, autoincrement=False, comment="1…3"),
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    Column(
        "made_of",
        BigInteger,
        nullable=False,
        comment="fingerprint of its days' cells and weights; the bucket is valid while it is unchanged",
    ),
    Column(
        "merged",
        Boolean,
        nullable=False,
        comment="the bucket is in rollup_long; false: it would have more than half of the rows of its inputs",
    ),
    Column("built_at", utc, nullable=False, server_default=now),
    comment="buckets of rollup_long and the fingerprints of their inputs",
)

rollup_day = Table(
    "rollup_day",
    metadata,
    Column("day", Date, primary_key=True),
    Column(
        "rolled_up_at",
        utc,
        comment="since then it has cells of the whole day; NULL: only cells of its hours",
    ),
    Column(
        "changes", BigInteger, nullable=False, server_default="0", comment="how often its cells were written"
    ),
    comment="days that have cells",
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
    Column(
        "visits", Integer, nullable=False, comment="visits merged into cells, including those without samples"
    ),
    Column("seconds", Double, nullable=False, comment="sampled seconds of this event"),
    Index(None, "day"),
    comment="exposure of the cells of an hour; written together with them, so that both always agree",
)
