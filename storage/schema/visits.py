"""Visits, captures, and the coverage that determines weights."""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from storage.schema.base import metadata, now, utc

BY_HAND = -1
"""Round number of a manually requested visit: it belongs to no round and does not count in the coverage."""


class Outcome(StrEnum):
    """The outcome of a visit; `DRAWN`: it has not ended."""

    DRAWN = "drawn"
    ANSWERED = "answered"
    """A capture was returned and archived."""
    UNREACHABLE = "unreachable"
    """No connection."""
    REFUSED = "refused"
    """The gateway refused, with a reason."""
    TIMEOUT = "timeout"
    """It did not finish in time."""
    GARBAGE = "garbage"
    """The response is not a capture."""
    FAILED = "failed"
    """The gateway failed while sampling, or the collector could not archive."""
    LOST = "lost"
    """The collector died before it recorded an outcome; not the machine's fault."""


FAILURES = (Outcome.UNREACHABLE, Outcome.REFUSED, Outcome.TIMEOUT, Outcome.GARBAGE, Outcome.FAILED)
"""Outcomes of visits that failed because of the machine, its gateway or the network."""

visit = Table(
    "visit",
    metadata,
    Column("visit_id", Uuid, primary_key=True, comment="also the capture's id"),
    Column("day", Date, nullable=False, comment="UTC day, fixed at the draw by the collector's clock"),
    Column("hour", Integer, nullable=False, comment="hours since 1970 UTC, fixed at the draw"),
    Column("campaign_id", SmallInteger, ForeignKey("campaign.campaign_id"), nullable=False),
    Column("round", BigInteger, nullable=False, comment="-1: requested manually, not part of a round"),
    Column("machine_id", Integer, ForeignKey("machine.machine_id"), nullable=False),
    Column("stratum_id", Integer, ForeignKey("stratum.stratum_id"), nullable=False),
    Column(
        "cluster",
        Text,
        nullable=False,
        server_default="",
        comment="cluster of the machine at the draw; reprocessing does not change it",
    ),
    Column(
        "kernel",
        Text,
        nullable=False,
        server_default="",
        comment="kernel of the machine at the draw; one stated in the capture takes precedence",
    ),
    Column("population", Integer, nullable=False, comment="machines in the stratum at the draw"),
    Column("drawn", Integer, nullable=False, comment="machines drawn from the stratum in this round"),
    Column(
        "probability",
        Double,
        nullable=False,
        comment="of this machine being drawn, 0…1; 0 for a manually requested visit",
    ),
    Column("drawn_at", utc, nullable=False),
    Column("started_at", utc, comment="when the gateway was called"),
    Column("ended_at", utc),
    Column("outcome", Text, nullable=False, server_default="drawn"),
    Column("detail", Text, nullable=False, server_default="", comment="reason of the outcome, a sentence"),
    Column("seconds", Double, comment="length of the sampled window; NULL unless answered"),
    Column("utilisation", Double, comment="busy share of the machine, 0…1; NULL: not known"),
    Column("clock_skew_s", Double, comment="machine's wall clock − collector's; NULL: not known"),
    Column(
        "collector_id",
        Uuid,
        comment="run of the collector that makes it; NULL: requested manually, or drawn before leases were introduced",
    ),
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

visit_request = Table(
    "visit_request",
    metadata,
    Column("visit_id", Uuid, ForeignKey("visit.visit_id", ondelete="CASCADE"), primary_key=True),
    Column("events", JSONB, nullable=False, comment="what to sample, as in campaign.plan"),
    Column("requested_by", Text, nullable=False, comment="role and address of the caller"),
    Column("requested_at", utc, nullable=False, server_default=now),
    Column("claimed_at", utc, comment="when a collector took it; NULL: it waits"),
    Index("ix_visit_request_waiting", "requested_at", postgresql_where=text("claimed_at is null")),
    comment="a visit by hand that a collector is to make, requested over the API",
)

collector_lease = Table(
    "collector_lease",
    metadata,
    Column("collector_id", Uuid, primary_key=True, comment="of one run of a collector"),
    Column(
        "since", utc, nullable=False, comment="start of the time in which the lease was renewed without a gap"
    ),
    Column("alive_until", utc, nullable=False, comment="its open visits end as lost once this has passed"),
    comment="running collectors; times are by the database's clock, and renewed every few seconds",
)

capture = Table(
    "capture",
    metadata,
    Column("visit_id", Uuid, ForeignKey("visit.visit_id"), primary_key=True),
    Column("day", Date, nullable=False, comment="day of the visit"),
    Column(
        "blob", Text, nullable=False, comment="key in the archive; '' once it was deleted because of its age"
    ),
    Column("bytes", BigInteger, nullable=False, comment="of the blob"),
    Column("raw_bytes", BigInteger, nullable=False, comment="after decompression"),
    Column("sha256", LargeBinary, nullable=False, comment="of the blob"),
    Column("samples", BigInteger, nullable=False),
    Column(
        "partition",
        SmallInteger,
        nullable=False,
        server_default="0",
        comment="hash of the program with most samples: captures of one partition need the same binaries",
    ),
    Column("archived_at", utc, nullable=False, server_default=now),
    Column("wanted", Integer, nullable=False, server_default="1", comment="generation to be ingested"),
    Column(
        "ingested",
        Integer,
        nullable=False,
        server_default="0",
        comment="generation that is ingested; 0: none",
    ),
    Column("ingested_at", utc),
    Column(
        "expired",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="its day's partitions were dropped before generation `wanted` was ingested; no facts",
    ),
    Column("attempts", Integer, nullable=False, server_default="0", comment="ingestions tried for `wanted`"),
    Column(
        "leased_until", utc, comment="a worker holds it, or it is not retried after a failure, until then"
    ),
    Column(
        "failure", Text, nullable=False, server_default="", comment="why the last attempt failed, a sentence"
    ),
    Column("quarantined", Text, comment="reason why it is no longer tried; NULL: not quarantined"),
    Column(
        "newer_format",
        Integer,
        comment="its format version, if it was quarantined because that is newer than the program's; else NULL",
    ),
    Index(None, "day"),
    Index(None, "ingested_at"),
    Index(None, "archived_at", postgresql_using="brin"),  # many rows, inserted in this order
    Index("ix_capture_kept", "day", postgresql_where=text("blob <> ''")),
    Index(
        "ix_capture_fresh",
        "archived_at",
        postgresql_where=text("ingested = 0 and ingested < wanted and quarantined is null"),
    ),
    Index(
        "ix_capture_fresh_partition",
        "partition",
        "archived_at",
        postgresql_where=text("ingested = 0 and ingested < wanted and quarantined is null"),
    ),
    Index(
        "ix_capture_again",
        "archived_at",
        postgresql_where=text("ingested > 0 and ingested < wanted and quarantined is null"),
    ),
    Index(
        "ix_capture_again_partition",
        "partition",
        "archived_at",
        postgresql_where=text("ingested > 0 and ingested < wanted and quarantined is null"),
    ),
    Index("ix_capture_quarantined", "newer_format", postgresql_where=text("quarantined is not null")),
    comment="a raw capture in the archive, and the state of its ingestion",
)

coverage = Table(
    "coverage",
    metadata,
    Column("campaign_id", SmallInteger, primary_key=True),
    Column("stratum_id", Integer, primary_key=True),
    Column("hour", Integer, primary_key=True, comment="hours since 1970 UTC"),
    Column("utilisation_class", SmallInteger, primary_key=True, comment="0…3; -1: not known"),
    Column("day", Date, nullable=False),
    Column(
        "population",
        Integer,
        nullable=False,
        comment="largest number of machines in the stratum within the hour",
    ),
    Column("drawn", Integer, nullable=False, comment="visits; one that has not ended counts in class -1"),
    Column("answered", Integer, nullable=False),
    Column("failed", Integer, nullable=False, comment="visits that ended without a capture, for any reason"),
    Column("seconds", Double, nullable=False, comment="sampled seconds of answered visits"),
    comment="inputs of the weights, which are computed at query time (docs/numbers.md)",
)

covered_time = Table(
    "covered_time",
    metadata,
    Column("campaign_id", SmallInteger, primary_key=True),
    Column("begins", utc, primary_key=True),
    Column("ends", utc, nullable=False, comment="end of the last round; the next round extends it"),
    Index(None, "campaign_id", "ends"),
    comment="runs of consecutive rounds; no visits were drawn at other times",
)
